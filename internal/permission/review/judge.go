package review

import (
	"path"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/permission/paths"
	"github.com/openmuse/muse/internal/shell"
)

// Stage judges one stage of a line.
func Stage(s *shell.Stage, p *Place) Finding {
	j := judge{s: s, p: p, class: ReadOnly}
	j.run()
	f := Finding{Class: j.class, Reason: j.reason, Unruled: j.unruled}
	if j.stopped != "" {
		f.Class, f.Reason = j.stopped, j.stopReason
	}
	if f.Reason == "" {
		f.Reason = defaultReason(f.Class, j.name)
	}
	return f
}

// judge collects what is found about one stage.
type judge struct {
	s    *shell.Stage
	p    *Place
	name string       // canonical program name
	args []shell.Word // words behind the program

	class      Class
	reason     string
	stopped    Class
	stopReason string
	unruled    string

	optBuf  [8]opt
	operBuf [8]shell.Word
}

// stop records a reason to ask; the first one is shown.
func (j *judge) stop(c Class, reason string) {
	if j.stopped == "" {
		j.stopped, j.stopReason = c, reason
	}
}

// flag is a stop that no allow rule may lift.
func (j *judge) flag(c Class, reason string) {
	j.stop(c, reason)
	if j.unruled == "" {
		j.unruled = reason
	}
}

// unsure keeps allow rules from matching without stopping the stage.
func (j *judge) unsure(reason string) {
	if j.unruled == "" {
		j.unruled = reason
	}
}

// atLeast raises the class of a stage that is not read-only.
func (j *judge) atLeast(c Class, reason string) {
	if c.rank() > j.class.rank() {
		j.class, j.reason = c, reason
	}
}

func (j *judge) run() {
	s := j.s
	if len(s.Wrappers) > 0 {
		j.wrappers()
	}
	if len(s.Assigns) > 0 || len(s.Unset) > 0 || s.Cleared {
		j.environment()
	}
	for i := range s.Redirs {
		j.redirect(&s.Redirs[i])
	}
	if s.Kind != shell.Command {
		return
	}
	j.args = s.Argv[1:]
	for _, w := range j.args {
		if !w.Known {
			j.unsure("words that are not known: " + w.Text)
			break
		}
	}
	if s.Appended {
		j.unsure("arguments are added at run time")
	}
	j.program()
}

func (j *judge) wrappers() {
	for i := range j.s.Wrappers {
		w := &j.s.Wrappers[i]
		j.wrapperWords(w)
		if w.Stops != "" {
			j.flag(Dangerous, w.Stops)
		}
		if w.Project {
			j.atLeast(Project, w.Name+" looks the command up in the project")
			j.unsure("the project decides what " + w.Name + " starts")
		} else if !w.Plain {
			j.atLeast(Unknown, "started by "+w.Name)
		}
		for _, f := range w.Writes {
			j.write(f)
		}
	}
}

// environment judges the variables that are set or taken away for the stage.
func (j *judge) environment() {
	for _, a := range j.s.Assigns {
		if evaluates(a.Value.Value) {
			j.flag(External, "a subscript that runs a command where it is evaluated: "+a.Text)
		}
		// What is put into a variable may be read or connected to by its name.
		if !j.socket(a.Value) {
			j.read(a.Value)
		}
		if reason := EnvName(a.Name, a.Value); reason != "" {
			j.flag(Environment, reason)
		} else if j.s.Kind == shell.Command {
			j.unsure("a variable is set for the command")
		}
	}
	for _, name := range j.s.Unset {
		if reason := EnvName(name, shell.Word{}); reason != "" {
			j.flag(Environment, "takes away "+name+": "+reason)
		}
	}
	if j.s.Cleared {
		j.flag(Environment, "takes away the whole environment, the guards of git with it")
	}
}

func (j *judge) redirect(r *shell.Redirect) {
	switch r.Op {
	case shell.RedirectRead:
		j.read(r.Target)
		j.socket(r.Target)
	case shell.RedirectText:
		if j.s.Appended || j.s.Program() == "read" || j.s.Program() == "mapfile" || j.s.Program() == "readarray" {
			if evaluates(r.Target.Value) {
				j.flag(External, "a subscript that runs a command where it is evaluated: "+r.Text)
			}
			for _, name := range strings.Fields(r.Target.Value) {
				j.read(part(r.Target, name))
			}
		}
	case shell.RedirectWrite, shell.RedirectReadWrite:
		if !j.socket(r.Target) {
			j.write(r.Target)
		}
	}
}

// socket stops on bash's own names for network connections.
func (j *judge) socket(w shell.Word) bool {
	if !connects(w.Value) && !slices.ContainsFunc(defaults(w), connects) {
		return false
	}
	j.flag(Dangerous, "opens a network connection: "+w.Text)
	return true
}

// resolved gives the absolute paths that a word may mean, one for each
// directory the stage may run in; false when one of them is not known.
func (j *judge) resolved(w shell.Word, yield func(string)) bool {
	v := w.Value
	if strings.HasPrefix(v, "/") {
		yield(v)
		return true
	}
	if len(j.s.Dirs) == 0 {
		return false
	}
	for _, d := range j.s.Dirs {
		if !d.Known {
			return false
		}
	}
	for _, d := range j.s.Dirs {
		// Not path.Join: what ".." means behind a link is for Links to say.
		yield(d.Path + "/" + v)
	}
	return true
}

// write judges a word that names something the stage writes.
func (j *judge) write(w shell.Word) {
	if w.Split || strings.IndexByte(w.Value, shell.Hole) >= 0 {
		j.flag(Tampering, "writes to a place that is not known: "+w.Text)
		return
	}
	known := j.resolved(w, func(p string) {
		switch area := j.p.Space.Write(strings.ReplaceAll(p, string(shell.Below), "x")); area {
		case paths.Device:
		case paths.Inside, paths.Scratch:
			j.atLeast(Edit, "writes "+area.String())
		case paths.Protected:
			j.flag(Tampering, "writes below .git, .muse or .agents: "+w.Text)
		case paths.Guarded:
			j.flag(Tampering, "writes a file that other programs obey: "+w.Text)
		case paths.Unknown:
			j.flag(Tampering, "writes to a place that is not known: "+w.Text)
		default:
			j.flag(Tampering, "writes outside the workspace: "+w.Text)
		}
	})
	if !known {
		j.flag(Tampering, "the directory is not known, so neither is "+w.Text)
	}
}

// read judges a word that may name a file the stage reads.
func (j *judge) read(w shell.Word) {
	v := w.Value
	for _, d := range defaults(w) {
		j.read(shell.Word{Value: d, Text: w.Text, Known: true})
	}
	if j.harmless(v) {
		return
	}
	if strings.IndexByte(v, shell.Hole) >= 0 {
		if reason := j.p.Space.SecretSketch(v); reason != "" {
			j.flag(Sensitive, reason)
		}
		return
	}
	known := j.resolved(w, func(p string) {
		if reason := j.p.Space.Secret(p); reason != "" {
			j.flag(Sensitive, reason)
		}
	})
	if !known {
		if reason := j.p.Space.SecretSketch(v); reason != "" {
			j.flag(Sensitive, reason)
		}
	}
}

// harmless is a quick look that settles most words: a relative name without
// dots in front cannot be a place of secrets while the shell stays inside the
// workspace, unless a link leads there.
func (j *judge) harmless(v string) bool {
	if v == "" || v[0] == '-' {
		return true
	}
	if j.p.Space.Links != nil || v[0] == '/' || v[0] == '.' {
		return false
	}
	if strings.Contains(v, "/.") || strings.Contains(v, "..") || strings.Contains(v, "id_") {
		return false
	}
	for _, d := range j.s.Dirs {
		if !d.Known || d.Path != j.p.Space.Workspace {
			return false
		}
	}
	return true
}

// inside judges a word that names code or a directory whose code runs: it must
// lie in the workspace.
func (j *judge) inside(w shell.Word, what string) {
	if w.Value == "-" {
		j.flag(External, what+" is read from the input")
		return
	}
	if !w.Known {
		j.flag(External, what+" is not known: "+w.Text)
		return
	}
	known := j.resolved(w, func(p string) {
		if !j.p.Space.In(p) {
			j.flag(External, what+" lies outside the workspace: "+w.Text)
		}
	})
	if !known {
		j.flag(External, "the directory is not known, so neither is "+w.Text)
	}
}

// here judges the directory itself: project code runs what lies around it.
func (j *judge) here(what string) {
	for _, d := range j.s.Dirs {
		if !d.Known {
			j.flag(External, what+" in a directory that is not known")
		} else if !j.p.Space.In(d.Path) {
			j.flag(External, what+" outside the workspace: "+path.Clean(d.Path))
		}
	}
}

func defaultReason(c Class, name string) string {
	switch c {
	case ReadOnly:
		return "reads only"
	case Edit:
		return "writes inside the workspace"
	case Network:
		return "fetches through the network gate"
	case Project:
		return "runs code of the project"
	case Unknown:
		return "no rule for " + name
	}
	return string(c)
}
