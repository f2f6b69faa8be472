package sandbox

// helperVerb is the hidden first argument by which our own binary becomes the
// helper.
const helperVerb = "__sandbox-helper"

// MaybeHelper runs the sandbox helper when args, the command line without the
// program's name, ask for it, and returns its exit code. It must be the first
// thing that main does, and the first thing of TestMain in tests that open a
// Session.
//
// Run by hand the helper does nothing: it takes its orders from a socket that
// only the agent can have opened.
func MaybeHelper(args []string) (code int, handled bool) {
	if len(args) != 1 || args[0] != helperVerb {
		return 0, false
	}
	return helperMain(), true
}
