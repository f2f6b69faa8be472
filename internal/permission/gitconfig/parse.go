package gitconfig

import (
	"strings"

	"github.com/openmuse/muse/internal/permission/review"
)

// Entry is one setting. Section and Key are in lower case, as git compares
// them; Sub keeps its case.
type Entry struct{ Section, Sub, Key, Value string }

// Name is the entry's full name, as "git config --list" has it.
func (e Entry) Name() string {
	if e.Sub == "" {
		return e.Section + "." + e.Key
	}
	return e.Section + "." + e.Sub + "." + e.Key
}

// Parse reads the text of a configuration file. It reports false when git
// would not understand it either.
func Parse(text string) ([]Entry, bool) {
	p := parser{s: strings.TrimPrefix(text, "\ufeff")}
	var out []Entry
	section, sub := "", ""
	for {
		p.space(true)
		switch c := p.peek(); {
		case p.done():
			return out, true
		case c == '#' || c == ';':
			p.line()
		case c == '[':
			var ok bool
			if section, sub, ok = p.header(); !ok {
				return nil, false
			}
		default:
			key, value, ok := p.setting()
			if !ok || section == "" {
				return nil, false
			}
			out = append(out, Entry{section, sub, key, value})
		}
	}
}

type parser struct {
	s string
	i int
}

func (p *parser) done() bool { return p.i >= len(p.s) }

func (p *parser) peek() byte {
	if p.done() {
		return 0
	}
	return p.s[p.i]
}

func (p *parser) space(lines bool) {
	for !p.done() {
		switch p.s[p.i] {
		case ' ', '\t', '\r', '\v', '\f':
		case '\n':
			if !lines {
				return
			}
		default:
			return
		}
		p.i++
	}
}

func (p *parser) line() {
	for !p.done() && p.s[p.i] != '\n' {
		p.i++
	}
}

// header reads [section], [section.sub] and [section "sub"].
func (p *parser) header() (section, sub string, ok bool) {
	p.i++
	from := p.i
	for !p.done() && (letter(p.s[p.i]) || p.s[p.i] == '-' || p.s[p.i] == '.') {
		p.i++
	}
	section = strings.ToLower(p.s[from:p.i])
	if section == "" {
		return "", "", false
	}
	if p.peek() == ']' {
		p.i++
		// The old form keeps the subsection in lower case.
		section, sub, _ = strings.Cut(section, ".")
		return section, sub, true
	}
	p.space(false)
	if p.peek() != '"' {
		return "", "", false
	}
	p.i++
	var b strings.Builder
	for ; !p.done(); p.i++ {
		switch c := p.s[p.i]; c {
		case '\n':
			return "", "", false
		case '\\':
			p.i++
			if p.done() || p.s[p.i] == '\n' {
				return "", "", false
			}
			b.WriteByte(p.s[p.i])
		case '"':
			p.i++
			if p.peek() != ']' {
				return "", "", false
			}
			p.i++
			return section, b.String(), true
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// setting reads "key", "key = value" to the end of its last line.
func (p *parser) setting() (key, value string, ok bool) {
	from := p.i
	for !p.done() && (letter(p.s[p.i]) || p.s[p.i] == '-') {
		p.i++
	}
	key = strings.ToLower(p.s[from:p.i])
	if key == "" || key[0] == '-' || key[0] >= '0' && key[0] <= '9' {
		return "", "", false
	}
	p.space(false)
	switch p.peek() {
	case '=':
		p.i++
	case 0, '\n', '#', ';':
		p.line()
		return key, "true", true
	default:
		return "", "", false
	}
	value, ok = p.value()
	return key, value, ok
}

func (p *parser) value() (string, bool) {
	p.space(false)
	var b strings.Builder
	quoted, keep := false, 0
	for ; !p.done(); p.i++ {
		switch c := p.s[p.i]; {
		case c == '\n':
			if quoted {
				return "", false
			}
			return b.String()[:keep], true
		case c == '"':
			quoted = !quoted
			keep = b.Len()
		case c == '\\':
			p.i++
			if p.done() {
				return "", false
			}
			switch e := p.s[p.i]; e {
			case '\n':
				continue
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'b':
				b.WriteByte('\b')
			case '\\', '"':
				b.WriteByte(e)
			case '\r':
				if p.i+1 < len(p.s) && p.s[p.i+1] == '\n' {
					p.i++
					continue
				}
				return "", false
			default:
				return "", false
			}
			keep = b.Len()
		case !quoted && (c == '#' || c == ';'):
			p.line()
			return b.String()[:keep], true
		default:
			b.WriteByte(c)
			if quoted || c != ' ' && c != '\t' && c != '\r' {
				keep = b.Len()
			}
		}
	}
	return b.String()[:keep], !quoted
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// Evaluate says what the text of a configuration file means for running git.
func Evaluate(text string) review.GitConfig {
	entries, ok := Parse(text)
	if !ok {
		const bad = "a configuration that cannot be read"
		return review.GitConfig{Key: bad, Runs: bad}
	}
	out := review.GitConfig{Quiet: true}
	for _, e := range entries {
		switch effect(e) {
		case runs:
			if out.Runs == "" {
				out.Runs = e.Name()
			}
			fallthrough
		case loud:
			if out.Key == "" {
				out.Key = e.Name()
			}
			out.Quiet = false
		}
	}
	return out
}

type effectKind uint8

const (
	quiet effectKind = iota
	// loud settings start a program, but the environment that commands get
	// neutralises them, or they only matter for names that stop anyway.
	loud
	runs
)

// effect sorts a setting (THREATS.md 3.9).
func effect(e Entry) effectKind {
	switch e.Section + "." + e.Key {
	case "core.fsmonitor":
		switch strings.ToLower(e.Value) {
		case "true", "false", "yes", "no", "on", "off", "0", "1", "":
			return quiet
		}
		return loud
	case "core.hookspath", "core.pager", "core.editor", "sequence.editor", "core.worktree", "http.proxy", "http.sslverify", "http.sslcert", "http.cookiefile":
		return loud
	case "core.sshcommand", "core.gitproxy", "core.askpass", "core.alternaterefscommand", "diff.external", "diff.command", "diff.textconv",
		"gpg.program", "gpg.defaultkeycommand", "merge.driver", "extensions.partialclone", "remote.promisor", "remote.uploadpack", "remote.receivepack", "remote.vcs",
		"include.path", "includeif.path", "interactive.difffilter", "uploadpack.packobjectshook", "submodule.update",
		"difftool.cmd", "mergetool.cmd", "man.cmd", "browser.cmd", "sendemail.smtpserver", "trailer.command", "trailer.cmd", "tar.command",
		"hook.command":
		if e.Section == "submodule" && !strings.HasPrefix(e.Value, "!") {
			return quiet
		}
		return runs
	case "credential.helper":
		switch e.Value {
		case "", "cache", "store", "osxkeychain", "manager", "manager-core", "wincred", "libsecret", "gnome-keyring":
			return loud
		}
		return runs
	case "filter.clean", "filter.smudge", "filter.process":
		if lfs(e) {
			return loud
		}
		return runs
	case "url.insteadof", "url.pushinsteadof":
		return runs
	}
	switch e.Section {
	case "pager", "alias":
		return loud
	case "protocol":
		if e.Sub == "ext" || e.Sub == "" && e.Key == "allow" {
			return runs
		}
	}
	return quiet
}

// lfs recognises the filters that git-lfs writes: they run git-lfs and nothing
// of the repository.
func lfs(e Entry) bool {
	switch e.Value {
	case "git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process", "git-lfs smudge --skip -- %f", "git-lfs filter-process --skip":
		return e.Sub == "lfs"
	}
	return false
}
