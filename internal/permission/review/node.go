package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// plainNodeOption reports the long options of node that load no code.
func plainNodeOption(o *opt) bool {
	value := strings.ToLower(o.value.Value)
	switch o.name {
	case "--test-reporter":
		return o.value.Known && contains([]string{"spec", "tap", "dot", "junit", "lcov"}, value)
	case "--test-global-setup", "--experimental-loader", "--experimental-config-file", "--experimental-default-config-file", "--experimental-sea-config",
		"--experimental-policy", "--experimental-network-imports", "--icu-data-dir", "--openssl-config", "--openssl-shared-config", "--snapshot-blob",
		"--build-snapshot", "--build-snapshot-config", "--experimental-repl-await", "--run", "--redirect-warnings", "--trace-event-file-pattern",
		"--test-reporter-destination", "--cpu-prof-dir", "--heap-prof-dir", "--diagnostic-dir", "--report-directory", "--report-dir", "--localstorage-file",
		"--tls-keylog", "--disable-warning", "--node-memory-debug":
		return o.name == "--run" || o.name == "--disable-warning" || o.name == "--test-reporter-destination" && (value == "stdout" || value == "stderr")
	case "--watch", "--watch-path", "--watch-preserve-output", "--check", "--enable-source-maps", "--throw-deprecation", "--pending-deprecation", "--max-http-header-size",
		"--max-old-space-size", "--max-semi-space-size", "--stack-size", "--stack-trace-limit", "--expose-gc", "--unhandled-rejections", "--env-file", "--env-file-if-exists",
		"--input-type", "--conditions", "--title", "--inspect", "--inspect-brk", "--inspect-wait", "--prof", "--cpu-prof", "--heap-prof", "--cpu-prof-name", "--heap-prof-name",
		"--preserve-symlinks", "--preserve-symlinks-main", "--abort-on-uncaught-exception", "--permission", "--force-color", "--insecure-http-parser",
		"--use-system-ca", "--use-bundled-ca", "--use-openssl-ca", "--optimize-for-size", "--jitless", "--report-on-fatalerror", "--frozen-intrinsics",
		"--disallow-code-generation-from-strings", "--dns-result-order", "--network-family-autoselection", "--v8-options", "--completion-bash", "--strip-types", "--test":
		return true
	}
	for _, p := range [...]string{"--no-", "--trace-", "--test-", "--experimental-", "--allow-fs-", "--harmony"} {
		if strings.HasPrefix(o.name, p) {
			return !strings.Contains(value, "data:") && !strings.Contains(value, "://") && !strings.HasPrefix(value, "/")
		}
	}
	return false
}

// javaPaths are the options of java whose value is a list of places of code.
var javaPaths = []string{"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--patch-module"}

// classPath judges each place of a list.
func (j *judge) classPath(w shell.Word) {
	if !w.Known {
		j.flag(External, "the class path is not known: "+w.Text)
		return
	}
	for _, p := range strings.Split(w.Value, ":") {
		switch {
		case p == "", strings.HasPrefix(p, "/usr/share/"), strings.HasPrefix(p, "/usr/lib/"):
		default:
			j.inside(part(w, strings.TrimSuffix(p, "/*")), "the code")
		}
	}
}
