package config

import (
	"errors"
	"os"
	"path/filepath"
)

// Paths are the two per-user directories, the same on every system (seed 000,
// "Path resolution"): XDG base directories with a home fallback.
type Paths struct {
	Config string // $XDG_CONFIG_HOME/muse, else ~/.config/muse
	Data   string // $XDG_DATA_HOME/muse, else ~/.local/share/muse
	Home   string // HOME, else USERPROFILE; "" when neither names a directory
}

// Errors of Locate: the environment names no place to keep files.
var (
	ErrNoConfigDir = errors.New("no usable config directory from XDG_CONFIG_HOME, HOME, or USERPROFILE")
	ErrNoDataDir   = errors.New("no usable data directory from XDG_DATA_HOME, HOME, or USERPROFILE")
)

// Locate finds the directories without touching the file system. Only
// absolute values count, as the XDG base directory rules have it.
func Locate(getenv func(string) string) (Paths, error) {
	p := Paths{Home: Home(getenv)}
	var err error
	if p.Config, err = root(getenv("XDG_CONFIG_HOME"), p.Home, ErrNoConfigDir, ".config"); err != nil {
		return p, err
	}
	if p.Data, err = root(getenv("XDG_DATA_HOME"), p.Home, ErrNoDataDir, ".local", "share"); err != nil {
		return p, err
	}
	return p, nil
}

// Home is the user's home directory from HOME, else USERPROFILE.
func Home(getenv func(string) string) string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir := getenv(name); filepath.IsAbs(dir) {
			return dir
		}
	}
	return ""
}

func root(xdg, home string, missing error, below ...string) (string, error) {
	switch {
	case filepath.IsAbs(xdg):
		return filepath.Join(xdg, "muse"), nil
	case home != "":
		return filepath.Join(append(append([]string{home}, below...), "muse")...), nil
	}
	return "", missing
}

// SettingsFile is the person's settings.
func (p Paths) SettingsFile() string { return filepath.Join(p.Config, "settings.json") }

// AuthFile holds the stored keys.
func (p Paths) AuthFile() string { return filepath.Join(p.Config, "auth.json") }

// TrustFile holds which workspaces are trusted.
func (p Paths) TrustFile() string { return filepath.Join(p.Config, "trust.json") }

// CodexHome is where Codex keeps its files: $CODEX_HOME, else ~/.codex; ""
// without a home. Rules and skills of the person are also read from there.
func (p Paths) CodexHome(getenv func(string) string) string {
	if dir := getenv("CODEX_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, ".codex")
}

// Tilde shows a path below the home directory as "~/…".
func (p Paths) Tilde(path string) string {
	rel, err := filepath.Rel(p.Home, path)
	if p.Home == "" || err != nil || !filepath.IsLocal(rel) || rel == "." {
		return path
	}
	return "~" + string(os.PathSeparator) + rel
}
