package config

import (
	"fmt"
	"strings"
)

// Header is one extra header for the model endpoint and no other host.
type Header struct{ Name, Value string }

// transportHeaders belong to the HTTP transport itself.
var transportHeaders = []string{"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "proxy-authorization", "proxy-connection"}

// checkHeader says what is wrong with a header, "" when nothing is. The value
// is not part of the text: it can be a secret. authorization allows that
// header, which is only safe when no key is sent.
func checkHeader(name, value string, authorization bool) string {
	if name == "" || strings.IndexFunc(name, func(c rune) bool { return !tokenChar(c) }) >= 0 {
		return fmt.Sprintf("%q is not a header name", name)
	}
	if strings.IndexFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) >= 0 {
		return fmt.Sprintf("the value of the header %s has a control character or a line break", name)
	}
	lower := strings.ToLower(name)
	if contains(transportHeaders, lower) {
		return fmt.Sprintf("the header %s cannot be set", name)
	}
	if !authorization && (lower == "authorization" || lower == "x-api-key") {
		return fmt.Sprintf("the header %s cannot be set: keys have their own settings", name)
	}
	return ""
}

// tokenChar is a character of a header name (RFC 9110, token).
func tokenChar(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

// parseCustomHeaders reads MUSE_CUSTOM_HEADERS: one "Name: value" a line, no
// authorization (CLI.md 3).
func parseCustomHeaders(text string) ([]Header, error) {
	var list []Header
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("MUSE_CUSTOM_HEADERS: a line has no colon; write one \"Name: value\" a line")
		}
		h := Header{strings.TrimSpace(name), strings.TrimSpace(value)}
		if problem := checkHeader(h.Name, h.Value, false); problem != "" {
			return nil, fmt.Errorf("MUSE_CUSTOM_HEADERS: %s", problem)
		}
		list = append(list, h)
	}
	return list, nil
}
