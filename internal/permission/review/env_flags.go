package review

import "strings"

// compilerFlags reports a value of CFLAGS, RUSTFLAGS and their kind that only
// chooses warnings, optimisation, standards and definitions. Everything else may
// load a plugin, name a linker or read a file of options.
func compilerFlags(name, value string) bool {
	if strings.ContainsAny(value, "$`@;|&\n\\\"'()") {
		return false
	}
	words := strings.Fields(value)
	rust := strings.HasPrefix(name, "RUST")
	for i := 0; i < len(words); i++ {
		w := words[i]
		if rust {
			switch w {
			case "-D", "-W", "-A", "-F", "--cfg", "--check-cfg", "--cap-lints":
				i++
				continue
			case "-C":
				if i++; i >= len(words) || !rustCodegen(words[i]) {
					return false
				}
				continue
			}
			if strings.HasPrefix(w, "-C") && rustCodegen(w[2:]) || w == "-g" || w == "-O" || w == "-Dwarnings" || strings.HasPrefix(w, "-D") || strings.HasPrefix(w, "-A") || strings.HasPrefix(w, "-W") || strings.HasPrefix(w, "--cfg=") {
				continue
			}
			return false
		}
		if len(w) < 2 || w[0] != '-' {
			return false
		}
		switch {
		case w == "-X":
			// A value for the linker of Go: "-X main.version=1".
			i++
		case (w[1] == 'I' || w[1] == 'L') && len(w) > 2 && w[2] != '/' && !strings.Contains(w, ".."), w[1] == 'l' && !strings.ContainsAny(w, "/:"), w == "-static", w == "-shared":
		case strings.HasPrefix(w, "-Wl,"), strings.HasPrefix(w, "-Wa,"), strings.HasPrefix(w, "-Wp,"):
			return false
		case w[1] == 'O', w[1] == 'g', w[1] == 'W', w[1] == 'D', w[1] == 'U', w == "-pipe", w == "-pedantic", w == "-pthread", w == "-ansi", w == "-s", w == "-w",
			strings.HasPrefix(w, "-std="), strings.HasPrefix(w, "-march="), strings.HasPrefix(w, "-mtune="), w == "-m32", w == "-m64":
		case contains([]string{"-fPIC", "-fpic", "-fno-omit-frame-pointer", "-fomit-frame-pointer", "-fno-strict-aliasing", "-fwrapv", "-fsanitize=address",
			"-fsanitize=undefined", "-fsanitize=address,undefined", "-fsanitize=thread", "-fstack-protector-strong", "-fno-common", "-fcommon", "-flto", "-fvisibility=hidden", "-ffast-math", "-fopenmp", "-fno-exceptions", "-fno-rtti"}, w):
		default:
			return false
		}
	}
	return true
}

func rustCodegen(v string) bool {
	name, _, _ := strings.Cut(v, "=")
	return contains([]string{"target-cpu", "target-feature", "opt-level", "debuginfo", "debug-assertions", "overflow-checks", "lto", "codegen-units", "panic", "strip",
		"force-frame-pointers", "instrument-coverage", "incremental", "prefer-dynamic"}, name) && name != "incremental"
}

// toolOptions are variables that hand options or code to tools the project uses.
const toolOptions = `
	GOCACHEPROG GOAUTH GOFIPS140 GOVCS GOPRIVATE GONOPROXY PKG_CONFIG PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
	CFLAGS CXXFLAGS CPPFLAGS FFLAGS FCFLAGS LDFLAGS LDLIBS ASFLAGS ARFLAGS OBJCFLAGS RUSTFLAGS RUSTDOCFLAGS NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS
	ZIPOPT ZIP UNZIP UNZIPOPT XZ_OPT XZ_DEFAULTS GZIP BZIP BZIP2 PYTEST_ADDOPTS PYTEST_PLUGINS MAVEN_OPTS MAVEN_ARGS MAVEN_CMD_LINE_ARGS MVNW_REPOURL GRADLE_OPTS
	JAVA_OPTS SBT_OPTS ANT_OPTS ANT_ARGS JAVA_HOME JDK_HOME M2_HOME MAVEN_HOME GRADLE_HOME GRADLE_USER_HOME ANT_HOME JAVACMD LEIN_JVM_OPTS
	CMAKE_TOOLCHAIN_FILE CMAKE_MAKE_PROGRAM CMAKE_PROJECT_INCLUDE CMAKE_PREFIX_PATH CMAKE_MODULE_PATH CMAKE_PROGRAM_PATH CMAKE_CROSSCOMPILING_EMULATOR
	GCC_EXEC_PREFIX COMPILER_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH DEPENDENCIES_OUTPUT SUNPRO_DEPENDENCIES
	CCC_OVERRIDE_OPTIONS CCACHE_PREFIX CCACHE_PREFIX_CPP CCACHE_COMPILER CCACHE_PATH CCACHE_CONFIGPATH LD_RUN_PATH DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
	AWKPATH AWKLIBPATH GETCONF_DIR MAGIC MANPATH MANROFFOPT MANOPT BAT_OPTS BAT_CONFIG_PATH FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS BASH_LOADABLES_PATH
	NODE_REPL_EXTERNAL_MODULE NODE_REDIRECT_WARNINGS NODE_V8_COVERAGE NODE_COMPILE_CACHE NODE_REPL_HISTORY NODE_GYP_FORCE_PYTHON TS_NODE_COMPILER TS_NODE_PROJECT TS_NODE_REQUIRE
	ESBUILD_BINARY_PATH PUPPETEER_EXECUTABLE_PATH CHROME_BIN CHROME_PATH ELECTRON_RUN_AS_NODE
	SPEC_OPTS RSPEC_OPTS RAKEOPT RUBYSHELL BUNDLE_GEMFILE BUNDLE_PATH BUNDLE_BIN_PATH HARNESS_PERL HARNESS_PERL_SWITCHES HARNESS_OPTIONS PROVE_OPTIONS
	PERL_MM_OPT PERL_MB_OPT PERL_CPANM_OPT COMPOSER COMPOSER_HOME COVERAGE_PROCESS_START COVERAGE_RCFILE TOX_CONFIG_FILE
	DOTNET_ROOT DOTNET_ADDITIONAL_DEPS DOTNET_SHARED_STORE MSBUILDEXEPATH CUSTOM_BEFORE_MICROSOFT_COMMON_TARGETS DOCKER_CONTEXT
	EXECIGNORE BASH_COMPAT HISTFILE MAILPATH M4PATH MAKE YACC LEX LEX_PATH NM STRIP RANLIB OBJCOPY LDSHARED HUSKY_INIT`

// heapOptions accepts the sizes of the memory of a Java program.
func heapOptions(value string) bool {
	for _, w := range strings.Fields(value) {
		if !strings.HasPrefix(w, "-Xmx") && !strings.HasPrefix(w, "-Xms") && !strings.HasPrefix(w, "-Xss") && !strings.HasPrefix(w, "-XX:MaxMetaspaceSize=") ||
			strings.Trim(w[strings.LastIndexAny(w, "xs=")+1:], "0123456789kKmMgG") != "" {
			return false
		}
	}
	return true
}
