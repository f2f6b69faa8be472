package trajectory

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/record"
)

// redactor replaces secrets in JSON by masks. Strings are looked at as text
// and, when they hold JSON themselves, as that: tool arguments and the records
// of frames are JSON inside strings. Everything it does not replace stays as
// it stands, byte for byte.
//
// A secret has the same mask wherever it stands, "[redacted:N]" with N counted
// in the order of the log. A value that was told by its key in one place is
// also replaced where it stands alone. For this the log is read twice: first
// to learn, then to replace.
type redactor struct {
	learning bool
	masks    map[string]int
	literals literals
	tally    map[string]int64

	out   []byte    // what is being written
	trail [3]string // keys above the value, of the innermost document
	depth int       // documents inside strings inside documents
}

// maxSecrets bounds how many different secrets are told apart; all further
// ones share one mask.
const maxSecrets = 100_000

// maxDepth is how many times JSON inside a string is unwrapped.
const maxDepth = 8

func newRedactor() *redactor {
	return &redactor{masks: map[string]int{}, tally: map[string]int64{}}
}

// learn goes over a line to collect its secrets.
func (r *redactor) learn(l Line, raw []byte) {
	if l.Kind == record.KindMarker {
		return
	}
	r.learning = true
	r.document(raw)
	r.learning = false
}

// line is raw, the JSON of l, with its secrets replaced. A frame whose
// children changed gets the hash of what they are now.
func (r *redactor) line(l Line, raw []byte) []byte {
	r.document(raw)
	if l.Kind != record.KindFrame || bytes.Equal(r.out, raw) {
		return r.out
	}
	now, err := record.ParseLine(r.out)
	if err != nil || now.Kind != record.KindFrame {
		return r.out // cannot be: only strings were exchanged for strings
	}
	was, err := jsontext.AppendQuote(nil, now.Frame.ContentSHA256)
	if err != nil {
		return r.out
	}
	return bytes.Replace(r.out, was, []byte(`"`+now.Frame.Digest()+`"`), 1)
}

type count struct {
	class string
	n     int64
}

// counts says how much was replaced for which reason, sorted by the reason.
func (r *redactor) counts() []count {
	var all []count
	for class, n := range r.tally {
		all = append(all, count{class, n})
	}
	slices.SortFunc(all, func(a, b count) int { return strings.Compare(a.class, b.class) })
	return all
}

// mask is what secret is replaced by.
func (r *redactor) mask(secret, class string) string {
	n, ok := r.masks[secret]
	if !ok {
		if len(r.masks) >= maxSecrets {
			n = 0
		} else {
			n = len(r.masks) + 1
			r.masks[secret] = n
		}
	}
	if r.learning {
		switch class {
		case "key", "assignment", "option", "authorization", "url_password":
			// Told by where it stood: elsewhere nothing else tells it.
			if looksRandom(secret) && len(secret) >= minLiteral {
				r.literals.add(secret)
			}
		}
	} else {
		r.tally[class]++
	}
	if n == 0 {
		return "[redacted]"
	}
	return "[redacted:" + strconv.Itoa(n) + "]"
}

// document writes the JSON text raw to r.out, replacing what was there.
func (r *redactor) document(raw []byte) {
	r.out = r.out[:0]
	i := r.blank(raw, 0)
	i = r.value(raw, i, open, 0)
	r.out = append(r.out, raw[i:]...)
}

// secrecy says whether a value belongs to a key that names a secret.
type secrecy int

const (
	open   secrecy = iota
	direct         // it is the value of such a key, or an element of that
	within         // it is somewhere inside
)

// blank writes the space from i on and gives the index after it.
func (r *redactor) blank(b []byte, i int) int {
	start := i
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	r.out = append(r.out, b[start:i]...)
	return i
}

// value writes the value at i and gives the index after it. level counts the
// objects and arrays around it.
func (r *redactor) value(b []byte, i int, s secrecy, level int) int {
	switch b[i] {
	case '{':
		return r.object(b, i, s, level)
	case '[':
		return r.array(b, i, s, level)
	case '"':
		end := stringEnd(b, i)
		r.quoted(b[i:end], s != open)
		return end
	}
	end := wordEnd(b, i)
	if s != open && (b[i] == '-' || b[i] >= '0' && b[i] <= '9') {
		r.out = append(r.out, '"')
		r.out = append(r.out, r.mask(string(b[i:end]), "key")...)
		r.out = append(r.out, '"')
	} else {
		r.out = append(r.out, b[i:end]...)
	}
	return end
}

func (r *redactor) array(b []byte, i int, s secrecy, level int) int {
	r.out = append(r.out, '[')
	i = r.blank(b, i+1)
	option := false // the element before is --name of a secret
	for b[i] != ']' {
		if b[i] == ',' {
			r.out = append(r.out, ',')
			i = r.blank(b, i+1)
		}
		of := s
		if b[i] == '"' {
			if option && of == open {
				of = direct
			}
			word := record.Text(b[i+1 : stringEnd(b, i)-1])
			option = strings.HasPrefix(word, "--") && name.all(word) && secretKey(word)
		} else {
			option = false
		}
		i = r.value(b, i, of, level+1)
		i = r.blank(b, i)
	}
	r.out = append(r.out, ']')
	return i + 1
}

func (r *redactor) object(b []byte, i int, s secrecy, level int) int {
	switch {
	case s == direct && describesType(b[i:]):
		s = open // the schema of a parameter that has a secret's name
	case s == direct:
		s = within
	}
	named := false // a member says that its sibling "value" is a secret
	r.out = append(r.out, '{')
	i = r.blank(b, i+1)
	for b[i] != '}' {
		if b[i] == ',' {
			r.out = append(r.out, ',')
			i = r.blank(b, i+1)
		}
		end := stringEnd(b, i)
		key := record.Text(b[i+1 : end-1])
		r.quoted(b[i:end], false)
		i = r.blank(b, end)
		r.out = append(r.out, b[i]) // the colon
		i = r.blank(b, i+1)
		if level < len(r.trail) {
			r.trail[level] = key
		}
		of := s
		switch {
		case level == 2 && r.trail == [3]string{"payload", "event", "encrypted_content"} && b[i] == '"':
			// Opaque to everybody but the provider that made it, and so long a
			// random text that it looks like a secret somewhere.
			end = stringEnd(b, i)
			r.out = append(r.out, b[i:end]...)
			i = r.blank(b, end)
			continue
		case of != open:
		case secretKey(key), named && key == "value":
			of = direct
			if countsTokens(key) && b[i] != '"' && b[i] != '{' && b[i] != '[' {
				of = open
			}
		case b[i] == '"' && (key == "name" || key == "key" || key == "header"):
			named = secretKey(record.Text(b[i+1 : stringEnd(b, i)-1]))
		}
		i = r.value(b, i, of, level+1)
		i = r.blank(b, i)
	}
	r.out = append(r.out, '}')
	return i + 1
}

// describesType reports whether the object that b starts with is a JSON
// Schema: it has a type that is one of the schema language's words.
func describesType(b []byte) bool {
	found := false
	// What follows the object is of no interest, and neither is the error for
	// it, which comes last.
	_ = record.Members(b[:objectEnd(b)], func(key, val []byte) bool {
		if string(key) == "type" {
			switch string(val) {
			case `"string"`, `"integer"`, `"number"`, `"boolean"`, `"object"`, `"array"`, `"null"`:
				found = true
			}
			found = found || val[0] == '['
			return false
		}
		return true
	})
	return found
}

// quoted writes the string raw, which has its quotes.
func (r *redactor) quoted(raw []byte, secret bool) {
	was := record.Text(raw[1 : len(raw)-1])
	var now string
	if secret && !harmless(was) {
		now = r.mask(was, "key")
	} else {
		now = r.text(was)
	}
	if now == was {
		r.out = append(r.out, raw...)
		return
	}
	// The text is valid UTF-8: it comes from a checked string, and masks are
	// ASCII that stands for whole characters of it.
	r.out, _ = jsontext.AppendQuote(r.out, now)
}

// text is s with its secrets replaced.
func (r *redactor) text(s string) string {
	if r.depth >= maxDepth || !holdsJSON(s) {
		return r.plain(s)
	}
	out, trail := r.out, r.trail
	r.out = nil
	r.depth++
	r.document([]byte(s))
	now := string(r.out)
	r.depth--
	r.out, r.trail = out, trail
	return now
}

// holdsJSON reports whether s is a JSON object or array with space around it
// at most.
func holdsJSON(s string) bool {
	t := strings.TrimLeft(s, " \t\r\n")
	if t == "" || t[0] != '{' && t[0] != '[' {
		return false
	}
	return jsontext.Value(s).IsValid(jsontext.AllowDuplicateNames(true))
}

// stringEnd is the index after the string at i. The JSON was checked before.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// wordEnd is the index after the number or the word at i.
func wordEnd(b []byte, i int) int {
	for i < len(b) && (b[i] == '-' || b[i] == '+' || b[i] == '.' ||
		b[i] >= '0' && b[i] <= '9' || b[i] >= 'a' && b[i] <= 'z' || b[i] >= 'A' && b[i] <= 'Z') {
		i++
	}
	return i
}

// objectEnd is the index after the object that b starts with.
func objectEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
	return len(b)
}
