package tui

import (
	"fmt"
	"strings"

	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/text"
)

// command is one slash command.
type command struct {
	name  string
	words string // what follows it, "" for nothing
	needs bool   // it cannot do without
	help  string
	have  func(*ui) bool
	run   func(u *ui, words string)
}

func (c command) usage() string {
	if c.words == "" {
		return ""
	}
	return " " + c.words
}

func (c command) takesWords() bool { return c.needs }

func always(*ui) bool { return true }

// kept reports whether the session is kept, which much needs.
func kept(u *ui) bool { return u.session == nil || u.session.Facts().Path != "" }

func canSignIn(u *ui) bool { return u.SignIn != nil && !u.Plain }

// commands are the slash commands, by name.
func commands() []command {
	return []command{
		{"clear", "", false, "a new session with an empty conversation", always, func(u *ui, _ string) { u.newSession() }},
		{"compact", "", false, "make the conversation shorter", always, func(u *ui, _ string) { u.compact() }},
		{"copy", "", false, "copy the last answer to the clipboard of the terminal", always, func(u *ui, _ string) { u.copyAnswer() }},
		{"details", "", false, "show the last tool call in full", always, func(u *ui, _ string) { u.details() }},
		{"diff", "", false, "what has changed in the workspace", func(u *ui) bool { return u.Diff != nil && u.Trusted }, func(u *ui, _ string) { u.diff() }},
		{"effort", "[LEVEL]", false, "how hard the model thinks", always, (*ui).effort},
		{"export", "[FILE]", false, "write the session as a document", func(u *ui) bool { return u.Export != nil && kept(u) }, (*ui).export},
		{"fork", "", false, "go on in a copy of the session", kept, func(u *ui, _ string) { u.fork() }},
		{"goal", "[set TEXT|clear|pause|resume]", false, "what the session works towards", always, (*ui).goal},
		{"help", "", false, "commands and keys", always, func(u *ui, _ string) { u.help() }},
		{"init", "", false, "have the agent write AGENTS.md, what an agent has to know here", func(u *ui) bool { return !u.NoWrite }, func(u *ui, _ string) { u.initialise() }},
		{"keymap", "", false, "all keys and what they do", always, func(u *ui, _ string) { u.keys() }},
		{"login", "", false, "set up a model: a key, or a server of your own", canSignIn, func(u *ui, _ string) { u.login() }},
		{"logout", "", false, "forget the key of the service in use", canSignIn, func(u *ui, _ string) { u.logout() }},
		{"model", "[ID]", false, "choose the model", always, (*ui).model},
		{"name", "NAME", true, "name the session", kept, (*ui).name},
		{"new", "", false, "a new session", always, func(u *ui, _ string) { u.newSession() }},
		{"permissions", "[MODE]", false, "when you are asked", always, (*ui).permissions},
		{"quit", "", false, "leave", always, func(u *ui, _ string) { u.quit() }},
		{"resume", "[NAME]", false, "go on with another session", func(u *ui) bool { return u.Stored != nil }, (*ui).resume},
		{"rewind", "", false, "go back to before a prompt, with files or without", kept, func(u *ui, _ string) { u.rewind() }},
		{"rules", "[remove]", false, "rules in force and where they come from", func(u *ui) bool { return u.Rules != nil }, (*ui).rules},
		{"settings", "[KEY]", false, "settings in force and where they come from", func(u *ui) bool { return u.Explain != nil }, (*ui).explain},
		{"status", "", false, "session, model, access, use", always, func(u *ui, _ string) { u.status() }},
		{"stop", "", false, "stop the turn, the calls and what runs in the background", always, func(u *ui, _ string) { u.stopAll() }},
		{"tasks", "", false, "the calls that run, and the commands in the background", always, func(u *ui, _ string) { u.tasks() }},
		{"theme", "[NAME]", false, "choose the colours", always, (*ui).theme},
		{"usage", "", false, "tokens and cost", always, func(u *ui, _ string) { u.usage() }},
	}
}

// commandNamed is a command by its name or another name for it.
func commandNamed(name string) command {
	switch name {
	case "exit":
		name = "quit"
	case "models":
		name = "model"
	case "cost", "context":
		name = "usage"
	case "config":
		name = "settings"
	case "memory":
		name = "rules"
	case "ps", "ts":
		name = "tasks"
	}
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return command{}
}

// slash carries out a command; false when it is none and the line stays where
// it is.
func (u *ui) slash(line string) bool {
	name, words, _ := strings.Cut(line[1:], " ")
	name, rest, many := strings.Cut(name, "\n")
	c := commandNamed(name)
	if c.run == nil || !c.have(u) || many && rest != "" {
		u.hint = fmt.Sprintf("there is no command /%s; a blank before it sends the line as a prompt", oneLine(name))
		return false
	}
	words = strings.TrimSpace(words)
	if c.needs && words == "" {
		u.hint = "/" + c.name + c.usage() + ": " + c.help
		return false
	}
	c.run(u, words)
	return true
}

// shortHelp is what ? shows.
func (u *ui) shortHelp() {
	k := u.Keys.Key
	u.view.gap("remark")
	for _, l := range [][2]string{
		{"/", "commands; /help lists them"}, {"!", "run a command line of your own"}, {"@", "complete a file name"},
		{k(keymap.Newline), "new line"}, {k(keymap.Queue), "queue a prompt behind the running turn"},
		{k(keymap.Cancel), "stop the turn"}, {k(keymap.Search), "search earlier prompts"}, {k(keymap.Details), "open the last tool call"},
		{k(keymap.Editor), "write in your editor"}, {k(keymap.Quit), "leave"},
	} {
		u.columns(l[0], 14, text.Of(text.Plain, l[1]))
	}
}

// columns prints a word and what it means, the meaning in a column of its own
// that goes on below itself. Where there is no room for two columns it stands
// below the word.
func (u *ui) columns(word string, wide int, meaning text.Line) {
	w, _ := u.screen.Size()
	head := text.Of(text.Accent, "  "+word)
	indent := text.Of(0, strings.Repeat(" ", wide+3))
	switch {
	case wide > w/2:
		indent = text.Of(0, "    ")
		u.out(text.Wrap(head, w, indent)...)
		u.out(text.Wrap(append(indent, meaning...), w, indent)...)
	case head.Width() > wide+2:
		u.out(text.Wrap(head, w, indent)...)
		u.out(text.Wrap(append(indent, meaning...), w, indent)...)
	default:
		u.out(text.Wrap(append(text.Pad(head, wide+2).Add(0, " "), meaning...), w, indent)...)
	}
}

func (u *ui) help() {
	u.view.gap("remark")
	u.out(text.Of(text.Heading, "Commands"))
	for _, c := range commands() {
		if c.have(u) {
			u.columns("/"+c.name+c.usage(), 24, text.Of(text.Plain, c.help))
		}
	}
	u.out(nil, text.Of(text.Muted, "Keys: /keymap lists them all. In short:"))
	u.view.last = ""
	u.shortHelp()
}

func (u *ui) keys() {
	u.view.gap("remark")
	u.out(text.Of(text.Heading, "Keys").Add(text.Muted, "  tui.keymap of settings.json changes them"))
	for _, r := range u.Keys.Rows() {
		keys := strings.Join(r.Keys, ", ")
		if keys == "" {
			keys = "none"
		}
		u.columns(keys, 28, text.Of(text.Plain, r.Help).Add(text.Muted, "  "+string(r.Action)))
	}
}

// CommandRow documents one slash command.
type CommandRow struct{ Usage, Help string }

// Commands lists the slash commands, for the documentation.
func Commands() []CommandRow {
	var out []CommandRow
	for _, c := range commands() {
		out = append(out, CommandRow{"/" + c.name + c.usage(), c.help})
	}
	return out
}
