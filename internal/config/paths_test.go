package config

import (
	"errors"
	"path/filepath"
	"runtime"
	"testing"
)

func TestLocate(t *testing.T) {
	abs := func(p string) string {
		if runtime.GOOS == "windows" {
			return `C:` + filepath.FromSlash(p)
		}
		return p
	}
	tests := []struct {
		name         string
		env          map[string]string
		config, data string
		err          error
	}{
		{"home", map[string]string{"HOME": abs("/h")}, abs("/h/.config/muse"), abs("/h/.local/share/muse"), nil},
		{"profile", map[string]string{"USERPROFILE": abs("/u")}, abs("/u/.config/muse"), abs("/u/.local/share/muse"), nil},
		{"home before profile", map[string]string{"HOME": abs("/h"), "USERPROFILE": abs("/u")}, abs("/h/.config/muse"), abs("/h/.local/share/muse"), nil},
		{"XDG", map[string]string{"HOME": abs("/h"), "XDG_CONFIG_HOME": abs("/c"), "XDG_DATA_HOME": abs("/d")}, abs("/c/muse"), abs("/d/muse"), nil},
		{"XDG without a home", map[string]string{"XDG_CONFIG_HOME": abs("/c"), "XDG_DATA_HOME": abs("/d")}, abs("/c/muse"), abs("/d/muse"), nil},
		{"relative XDG counts as unset", map[string]string{"HOME": abs("/h"), "XDG_CONFIG_HOME": "c", "XDG_DATA_HOME": "./d"}, abs("/h/.config/muse"), abs("/h/.local/share/muse"), nil},
		{"relative home counts as unset", map[string]string{"HOME": "h"}, "", "", ErrNoConfigDir},
		{"nothing", nil, "", "", ErrNoConfigDir},
		{"config only", map[string]string{"XDG_CONFIG_HOME": abs("/c")}, abs("/c/muse"), "", ErrNoDataDir},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Locate(vars(tt.env))
			if !errors.Is(err, tt.err) || got.Config != filepath.FromSlash(tt.config) || got.Data != filepath.FromSlash(tt.data) {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}

func TestTilde(t *testing.T) {
	p := Paths{Home: filepath.FromSlash("/home/me")}
	for in, want := range map[string]string{
		"/home/me/.config/x": "~/.config/x", "/home/me": "/home/me", "/home/melon/x": "/home/melon/x", "/etc": "/etc", "": "",
	} {
		if got := p.Tilde(filepath.FromSlash(in)); got != filepath.FromSlash(want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := (Paths{}).Tilde("/x"); got != "/x" {
		t.Errorf("without a home: %q", got)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"model", "provider", "provider_retry", "presets", "run"}
	for word, want := range map[string]string{
		"modle": "model", "MODEL": "model", "provder": "provider", "providerretry": "provider_retry", "rnu": "run", "preset": "presets",
		"zebra": "", "": "", "x": "",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestOriginText(t *testing.T) {
	at := Origin{File: "/c/settings.json", Line: 2, Column: 3}
	for layer, want := range map[Layer][2]string{
		BuiltIn:            {"built-in default", "settings.json"},
		SettingsFile:       {"settings /c/settings.json:2:3", "settings.json"},
		EnterpriseDefaults: {"enterprise defaults /c/settings.json:2:3", "settings.json"},
		Stored:             {"stored credentials /c/settings.json:2:3", "settings.json"},
		EnterprisePolicy:   {"enterprise policy /c/settings.json:2:3", "settings.json"},
		Catalog:            {"model table", "settings.json"},
	} {
		o := at
		o.Layer = layer
		if o.String() != want[0] || o.Short() != want[1] {
			t.Errorf("%s: %q %q", layer, o, o.Short())
		}
	}
	if o := (Origin{Layer: Environment, Name: "META_API_KEY"}); o.Short() != "META_API_KEY" {
		t.Error(o.Short())
	}
	if got := Layer(99).String(); got != "unknown" {
		t.Error(got)
	}
}

func TestMaskURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://api.meta.ai/v1":       "https://api.meta.ai/v1",
		"http://u:secret@p.test":       "http://u:xxxxx@p.test",
		"https://x.test/v1?key=s&flag": "https://x.test/v1?key=…&flag",
		"http://%zz":                   "…",
		"":                             "",
	} {
		if got := MaskURL(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
