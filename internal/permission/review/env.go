package review

import (
	"strings"
	"sync"

	"github.com/openmuse/muse/internal/shell"
)

// envNames are variables that decide which code a program runs, what it reads
// as configuration or where it connects (THREATS.md 3.10).
var envNames = sync.OnceValue(func() map[string]bool {
	list := strings.Fields(`
		BASH_ENV ENV SHELLOPTS BASHOPTS PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND IFS PATH CDPATH GLOBIGNORE SHELL HOME TMPDIR
		BASH_XTRACEFD POSIXLY_CORRECT FCEDIT EDITOR VISUAL BROWSER
		PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT PYTHONUSERBASE PYTHONEXECUTABLE PYTHONBREAKPOINT PYTHONPLATLIBDIR
		RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED JAVA_TOOL_OPTIONS CLASSPATH
		LUA_INIT LUA_PATH LUA_CPATH R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER PHPRC PHP_INI_SCAN_DIR
		ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ELIXIR_ERL_OPTIONS DOTNET_STARTUP_HOOKS COR_PROFILER COR_PROFILER_PATH
		MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES MAKESHELL CC CXX LD AR AS CPP FC RUSTFLAGS RUSTDOCFLAGS GOFLAGS GOPROXY GONOSUMDB GONOSUMCHECK
		GOSUMDB GOINSECURE GOENV GOROOT GOPATH GOBIN GOTOOLDIR GOTOOLCHAIN GCCGO RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTUP_DIST_SERVER
		TAR_OPTIONS RIPGREP_CONFIG_PATH GREP_OPTIONS ACK_OPTIONS ACKRC GCONV_PATH LOCPATH NLSPATH GLIBC_TUNABLES HOSTALIASES RES_OPTIONS
		SSLKEYLOGFILE WGETRC NETRC GNUPGHOME ALL_PROXY HTTP_PROXY HTTPS_PROXY FTP_PROXY NO_PROXY RSYNC_PROXY RSYNC_RSH CVS_RSH SVN_SSH
		DOCKER_HOST DOCKER_CONFIG DBUS_SESSION_BUS_ADDRESS TERMINFO TERMINFO_DIRS TERMCAP ZDOTDIR INPUTRC PSQLRC
		GEM_HOME GEM_PATH BUN_OPTIONS DENO_DIR RUSTC RUSTDOC` + toolOptions)
	m := make(map[string]bool, len(list))
	for _, n := range list {
		m[n] = true
	}
	return m
})

// envPrefixes are families of such variables. "*PAGER" is tested apart.
var envPrefixes = [...]string{
	"LD_", "DYLD_", "BASH_FUNC_", "XDG_", "GIT_", "SSH_", "SUDO_", "LESS", "PERL5", "PERLLIB", "RUSTC_", "CARGO_", "CGO_", "OPENSSL_",
	"SSL_", "CURL_", "NPM_CONFIG_", "PIP_", "YARN_", "UV_", "KUBE", "AWS_", "MUSE_", "CORECLR_", "MALLOC_", "GIO_",
}

// EnvName says why a variable must not be set unasked, or "". The value lets
// the harmless uses through. A variable that is taken away is judged with an
// empty Word.
func EnvName(name string, value shell.Word) string {
	name = strings.TrimSuffix(name, "+")
	if integerVariable(name) {
		if value.Known && plainNumber(value.Value) || !value.Known && value.Value != "" && plainNumber(value.Value) {
			return ""
		}
		return "the shell evaluates what " + name + " is set to"
	}
	known := name
	if strings.HasSuffix(name, "_proxy") || len(name) > 11 && strings.EqualFold(name[:11], "npm_config_") {
		// These are read in either case.
		known = strings.ToUpper(name)
	}
	listed := envNames()[known] || strings.HasSuffix(known, "PAGER") || strings.HasSuffix(known, "_JAVA_OPTIONS") ||
		strings.HasPrefix(known, "CMAKE_") && (strings.HasSuffix(known, "_LAUNCHER") || strings.HasSuffix(known, "_COMPILER") || strings.HasSuffix(known, "_INCLUDE"))
	if !listed {
		for _, p := range envPrefixes {
			if strings.HasPrefix(known, p) {
				listed = true
				break
			}
		}
	}
	if !listed && name == "PYTHONWARNINGS" {
		// "error::package.Class" imports the package.
		listed = !value.Known || strings.Contains(value.Value, ":")
	}
	if !listed || (value.Known && harmlessEnv(name, value.Value)) {
		return ""
	}
	return "the variable " + name + " decides what programs run or read"
}

// harmlessEnv lists the uses that change no code.
func harmlessEnv(name, value string) bool {
	switch name {
	case "PAGER", "GIT_PAGER", "MANPAGER":
		return value == "cat"
	case "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR":
		return value == "true" || value == "false" || value == ":" || value == "cat"
	case "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE":
		return true
	case "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "CGO_ENABLED", "CARGO_INCREMENTAL", "PIP_DISABLE_PIP_VERSION_CHECK", "PIP_NO_CACHE_DIR", "PIP_NO_INPUT", "PYTHONBREAKPOINT":
		return value == "0" || (value == "1" && name != "GIT_TERMINAL_PROMPT" && name != "PYTHONBREAKPOINT")
	case "CARGO_TERM_COLOR", "CARGO_TERM_PROGRESS_WHEN", "CARGO_TERM_VERBOSE":
		return true
	case "PYTHONPATH":
		return relativeList(value)
	case "GOFLAGS":
		return harmlessGoFlags(value)
	case "CFLAGS", "CXXFLAGS", "CPPFLAGS", "FFLAGS", "LDFLAGS", "OBJCFLAGS", "RUSTFLAGS", "RUSTDOCFLAGS", "CGO_CFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS":
		return compilerFlags(name, value)
	case "PYTEST_ADDOPTS":
		return contains([]string{"-q", "-v", "-vv", "-x", "-s", "-ra", "-rA", "--color=yes", "--color=no", "--maxfail=1", "--tb=short"}, value)
	case "JAVA_HOME":
		return strings.HasPrefix(value, "/usr/lib/jvm/") && !strings.Contains(value, "..")
	case "MAVEN_OPTS", "GRADLE_OPTS", "JAVA_OPTS", "SBT_OPTS":
		return heapOptions(value)
	case "GOTOOLCHAIN":
		return value == "local"
	case "GOPROXY":
		return value == "off"
	}
	return false
}

// relativeList accepts a path list that stays in the workspace by its text.
func relativeList(value string) bool {
	if value == "" {
		return false
	}
	for _, p := range strings.Split(value, ":") {
		if strings.HasPrefix(p, "/") || strings.Contains(p, "..") || strings.HasPrefix(p, "~") {
			return false
		}
	}
	return true
}

func harmlessGoFlags(value string) bool {
	for _, f := range strings.Fields(value) {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		switch name {
		case "mod", "count", "v", "race", "tags", "trimpath", "buildvcs", "p", "short", "timeout", "x", "n", "run", "parallel":
		default:
			return false
		}
	}
	return true
}
