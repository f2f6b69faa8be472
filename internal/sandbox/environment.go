package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// allowedNames are the variables that a command gets from the host: what it
// needs to find programs, speak the user's language and draw on a terminal,
// and nothing that is or points to a secret, a socket or code (THREATS.md
// 4.7).
func allowedNames() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ",
		"TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI",
		// What the agent tells its commands about themselves (CLI.md 3).
		"MUSE_SESSION_ID", "MUSE_THREAD_ID", "MUSE_TOOL_USE_ID", "MUSE_CURRENT_SESSION_LOG",
	}
}

// environment is what a command sees: the allowed names of env, then our own
// settings, which nothing can override. bare says that the workspace is in no
// repository and an empty .git keeps its place: the go command would try to
// read a version from it.
func (s *Session) environment(env []string, dir string, bare bool) []string {
	out := filterEnv(env, s.spec.PassEnv)
	out = append(out, s.settings...)
	if bare {
		flags := goEnv(s.spec.Home, s.spec.Environ)["GOFLAGS"]
		out = append(out, "GOFLAGS="+strings.TrimSpace(flags+" -buildvcs=false"))
	}
	return append(out, "PWD="+dir)
}

// filterEnv keeps the allowed names. Of a name given twice the last counts.
func filterEnv(env, pass []string) []string {
	allowed := append(allowedNames(), pass...)
	keep := make([]string, 0, 24)
	at := make(map[string]int, 24)
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || strings.ContainsRune(value, 0) || !allowedName(name, allowed) {
			continue
		}
		if name == "PATH" {
			if value = safePath(value); value == "" {
				continue
			}
			entry = name + "=" + value
		}
		if i, twice := at[name]; twice {
			keep[i] = entry
			continue
		}
		at[name] = len(keep)
		keep = append(keep, entry)
	}
	return keep
}

func allowedName(name string, allowed []string) bool {
	if strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") {
		return false // would change what the helper itself does
	}
	return slices.Contains(allowed, name) || strings.HasPrefix(name, "LC_")
}

// safePath drops the entries that mean "the current directory".
func safePath(path string) string {
	var keep []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			keep = append(keep, dir)
		}
	}
	return strings.Join(keep, string(os.PathListSeparator))
}

// settings are the variables that the sandbox sets for every command.
func (s *Session) buildSettings(cacheDir, tmp, proxy string) []string {
	set := []string{
		"TMPDIR=" + tmp,
		// What git is told, whatever its files say (THREATS.md 3.9): no
		// repository that only looks like one, no file system monitor, no
		// hooks, no pager, no questions.
		"GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=safe.bareRepository", "GIT_CONFIG_VALUE_0=explicit",
		"GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false",
		"GIT_CONFIG_KEY_2=core.hooksPath", "GIT_CONFIG_VALUE_2=/dev/null",
		"GIT_PAGER=cat", "PAGER=cat", "GIT_EDITOR=false", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		// Programs that look for newer versions of themselves would hold up a
		// person with questions about the network.
		"NO_UPDATE_NOTIFIER=1", "npm_config_update_notifier=false", "PIP_DISABLE_PIP_VERSION_CHECK=1",
	}
	if os.Geteuid() == 0 {
		// One user number exists inside: files of other owners cannot be made.
		set = append(set, "TAR_OPTIONS=--no-same-owner")
	}
	set = append(set, s.cacheSettings(cacheDir)...)
	if proxy != "" {
		set = append(set, proxySettings(proxy)...)
	}
	return set
}

// proxySettings lead the common programs to the gate at an address. A program
// that ignores them has no route at all.
func proxySettings(address string) []string {
	const direct = "localhost,127.0.0.1,::1"
	web, socks := "http://"+address, "socks5h://"+address
	host, port, _ := strings.Cut(address, ":") // ours, and well formed
	return []string{
		"HTTP_PROXY=" + web, "http_proxy=" + web,
		"HTTPS_PROXY=" + web, "https_proxy=" + web,
		"ALL_PROXY=" + socks, "all_proxy=" + socks,
		"NO_PROXY=" + direct, "no_proxy=" + direct,
		"npm_config_proxy=" + web, "npm_config_https_proxy=" + web,
		"YARN_HTTP_PROXY=" + web, "YARN_HTTPS_PROXY=" + web,
		"NODE_USE_ENV_PROXY=1",
		"JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=" + host + " -Dhttp.proxyPort=" + port +
			" -Dhttps.proxyHost=" + host + " -Dhttps.proxyPort=" + port + " -Dhttp.nonProxyHosts=localhost|127.*|[::1]",
	}
}
