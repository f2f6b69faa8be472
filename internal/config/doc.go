// Package config says what a run is set to and where each value came from.
//
// Values come from layers, low to high: built-in, enterprise defaults,
// settings.json, the preset, the environment, the command line (CLI.md 2.1).
// Nothing is read from the workspace: a repository cannot choose the model,
// the endpoint, the command that fetches a key, or a header. Every resolved
// value carries its Origin, which `muse config explain` prints.
//
// Settings are read strictly (a wrong type or a key given twice is an error
// with its place) and rewritten gently: keys that this program does not know
// stay byte for byte, and so does the spacing.
//
// Keys are resolved apart from settings because finding one may run a command.
// A Key knows the hosts it is meant for and gives itself to no other.
package config
