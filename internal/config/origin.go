package config

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// Layer is where a value came from, low to high.
type Layer int

// The layers of CLI.md 2.1 that a headless run knows.
const (
	BuiltIn Layer = iota
	EnterpriseDefaults
	SettingsFile
	Preset
	Environment
	CommandLine
	EnterprisePolicy // a limit set above everything else
	Stored           // auth.json; keys and their address only
	Catalog          // a table of models
)

// String is the layer as JSON output spells it.
func (l Layer) String() string {
	names := [...]string{"built-in", "enterprise_defaults", "settings", "preset", "environment", "command_line", "enterprise_policy", "stored_credentials", "model_table"}
	if l < 0 || int(l) >= len(names) {
		return "unknown"
	}
	return names[l]
}

// Origin is one value's source.
type Origin struct {
	Layer Layer
	// Name is what the layer calls it: a variable, a flag with its dashes, a
	// preset, a key's path in a file.
	Name         string
	File         string
	Line, Column int // of the key in File; 0 when there is none
}

// String is "built-in default", "environment MUSE_MODEL", "command line
// --model", "settings.json key at FILE:LINE:COLUMN" and the like.
func (o Origin) String() string {
	switch o.Layer {
	case EnterpriseDefaults:
		return "enterprise defaults " + o.place()
	case SettingsFile:
		return "settings " + o.place()
	case Preset:
		if o.File == "" {
			return "preset " + o.Name
		}
		return fmt.Sprintf("preset %s (%s)", o.Name, o.place())
	case Environment:
		return "environment " + o.Name
	case CommandLine:
		return "command line " + o.Name
	case EnterprisePolicy:
		return "enterprise policy " + o.place()
	case Stored:
		return "stored credentials " + o.place()
	case Catalog:
		return "model table"
	}
	if o.Name != "" {
		return "built-in default for " + o.Name
	}
	return "built-in default"
}

// Short is the source in a word, as one line errors name a key's: the
// variable, the flag, the preset, or the file's name.
func (o Origin) Short() string {
	switch {
	case o.Layer == Environment || o.Layer == CommandLine || o.Layer == Preset:
		return o.Name
	case o.File != "":
		return filepath.Base(o.File)
	}
	return o.String()
}

func (o Origin) place() string {
	if o.Line == 0 {
		return o.File
	}
	return o.File + ":" + strconv.Itoa(o.Line) + ":" + strconv.Itoa(o.Column)
}

// Value is a resolved value and where it came from.
type Value[T any] struct {
	V      T
	Origin Origin
}

func flag[T any](v T, name string) Value[T] {
	return Value[T]{v, Origin{Layer: CommandLine, Name: "--" + name}}
}

func env[T any](v T, name string) Value[T] {
	return Value[T]{v, Origin{Layer: Environment, Name: name}}
}

func builtin[T any](v T) Value[T] { return Value[T]{V: v} }
