package repository

import (
	"fmt"
	"strings"
)

// dangerous returns why a repository's configuration could run a program, or
// "". It knows the settings that git itself and common tools write into a new
// repository; everything else, and everything that cannot be read without
// doubt, counts as dangerous.
func dangerous(config string) string {
	section, sub := "", ""
	for n, line := range strings.Split(config, "\n") {
		line = strings.Trim(line, " \t\r")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[':
			var ok bool
			if section, sub, ok = header(line); !ok {
				return fmt.Sprintf("configuration line %d cannot be read without doubt", n+1)
			}
			continue
		}
		key, value, hasValue := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimRight(key, " \t"))
		value = strings.TrimLeft(value, " \t")
		if !plainKey(key) || !hasValue || strings.ContainsAny(value, "\\\"#;") {
			return fmt.Sprintf("configuration line %d cannot be read without doubt", n+1)
		}
		if !knownSetting(section, sub, key, value) {
			return "it sets " + settingName(section, sub, key)
		}
	}
	return ""
}

// header reads "[section]" or "[section "sub"]" with nothing after it.
func header(line string) (section, sub string, ok bool) {
	body, found := strings.CutSuffix(line, "]")
	if !found {
		return "", "", false
	}
	body = body[1:]
	name, quoted, hasSub := strings.Cut(body, " ")
	if !plainKey(name) {
		return "", "", false
	}
	if hasSub {
		quoted = strings.TrimLeft(quoted, " \t")
		if len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
			return "", "", false
		}
		sub = quoted[1 : len(quoted)-1]
		if strings.ContainsAny(sub, "\"\\]") {
			return "", "", false
		}
	}
	return strings.ToLower(name), sub, true
}

func plainKey(s string) bool {
	if s == "" {
		return false
	}
	for _, c := range []byte(s) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// knownSetting reports a setting that neither names a program nor another
// place to read settings from.
func knownSetting(section, sub, key, value string) bool {
	switch section {
	case "core":
		return sub == "" && oneOf(key, "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase",
			"precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "quotepath", "abbrev", "compression",
			"sparsecheckout", "sparsecheckoutcone", "preloadindex", "longpaths", "protecthfs", "protectntfs")
	case "extensions":
		return sub == "" && oneOf(key, "objectformat", "refstorage", "noop")
	case "remote":
		return oneOf(key, "fetch", "push", "tagopt", "prune") || oneOf(key, "url", "pushurl") && plainURL(value)
	case "branch":
		return oneOf(key, "remote", "merge", "rebase", "pushremote", "description")
	case "submodule":
		return oneOf(key, "active", "branch") || key == "url" && plainURL(value)
	case "user":
		return sub == "" && oneOf(key, "name", "email")
	case "init":
		return sub == "" && key == "defaultbranch"
	case "pull", "push":
		return sub == "" && oneOf(key, "rebase", "ff", "default")
	}
	return false
}

func oneOf(s string, set ...string) bool {
	for _, x := range set {
		if s == x {
			return true
		}
	}
	return false
}

// plainURL reports an address that git reaches by its own means. Anything
// else may be taken for a remote helper, which is a program.
func plainURL(url string) bool {
	for _, scheme := range []string{"https://", "http://", "ssh://", "git://", "git@"} {
		if strings.HasPrefix(url, scheme) {
			return !strings.Contains(url, "::")
		}
	}
	return false
}

func settingName(section, sub, key string) string {
	if sub == "" {
		return section + "." + key
	}
	return fmt.Sprintf("%s.%q.%s", section, sub, key)
}
