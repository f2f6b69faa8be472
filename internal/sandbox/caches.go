package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Private caches. The user's own caches stay read-only: what a later build of
// theirs takes from them would be a way out. A workspace keeps its private
// ones, so that the second build is as quick as outside (THREATS.md 4.7).

// cacheVariables say where common tools keep what they can fetch or make
// again; "" stands for the cache directory itself.
func cacheVariables() [][2]string {
	return [][2]string{
		{"XDG_CACHE_HOME", ""},
		{"GOCACHE", "go-build"},
		{"GOMODCACHE", "go-mod"},
		{"npm_config_cache", "npm"},
		{"YARN_CACHE_FOLDER", "yarn"},
		{"PIP_CACHE_DIR", "pip"},
		{"UV_CACHE_DIR", "uv"},
		{"PRE_COMMIT_HOME", "pre-commit"},
		{"CCACHE_DIR", "ccache"},
		{"SCCACHE_DIR", "sccache"},
		{"DENO_DIR", "deno"},
		{"NUGET_PACKAGES", "nuget"},
		{"GRADLE_USER_HOME", "gradle"},
	}
}

// cacheSettings are the variables for caches in dir as commands see it.
func (s *Session) cacheSettings(dir string) []string {
	var set []string
	for _, v := range cacheVariables() {
		set = append(set, v[0]+"="+filepath.Join(dir, v[1]))
	}
	// Cargo works with a read-only home as long as it has what it needs there.
	if _, err := os.Stat(filepath.Join(s.spec.Home, ".cargo", "registry")); err != nil {
		set = append(set, "CARGO_HOME="+filepath.Join(dir, "cargo"))
	}
	return append(set, goSettings(s.spec.Home, s.spec.Environ)...)
}

// goSettings lead the go command to the modules that the user already has:
// their cache serves as a module proxy, read-only, before the real one.
func goSettings(home string, environ []string) []string {
	env := goEnv(home, environ)
	modules := env["GOMODCACHE"]
	if modules == "" {
		gopath := env["GOPATH"]
		if gopath == "" {
			gopath = filepath.Join(home, "go")
		}
		modules = filepath.Join(filepath.SplitList(gopath)[0], "pkg", "mod")
	}
	download := filepath.Join(modules, "cache", "download")
	if info, err := os.Stat(download); err != nil || !info.IsDir() {
		return nil
	}
	proxy := env["GOPROXY"]
	if proxy == "" {
		proxy = "https://proxy.golang.org,direct"
	}
	return []string{"GOPROXY=file://" + filepath.ToSlash(download) + "," + proxy}
}

// goEnv is what the user told the go command by variables, and by `go env -w`
// where there is no variable.
func goEnv(home string, environ []string) map[string]string {
	env := map[string]string{}
	base := filepath.Join(home, ".config")
	if runtime.GOOS == "darwin" {
		base = filepath.Join(home, "Library", "Application Support")
	}
	if text, err := os.ReadFile(filepath.Join(base, "go", "env")); err == nil { // usually there is none
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				env[name] = value
			}
		}
	}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && value != "" && strings.HasPrefix(name, "GO") {
			env[name] = value
		}
	}
	return env
}
