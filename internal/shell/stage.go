package shell

import "strings"

// Line is one command line taken apart.
type Line struct {
	// Text is the line as it was given.
	Text string
	// Stages are the commands in the order of their source. When Refusal is
	// set they are what could be found and prove nothing.
	Stages []Stage
	// Refusal says why the line cannot be decomposed; empty when it was.
	Refusal string
}

// Decomposed reports whether Stages is the whole truth about the line.
func (l *Line) Decomposed() bool { return l.Refusal == "" }

// Kind says what sort of thing the shell does at a stage.
type Kind uint8

const (
	// Command starts a program or a builtin: Argv has at least one word.
	Command Kind = iota
	// Assignment only sets variables of the shell: "X=1".
	Assignment
	// Redirection only opens files: "> out", "exec 3< in".
	Redirection
)

// Stage is one simple command that the shell starts, after unwrapping.
type Stage struct {
	Kind Kind
	// Argv is the effective command. Argv[0] is always Known.
	Argv []Word
	// Assigns are the variables set for this command, outermost first: those
	// before the command and those given to env and its kind. For Kind
	// Assignment they are the stage itself.
	Assigns []Assign
	// Unset names variables that env -u takes away.
	Unset []string
	// Cleared is set when the environment is emptied first (env -i, exec -c).
	Cleared bool
	// Redirs are the stage's redirections, those of its wrappers included.
	Redirs []Redirect
	// Wrappers are the commands taken off, outermost first.
	Wrappers []Wrapper
	// Stdin says where standard input comes from.
	Stdin Stdin
	// Appended is set when arguments unknown to the review are added behind
	// Argv at run time (xargs, fd -x).
	Appended bool
	// Dirs are the directories the command may run in: more than one when it
	// depends on an earlier cd, none of them Known when nobody can say.
	Dirs []Dir
	// Moved is set once an earlier stage or wrapper changed the directory.
	Moved bool
	// Dialect names the shell of a "zsh -c" or "ksh -c" script; empty for bash
	// and the shells whose grammar is part of bash's.
	Dialect string
}

// Dir is an absolute directory, or an unknown one.
type Dir struct {
	Path  string
	Known bool
}

// Assign is one variable assignment.
type Assign struct {
	Name   string
	Value  Word
	Append bool
	// Text is the assignment as it is shown.
	Text string
}

// Stdin says where a stage's standard input comes from.
type Stdin uint8

const (
	// StdinNone is the line's own input, which is empty.
	StdinNone Stdin = iota
	// StdinPipe is another stage's output.
	StdinPipe
	// StdinFile is a file opened with "<".
	StdinFile
	// StdinText is a here-document or here-string.
	StdinText
)

// Wrapper is a command that was taken off a stage.
type Wrapper struct {
	// Name is the base name of the wrapper's program.
	Name string
	// Program is the wrapper's program word as written.
	Program Word
	// Stops is set for wrappers that always need an answer (sudo, the dynamic
	// loader); the value is the reason.
	Stops string
	// Project is set for wrappers that look the command up in the project
	// (poetry run): the command is then the project's own code.
	Project bool
	// Plain is set for wrappers that change nothing about what the command can
	// do (timeout, nice): a read-only command stays read-only under them.
	Plain bool
	// Writes are files that the wrapper itself writes (time -o).
	Writes []Word
	// Argv is the whole command as it stood before this wrapper was taken off.
	Argv []Word
}

// RedirectOp is what a redirection does to its file.
type RedirectOp uint8

const (
	// RedirectRead opens for reading.
	RedirectRead RedirectOp = iota
	// RedirectWrite creates or appends.
	RedirectWrite
	// RedirectReadWrite opens for both ("<>").
	RedirectReadWrite
	// RedirectDup copies or closes a descriptor ("2>&1", "<&-").
	RedirectDup
	// RedirectText feeds a here-document or here-string.
	RedirectText
)

// Redirect is one redirection.
type Redirect struct {
	Op RedirectOp
	// FD is the descriptor that is redirected; -1 stands for both outputs.
	FD int
	// Target is the file, or for RedirectText the text that is fed.
	Target Word
	// Text is the redirection as it is shown, without the descriptor.
	Text string
}

// Effective renders the stage as people and tests see it: words quoted only
// where needed, words that are not known as they were written (THREATS.md 11).
func (s *Stage) Effective() string {
	var b strings.Builder
	put := func(t string) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t)
	}
	switch s.Kind {
	case Assignment:
		for _, a := range s.Assigns {
			put(a.Text)
		}
	case Redirection:
		for _, w := range s.Argv {
			put(w.Text)
		}
		for _, r := range s.Redirs {
			put(r.Text)
		}
	default:
		for _, w := range s.Argv {
			put(w.Text)
		}
	}
	return b.String()
}

// Program is the base name of the stage's program in lower case without an
// executable suffix, or "" for a stage that starts none.
func (s *Stage) Program() string {
	if s.Kind == Assignment || len(s.Argv) == 0 {
		return ""
	}
	return BaseName(s.Argv[0].Value)
}

// BaseName is the last element of a program's path, without ".exe" and its
// kind.
func BaseName(program string) string {
	if i := strings.LastIndexAny(program, "/\\"); i >= 0 {
		program = program[i+1:]
	}
	if len(program) > 4 {
		switch strings.ToLower(program[len(program)-4:]) {
		case ".exe", ".cmd", ".bat", ".com":
			return program[:len(program)-4]
		}
	}
	return program
}
