package cli

import "strings"

// UsageError is a command line that cannot be run as written: it prints one
// line that says which word is wrong, then a pointer to help, and exits 2.
type UsageError struct {
	Command string // the command path, "muse exec"; empty means "muse"
	Message string
}

func (e *UsageError) Error() string { return e.Message }

// ExitError ends the process with Code. A nil Err means that everything worth
// saying was already printed.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return "exit"
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// flagErrorText turns the flag library's wording into the documented
// "unknown option --x" form and leaves the rest as it is.
func flagErrorText(err error) string {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "unknown flag: "); ok {
		return "unknown option " + rest
	}
	if rest, ok := strings.CutPrefix(text, "unknown shorthand flag: "); ok {
		return "unknown option: " + rest
	}
	if strings.HasPrefix(text, "invalid argument") {
		if _, twice, ok := strings.Cut(text, " flag: option --"); ok && strings.HasSuffix(twice, " was given twice") {
			return "option --" + twice
		}
	}
	return text
}
