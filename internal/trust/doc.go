// Package trust remembers which workspaces a person has trusted. Trust is per
// real path of a root and bound to the content of the files that trust lets
// load: rules files, hooks, MCP entries, skills and the like. When one of them
// changes, or the directory is another one under the same path, trust is asked
// for again. Nothing here ever grants trust by itself, and a damaged record
// trusts nothing.
//
// The record is trust.json in the configuration directory, in the form of
// CLI.md 2.1: {schema_version, projects: {<absolute path>: {decision}}}. What
// binds a decision to content stands under "openmuse" in its entry; keys that
// this program does not know are kept.
package trust
