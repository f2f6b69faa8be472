package redact

import "bytes"

// matcher finds any of many values in a text: by their first four bytes, then
// by the whole.
type matcher struct {
	byStart map[[4]byte][]*secret
	starts  [256]bool
}

func newMatcher(known []*secret) *matcher {
	m := &matcher{byStart: map[[4]byte][]*secret{}}
	for _, s := range known {
		start := [4]byte([]byte(s.value))
		m.byStart[start] = append(m.byStart[start], s)
		m.starts[s.value[0]] = true
	}
	return m
}

// find is where values stand; of several at one place the longest.
func (m *matcher) find(text []byte) []span {
	if len(m.byStart) == 0 {
		return nil
	}
	var spans []span
	for i := 0; i+4 <= len(text); i++ {
		if !m.starts[text[i]] {
			continue
		}
		best := 0
		for _, s := range m.byStart[[4]byte(text[i:])] {
			if len(s.value) > best && bytes.HasPrefix(text[i:], []byte(s.value)) {
				best = len(s.value)
			}
		}
		if best > 0 {
			spans = append(spans, span{i, i + best, "repeated"})
			i += best - 1
		}
	}
	return spans
}
