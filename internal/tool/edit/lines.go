package edit

import (
	"strings"
	"unicode"
)

// window is a run of whole lines of a view.
type window struct{ first, n int }

// asked is find and replace as lines.
type asked struct {
	find, replace []string
	// ended says that find ends with a line end, which then is part of what is
	// replaced; replaceEnded says the same of replace.
	ended, replaceEnded bool
}

func askedLines(find, replace string) (asked, bool) {
	a := asked{ended: strings.HasSuffix(find, "\n"), replaceEnded: strings.HasSuffix(replace, "\n")}
	a.find = strings.Split(strings.TrimSuffix(find, "\n"), "\n")
	if replace != "" {
		a.replace = strings.Split(strings.TrimSuffix(replace, "\n"), "\n")
	}
	// Nothing but white space can be anywhere.
	return a, strings.TrimSpace(find) != ""
}

// windows lists the runs of lines of the file that fit find line by line.
func (v *view) windows(find []string, fits func(k int, file, want string) bool) []window {
	var out []window
	n := len(find)
	for first := 0; first+n <= v.lineCount() && len(out) <= maxListed; first++ {
		ok := true
		for k := 0; k < n && ok; k++ {
			ok = fits(k, v.lineText(first+k), find[k])
		}
		if ok {
			out = append(out, window{first, n})
		}
	}
	return out
}

// only returns the single window, or the error for none or several.
func (v *view) only(found []window, how string) (window, error) {
	switch len(found) {
	case 0:
		return window{}, ErrNotFound
	case 1:
		return found[0], nil
	}
	var at []int
	for _, w := range found {
		at = append(at, v.starts[w.first])
	}
	return window{}, v.ambiguous(how, at)
}

// byTrailing matches whole lines looking past white space at their ends.
func (v *view) byTrailing(find, replace string) (place, error) {
	const how = "trailing white space"
	a, ok := askedLines(find, replace)
	if !ok {
		return place{}, ErrNotFound
	}
	trimmed := make([]string, len(a.find))
	for i, line := range a.find {
		trimmed[i] = trimRight(line)
	}
	w, err := v.only(v.windows(trimmed, func(_ int, file, want string) bool {
		return trimRight(file) == want
	}), how)
	if err != nil {
		return place{}, err
	}
	return v.rebuild(w, a, how, func(line string) (string, bool) { return line, true })
}

// byIndent matches whole lines looking past white space at both ends. The
// indentation of the replacement is translated the way that of find relates to
// the file's; where this is not one clear rule, nothing matches.
func (v *view) byIndent(find, replace string) (place, error) {
	const how = "indentation"
	a, ok := askedLines(find, replace)
	if !ok {
		return place{}, ErrNotFound
	}
	trimmed := make([]string, len(a.find))
	for i, line := range a.find {
		trimmed[i] = trim(line)
	}
	w, err := v.only(v.windows(trimmed, func(_ int, file, want string) bool {
		return trim(file) == want
	}), how)
	if err != nil {
		return place{}, err
	}
	rule, ok := v.indentRule(w, a.find)
	if !ok {
		return place{}, ErrNotFound
	}
	return v.rebuild(w, a, how, rule)
}

// rebuild makes the new lines of a window. Lines that find and replace have in
// common at the beginning and the end stay as they are in the file; fit adapts
// the others and may refuse.
func (v *view) rebuild(w window, a asked, how string, fit func(string) (string, bool)) (place, error) {
	from, to := v.starts[w.first], v.lineEnd(w.first+w.n-1)
	if a.ended {
		if to == len(v.lf) {
			a.ended, a.replaceEnded = false, false // the file's last line has no end
		} else {
			to++
		}
	}
	head, tail := 0, 0
	for head < len(a.find) && head < len(a.replace) && a.find[head] == a.replace[head] {
		head++
	}
	for tail < len(a.find)-head && tail < len(a.replace)-head &&
		a.find[len(a.find)-1-tail] == a.replace[len(a.replace)-1-tail] {
		tail++
	}
	var lines []string
	for i := range head {
		lines = append(lines, v.lineText(w.first+i))
	}
	for _, line := range a.replace[head : len(a.replace)-tail] {
		line, ok := fit(line)
		if !ok {
			return place{}, ErrNotFound
		}
		lines = append(lines, line)
	}
	for i := tail; i > 0; i-- {
		lines = append(lines, v.lineText(w.first+w.n-i))
	}
	text := strings.Join(lines, "\n")
	if a.replaceEnded && len(lines) > 0 {
		text += "\n"
	}
	return place{from: from, to: to, text: text, how: how}, nil
}

// indentRule finds the translation from find's indentation to the file's: each
// indentation that occurs in find stands for exactly one in the file. Deeper
// ones in the replacement extend the longest known one, and only when the rest
// can be carried over: both sides indent alike, or steps have the same ratio.
func (v *view) indentRule(w window, find []string) (func(string) (string, bool), bool) {
	known := map[string]string{}
	for k, line := range find {
		if trim(line) == "" {
			continue
		}
		want, have := indent(line), indent(v.lineText(w.first+k))
		if other, ok := known[want]; ok && other != have {
			return nil, false
		}
		known[want] = have
	}
	return func(line string) (string, bool) {
		if trim(line) == "" {
			return "", true
		}
		in := indent(line)
		if out, ok := known[in]; ok {
			return out + line[len(in):], true
		}
		base, ok := longestKnown(known, in)
		if !ok {
			return "", false
		}
		rest, ok := translateStep(known, in[len(base):])
		return known[base] + rest + line[len(in):], ok
	}, true
}

// longestKnown is the longest known indentation that in begins with.
func longestKnown(known map[string]string, in string) (string, bool) {
	best, found := "", false
	for k := range known {
		if strings.HasPrefix(in, k) && (!found || len(k) > len(best)) {
			best, found = k, true
		}
	}
	return best, found
}

// translateStep carries over what comes on top of a known indentation. The
// step is one that two known indentations differ by, or the files indent with
// the same character.
func translateStep(known map[string]string, step string) (string, bool) {
	results := map[string]bool{}
	result := ""
	for a, fa := range known {
		for b, fb := range known {
			unit, ok := strings.CutPrefix(b, a)
			fileUnit, ok2 := strings.CutPrefix(fb, fa)
			if !ok || !ok2 || unit == "" || fileUnit == "" || len(step)%len(unit) != 0 {
				continue
			}
			if strings.Repeat(unit, len(step)/len(unit)) == step {
				result = strings.Repeat(fileUnit, len(step)/len(unit))
				results[result] = true
			}
		}
	}
	if len(results) > 0 {
		return result, len(results) == 1
	}
	// Only one depth is known: the rest means the same when both sides use
	// the same character for it.
	for want, have := range known {
		chars := want + have
		if strings.Trim(chars, step[:1]) != "" || strings.Trim(step, step[:1]) != "" {
			return "", false
		}
	}
	return step, true
}

// trim looks past white space, trimRight past that at the end only.
func trim(s string) string { return strings.TrimSpace(s) }

func trimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }

// indent is the white space a line begins with.
func indent(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }
