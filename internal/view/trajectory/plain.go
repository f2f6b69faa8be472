package trajectory

import (
	"slices"
	"strings"
)

// span is a part of a text that is a secret.
type span struct {
	start, end int
	class      string
}

// plain is s, a text that is no JSON, with its secrets replaced.
func (r *redactor) plain(s string) string {
	f := finder{s: s}
	r.literals.find(&f)
	f.find()
	if len(f.spans) == 0 {
		return s
	}
	// What starts first wins; of two that start together, the longer.
	slices.SortStableFunc(f.spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	var b strings.Builder
	at := 0
	for i := 0; i < len(f.spans); {
		sp := f.spans[i]
		for i++; i < len(f.spans) && f.spans[i].start < sp.end; i++ {
			sp.end = max(sp.end, f.spans[i].end)
		}
		b.WriteString(s[at:sp.start])
		b.WriteString(r.mask(s[sp.start:sp.end], sp.class))
		at = sp.end
	}
	b.WriteString(s[at:])
	return b.String()
}

// finder looks for secrets in a text in one pass: forms that begin with a
// known prefix, and values that follow a key that names a secret.
type finder struct {
	s     string
	spans []span
}

func (f *finder) add(start, end int, class string) {
	if end > start && !strings.HasPrefix(f.s[start:end], "[redacted") {
		f.spans = append(f.spans, span{start, end, class})
	}
}

func (f *finder) find() {
	s := f.s
	beginning := shapesByFirst()
	for i := 0; i < len(s); {
		end := i
		switch c := s[i]; c {
		case ':', '=':
			end = f.assignment(i)
		case '-':
			if strings.HasPrefix(s[i:], "-----BEGIN ") {
				end = f.pem(i)
			} else if strings.HasPrefix(s[i:], "--") && (i == 0 || s[i-1] <= ' ' || s[i-1] == '"' || s[i-1] == '\'') {
				end = f.flag(i)
			}
		case 'B', 'b':
			end = f.scheme(i)
		case 'e':
			end = f.jwt(i)
		}
		// A word may end right before: KEY=sk-…, /ghp_…, but not "desk-".
		if end == i && beginning[s[i]] != nil && (i == 0 || !alnum.has(s[i-1])) {
			end = f.shape(i, beginning[s[i]])
		}
		i = max(end, i+1)
	}
}

// boundary reports whether a new word begins at i.
func (f *finder) boundary(i int) bool {
	return i == 0 || !alnum.has(f.s[i-1]) && f.s[i-1] != '_' && f.s[i-1] != '-'
}

func (f *finder) run(i int, a alphabet) int {
	for i < len(f.s) && a.has(f.s[i]) {
		i++
	}
	return i
}

// shape finds one of the forms at i and gives the index after it, i when there
// is none.
func (f *finder) shape(i int, forms []shape) int {
	rest := f.s[i:]
	for _, sh := range forms {
		if !strings.HasPrefix(rest, sh.prefix) {
			continue
		}
		end := f.run(i+len(sh.prefix), sh.alphabet)
		tail := f.s[i+len(sh.prefix) : end]
		if len(tail) < sh.tail || sh.mixed && !strings.ContainsAny(tail, "0123456789") && len(tail) < 40 {
			continue
		}
		if sh.alphabet == upper && end < len(f.s) && alnum.has(f.s[end]) {
			continue // goes on as another word
		}
		f.add(i, end, sh.class)
		return end
	}
	return i
}

// jwt finds a JSON Web Token: three base64url parts, of which the first two
// are JSON objects, "eyJ" in base64.
func (f *finder) jwt(i int) int {
	if !strings.HasPrefix(f.s[i:], "eyJ") || !f.boundary(i) {
		return i
	}
	head := f.run(i, name)
	if head >= len(f.s) || f.s[head] != '.' || !strings.HasPrefix(f.s[head+1:], "eyJ") {
		return i
	}
	body := f.run(head+1, name)
	end := body
	if body < len(f.s) && f.s[body] == '.' {
		end = f.run(body+1, name)
	}
	f.add(i, end, "jwt")
	return end
}

// pem finds a private key block. One that is cut off goes to the end of the
// text.
func (f *finder) pem(i int) int {
	line := f.s[i:]
	label, _, ok := strings.Cut(line[len("-----BEGIN "):], "-----")
	if !ok || !strings.Contains(label, "PRIVATE KEY") || len(label) > 60 {
		return i
	}
	closing := "-----END " + label + "-----"
	end := len(f.s)
	if n := strings.Index(line, closing); n >= 0 {
		end = i + n + len(closing)
	}
	f.add(i, end, "private_key")
	return end
}

// scheme finds the credentials after "Bearer" and "Basic".
func (f *finder) scheme(i int) int {
	if !f.boundary(i) {
		return i
	}
	n := len("bearer")
	if len(f.s)-i < n {
		return i
	}
	word := f.s[i : i+n]
	if !strings.EqualFold(word, "bearer") {
		if n--; !strings.EqualFold(word[:n], "basic") {
			return i
		}
	}
	at := i + n
	for at < len(f.s) && f.s[at] == ' ' {
		at++
	}
	end := f.run(at, base64)
	for end > at && f.s[end-1] == '.' {
		end-- // the end of a sentence
	}
	if at == i+n || end-at < 8 || !looksRandom(f.s[at:end]) {
		return i
	}
	f.add(at, end, "authorization")
	return end
}

// flag finds the value of a command line option that names a secret, in the
// form with a space between: --api-key VALUE. The other is an assignment.
func (f *finder) flag(i int) int {
	end := f.run(i+2, name)
	if end >= len(f.s) || f.s[end] != ' ' || !secretKey(f.s[i+2:end]) {
		return i
	}
	at := end + 1
	start, stop, _ := f.word(at)
	value := f.s[start:stop]
	if strings.HasPrefix(value, "-") || !secretValue(f.s[i+2:end], value) {
		return i
	}
	f.add(start, stop, "option")
	return stop
}
