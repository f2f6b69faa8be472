package redact

import (
	"fmt"
	"strings"
	"unicode"
)

// secrets gives every secret its placeholder.
type secrets struct {
	names map[string]*secret
	order []*secret
}

type secret struct {
	value       string
	placeholder string
	rule        string
	count       int64
}

// maxSecrets bounds the secrets that are told apart; beyond it they share a
// placeholder.
const maxSecrets = 1 << 20

func newSecrets() *secrets { return &secrets{names: map[string]*secret{}} }

// of is the placeholder of a value.
func (s *secrets) of(value, rule string) *secret {
	if x := s.names[value]; x != nil {
		return x
	}
	if len(s.order) >= maxSecrets {
		return &secret{placeholder: fmt.Sprintf("%s%s:more]", mark, rule)}
	}
	x := &secret{value: value, rule: rule, placeholder: fmt.Sprintf("%s%s:%d]", mark, rule, len(s.order)+1)}
	s.names[value] = x
	s.order = append(s.order, x)
	return x
}

// telling reports whether a value is so much like a secret that every text it
// stands in must lose it: long, or long enough and mixed. A short word that
// stood under a secret key may be any word elsewhere.
func telling(v string) bool {
	if len(v) >= 20 && !strings.ContainsFunc(v, unicode.IsSpace) {
		return true
	}
	var letters, digits bool
	for _, r := range v {
		letters = letters || unicode.IsLetter(r)
		digits = digits || unicode.IsDigit(r)
	}
	return len(v) >= 8 && letters && digits && !strings.ContainsFunc(v, unicode.IsSpace)
}

// known lists the values that are looked for everywhere.
func (s *secrets) known() []*secret {
	var out []*secret
	for _, x := range s.order {
		if telling(x.value) {
			out = append(out, x)
		}
	}
	return out
}
