package process

import (
	"bytes"
	"strings"
)

// Text is output as text for the model and the log: valid UTF-8, without NUL,
// which neither JSON consumers nor terminals take well.
func Text(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// TerminalText is Text for output of a terminal, whose line ends are CR LF.
func TerminalText(b []byte) string {
	return Text(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
}
