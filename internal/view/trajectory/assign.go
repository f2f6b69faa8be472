package trajectory

import "strings"

// maxKey is how long a key before "=" or ":" may be.
const maxKey = 80

// assignment finds the value that belongs to the key before the sign at i, in
// any of the forms of shells, headers, settings, URLs and programs: KEY=value,
// "key": "value", key = 'value', Header: value, ?key=value, user:value@host.
// It gives the index after the value, i when there is no secret.
func (f *finder) assignment(i int) int {
	s := f.s
	if s[i] == ':' && strings.HasPrefix(s[i:], "://") {
		return f.userinfo(i)
	}
	key, quoted := f.keyBefore(i)
	if key == "" || !secretKey(key) {
		return i
	}
	at := i + 1
	if at < len(s) && (s[at] == '=' || s[at] == ':') {
		return i // a comparison, a scope
	}
	if at < len(s) && s[at] == '>' {
		at++ // a pair in some languages
	}
	tight := at == i+1 && i > 0 && s[i-1] != ' '
	gap := at
	for at < len(s) && (s[at] == ' ' || s[at] == '\t') {
		at++
	}
	tight = tight && gap == at
	lower := strings.ToLower(key)
	if s[i] == ':' && !quoted {
		switch {
		case strings.Contains(lower, "authorization"):
			return f.header(i, at, false)
		case strings.Contains(lower, "cookie"):
			return f.header(i, at, true)
		}
	}
	start, stop, inQuotes := f.word(at)
	value := s[start:stop]
	switch {
	case !secretValue(key, value):
		return i
	case inQuotes:
	case s[i] == '=' && tight:
		if strings.ContainsAny(value, "(") {
			return i // a call in a program
		}
	case strings.ContainsAny(value, "(") || !looksRandom(value) && !f.setting(i, stop, value):
		return i // a sentence, or a name in a program
	}
	f.add(start, stop, "assignment")
	return stop
}

// setting reports whether the line with the sign at i holds nothing but a key
// and one word that ends at stop, as lines of settings files do.
func (f *finder) setting(i, stop int, value string) bool {
	switch strings.ToLower(value) {
	case "string", "str", "text", "number", "int", "integer", "float", "bool", "boolean", "bytes", "any", "object",
		"required", "optional", "yes", "no", "on", "off", "enabled", "disabled":
		return false // a declaration
	}
	start := strings.LastIndexByte(f.s[:i], '\n') + 1
	line, _, _ := strings.Cut(f.s[start:], "\n")
	before := strings.TrimLeft(line[:i-start], " \t-")
	return strings.TrimRight(line[stop-start:], " \t\r") == "" && !strings.ContainsAny(strings.TrimRight(before, " \t"), " \t")
}

// keyBefore is the name that stands before the sign at i, which may be in
// quotes, themselves escaped.
func (f *finder) keyBefore(i int) (key string, quoted bool) {
	s := f.s
	end := i
	for end > 0 && (s[end-1] == ' ' || s[end-1] == '\t') {
		end--
	}
	if end > 0 && (s[end-1] == '"' || s[end-1] == '\'') {
		quoted = true
		end--
		for end > 0 && s[end-1] == '\\' {
			end--
		}
	}
	start := end
	for start > 0 && end-start < maxKey && (name.has(s[start-1]) || s[start-1] == '.') {
		start--
	}
	return s[start:end], quoted
}

// word is the value at i: what stands between quotes, whose backslashes the
// closing one has, too, or a run of what values are made of.
func (f *finder) word(i int) (start, stop int, inQuotes bool) {
	s := f.s
	j := i
	for j < len(s) && s[j] == '\\' {
		j++
	}
	if j < len(s) && (s[j] == '"' || s[j] == '\'' || s[j] == '`') {
		quote := s[i : j+1]
		start = j + 1
		for stop = start; stop < len(s) && s[stop] != '\n'; stop++ {
			if strings.HasPrefix(s[stop:], quote) {
				return start, stop, true
			}
			if len(quote) == 1 && s[stop] == '\\' {
				stop++
			}
		}
		return start, min(stop, len(s)), true
	}
	for stop = i; stop < len(s); stop++ {
		switch c := s[stop]; {
		case c <= ' ', c == '"', c == '\'', c == '`', c == ',', c == ';', c == '&', c == '|', c == '<', c == '>',
			c == ')', c == '}', c == ']', c == '\\':
			return i, stop, false
		}
	}
	return i, stop, false
}

// secretValue reports whether value can be a secret under key.
func secretValue(key, value string) bool {
	if len(value) < 3 || harmless(value) {
		return false
	}
	switch value[0] {
	case '$', '%', '<', '{', '[', '*':
		return false // a variable, a placeholder, a structure
	}
	if countsTokens(key) && strings.Trim(value, "0123456789.,_kKmM") == "" {
		return false // a number of tokens
	}
	return true
}

// header finds the value of an Authorization or Cookie header, which goes to
// the end of the line or of the quotes that it stands in. The scheme stays.
func (f *finder) header(i, at int, cookie bool) int {
	s := f.s
	end := at
	for end < len(s) && s[end] != '\n' && s[end] != '\r' && s[end] != '"' && s[end] != '\'' && s[end] != '\\' {
		end++
	}
	value := strings.TrimRight(s[at:end], " \t")
	end = at + len(value)
	if cookie {
		if !strings.Contains(value, "=") {
			return i
		}
		f.add(at, end, "cookie")
		return end
	}
	if scheme, rest, ok := strings.Cut(value, " "); ok && name.all(scheme) {
		credentials := strings.TrimLeft(rest, " ")
		if credentials == "" || strings.ContainsAny(credentials[:1], "$<{%[") || !strings.Contains(credentials, "=") && strings.Contains(credentials, " ") {
			return i // a variable, or a sentence
		}
		at = end - len(credentials)
	} else if !looksRandom(value) {
		return i
	}
	f.add(at, end, "authorization")
	return end
}

func (a alphabet) all(s string) bool {
	for i := range len(s) {
		if !a.has(s[i]) {
			return false
		}
	}
	return s != ""
}

// userinfo finds the password in scheme://user:password@host.
func (f *finder) userinfo(i int) int {
	s := f.s
	start := i + len("://")
	colon := -1
	for j := start; j < len(s); j++ {
		switch c := s[j]; {
		case c == ':' && colon < 0:
			colon = j
		case c == '@':
			if colon < 0 || j == colon+1 || s[colon+1] == '$' || s[colon+1] == '<' || s[colon+1] == '{' {
				return i
			}
			f.add(colon+1, j, "url_password")
			return j
		case c <= ' ' || c == '/' || c == '"' || c == '\'' || c == '<' || c == '>':
			return i
		}
	}
	return i
}
