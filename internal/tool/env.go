package tool

import "strings"

// childEnv is the environment that commands get: the user's own without
// secrets and without what changes how the shell reads a command, plus what
// names the call (CLI.md 3, "Given to children").
func (s *Set) childEnv(call Call, tty bool) []string {
	out := make([]string, 0, len(s.opt.Environ)+12)
	keep := map[string]bool{}
	for _, name := range s.opt.KeepEnv {
		keep[name] = true
	}
	for _, kv := range s.opt.Environ {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || !keep[name] && (secretName(name) || steersShell(name)) || isReplaced(name) {
			continue
		}
		out = append(out, kv)
	}
	term := "TERM=dumb"
	if tty {
		term = "TERM=xterm-256color"
	}
	return append(out, term,
		// Nobody is there to page or to type a password.
		"PAGER=cat", "GIT_PAGER=cat", "GH_PAGER=cat", "GIT_TERMINAL_PROMPT=0",
		"MUSE_SESSION_ID="+s.opt.SessionID,
		"MUSE_THREAD_ID="+s.opt.ThreadID,
		callMarker(call),
		"MUSE_CURRENT_SESSION_LOG="+s.opt.SessionLog)
}

// callMarker is the environment entry that only the processes of one call
// have.
func callMarker(call Call) string {
	return "MUSE_TOOL_USE_ID=" + strings.ReplaceAll(call.ID, "\x00", "_") // an id is the provider's; NUL cannot be in an environment
}

// isReplaced reports the names that childEnv sets itself.
func isReplaced(name string) bool {
	switch name {
	case "TERM", "PAGER", "GIT_PAGER", "GH_PAGER", "GIT_TERMINAL_PROMPT",
		"MUSE_SESSION_ID", "MUSE_THREAD_ID", "MUSE_TOOL_USE_ID", "MUSE_CURRENT_SESSION_LOG":
		return true
	}
	return false
}

// steersShell names variables that make bash run or define something before
// the command that was reviewed.
func steersShell(name string) bool {
	switch name {
	case "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND":
		return true
	}
	return strings.HasPrefix(name, "BASH_FUNC_")
}

// secretName reports whether a variable holds a credential by the shape of its
// name: one of its words, separated by underscores, says so.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	if strings.HasSuffix(upper, "APIKEY") || strings.Contains(upper, "API_KEY") ||
		strings.Contains(upper, "ACCESS_KEY") || strings.Contains(upper, "PRIVATE_KEY") ||
		strings.Contains(upper, "SIGNING_KEY") || strings.Contains(upper, "ENCRYPTION_KEY") {
		return !strings.HasSuffix(upper, "_FILE") && !strings.HasSuffix(upper, "_PATH")
	}
	for _, word := range strings.Split(upper, "_") {
		switch word {
		case "TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "PAT", "CREDENTIAL", "CREDENTIALS":
			return !strings.HasSuffix(upper, "_FILE") && !strings.HasSuffix(upper, "_PATH")
		}
	}
	return false
}
