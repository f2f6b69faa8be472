package review

import (
	"path"
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// Rules of programs that write files they are told to.
func editors() []group {
	const why = "writes inside the workspace"
	edit := func(names string, r rule) group {
		r.class, r.why, r.version = Edit, why, true
		return group{names, r}
	}
	return []group{
		edit(`cp`, rule{
			syntax: syntax{values: "tS", long: []string{"--target-directory", "--suffix"}},
			stop:   []string{"--strip-program"}, write: []string{"-t", "--target-directory"}, loose: true, fn: copyTarget,
		}),
		edit(`mv`, rule{
			syntax: syntax{values: "tS", long: []string{"--target-directory", "--suffix"}},
			stop:   []string{"--strip-program"}, write: []string{"-t", "--target-directory"}, operands: writesAll, loose: true, fn: movedInto,
		}),
		edit(`install`, rule{
			syntax: syntax{values: "tSmog", long: []string{"--target-directory", "--suffix", "--mode", "--owner", "--group", "--strip-program"}},
			stop:   []string{"--strip-program"}, write: []string{"-t", "--target-directory"}, loose: true, fn: installTarget,
		}),
		edit(`ln`, rule{syntax: syntax{values: "tS", long: []string{"--target-directory", "--suffix"}}, write: []string{"-t", "--target-directory"}, loose: true, operands: ignores, fn: linkTarget}),
		edit(`mkdir`, rule{syntax: syntax{values: "mZ", long: []string{"--mode"}}, operands: writesAll, fn: modeOption}),
		edit(`rmdir`, rule{operands: writesAll}),
		edit(`touch`, rule{syntax: syntax{values: "drt", long: []string{"--date", "--reference", "--time"}}, operands: writesAll}),
		edit(`truncate`, rule{syntax: syntax{values: "sr", long: []string{"--size", "--reference"}}, operands: writesAll}),
		{`tee`, rule{class: ReadOnly, version: true, operands: writesAll}},
		edit(`mktemp`, rule{syntax: syntax{values: "p", optional: ""}, write: []string{"-p", "--tmpdir"}, operands: ignores, fn: tempTemplate}),
		edit(`chmod`, rule{whole: judgeChmod}),
		edit(`tar bsdtar`, rule{whole: judgeTar}),
		edit(`zip`, rule{
			syntax: syntax{values: "bntO", long: []string{"--unzip-command", "--output-file", "--temp-path"}},
			stop:   []string{"-T", "--test", "--unzip-command"}, danger: []string{"-m", "--move", "-d", "--delete"}, write: []string{"-O", "--output-file", "-b", "--temp-path"}, loose: true, operands: reads, fn: firstWritten,
		}),
		edit(`unzip`, rule{syntax: syntax{values: "dPx"}, stop: []string{"-:"}, write: []string{"-d"}, loose: true, fn: unpacksHere("-d")}),
		edit(`gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress`, rule{syntax: syntax{values: "oSTD"}, write: []string{"-o"}, operands: writesAll}),
		edit(`cpio`, rule{syntax: syntax{values: "FOIEHCDMR"}, stop: []string{"--rsh-command", "-F", "-O", "-I"}, write: []string{"-D"}, loose: true, operands: writesAll, fn: cpioIn}),
		edit(`patch`, rule{
			syntax: syntax{values: "pdioBDFgrVYz", long: []string{"--strip", "--directory", "--input", "--output", "--get", "--reject-file"}},
			stop:   []string{"-e", "--ed", "-g", "--get"}, write: []string{"-o", "--output", "-r", "--reject-file", "-d", "--directory"}, operands: writesAll, loose: true,
		}),
		edit(`split`, rule{
			syntax: syntax{values: "abClnt", long: []string{"--bytes", "--lines", "--number", "--suffix-length", "--filter", "--separator"}},
			stop:   []string{"--filter"}, loose: true, operands: writesOther,
		}),
		edit(`csplit`, rule{syntax: syntax{values: "bfn", long: []string{"--prefix"}}, write: []string{"-f", "--prefix"}, loose: true, operands: ignores}),
		{`gofmt goimports gofumpt`, rule{
			syntax: syntax{single: true, long: []string{"-cpuprofile", "-r", "-local"}}, class: Unknown, why: "formats source files",
			write: []string{"-cpuprofile"}, version: true, fn: formatInPlace("-w"),
		}},
		edit(`mkfifo`, rule{syntax: syntax{values: "mZ", long: []string{"--mode"}}, operands: writesAll, fn: modeOption}),
		{`mknod`, rule{class: Dangerous, why: "makes a device", version: true}},
		{`dd`, rule{class: Dangerous, why: "dd writes raw data over what it is given", version: true}},
		{`rename prename file-rename`, rule{class: External, why: "rename may evaluate its first argument as a program", version: true}},
	}
}

// copyTarget judges the place that cp writes: the last operand, or that of -t.
func copyTarget(j *judge, a *scanned) {
	j.intoDirectory(a)
	if a.option("-t", "--target-directory") != nil || len(a.operands) < 2 {
		return
	}
	j.write(a.operands[len(a.operands)-1])
}

func installTarget(j *judge, a *scanned) {
	modeOption(j, a)
	if a.exact("-d", "--directory") != nil {
		for _, w := range a.operands {
			j.write(w)
		}
		return
	}
	copyTarget(j, a)
}

// intoDirectory judges the names that files get in a directory they are put
// into: "cp sub/.envrc ." writes ./.envrc.
func (j *judge) intoDirectory(a *scanned) {
	sources := a.operands
	var dir shell.Word
	if o := a.option("-t", "--target-directory"); o != nil && o.has {
		dir = o.value
	} else {
		if len(sources) < 2 {
			return
		}
		dir, sources = sources[len(sources)-1], sources[:len(sources)-1]
		base := path.Base(dir.Value)
		if len(sources) == 1 && base != "." && base != ".." && strings.Contains(base, ".") && !strings.HasSuffix(dir.Value, "/") {
			// It looks like the name of the copy.
			return
		}
	}
	for _, w := range sources {
		if base := path.Base(w.Value); base != "." && base != ".." && strings.IndexByte(w.Value, shell.Hole) < 0 {
			j.write(part(dir, strings.TrimSuffix(dir.Value, "/")+"/"+base))
		}
	}
}

// movedInto judges mv and git mv, which write what they take away too.
func movedInto(j *judge, a *scanned) { j.intoDirectory(a) }

// modeOption stops on -m with set-id bits.
func modeOption(j *judge, a *scanned) {
	if o := a.option("-m", "--mode"); o != nil && !plainMode(o.value) {
		j.stop(Dangerous, "sets a mode with special bits: "+o.value.Text)
	}
}

// linkTarget judges both ends: a link that leads out makes every later write
// through it one outside.
func linkTarget(j *judge, a *scanned) {
	ops := a.operands
	if len(ops) == 0 {
		return
	}
	name, targets := ops[len(ops)-1], ops[:len(ops)-1]
	switch {
	case a.option("-t", "--target-directory") != nil:
		targets = ops
	case len(ops) == 1:
		targets = ops
	default:
		j.write(name)
	}
	j.intoDirectory(a)
	// With -r the target is given from here, whatever the link's directory is.
	symbolic := a.option("-s", "--symbolic") != nil && a.option("-r", "--relative") == nil
	for _, w := range targets {
		if symbolic && w.Known && !path.IsAbs(w.Value) && len(ops) > 1 {
			// A relative target counts from the directory of the link.
			w.Value = path.Join(path.Dir(name.Value), w.Value)
		}
		j.write(w)
	}
	if len(ops) == 1 && ops[0].Known {
		j.write(shell.Literal(path.Base(ops[0].Value)))
	}
}

func tempTemplate(j *judge, a *scanned) {
	if a.exact("-t", "-p", "--tmpdir") != nil {
		return
	}
	for _, w := range a.operands {
		j.write(w)
	}
}

func firstWritten(j *judge, a *scanned) {
	if len(a.operands) > 0 {
		j.write(a.operands[0])
	}
	for _, o := range a.opts {
		if o.name == "-TT" {
			j.stop(External, "zip -TT runs a program")
		}
	}
}

// unpacksHere judges the directory that an archive is unpacked into.
func unpacksHere(option string) func(*judge, *scanned) {
	return func(j *judge, a *scanned) {
		if a.exact(option) == nil && a.exact("-l", "-p", "-t", "-v", "-Z") == nil {
			j.write(shell.Literal("."))
		}
	}
}

func cpioIn(j *judge, a *scanned) {
	if a.option("-i", "--extract") != nil && a.exact("--no-absolute-filenames") == nil {
		j.stop(Tampering, "cpio writes the absolute names of its archive")
	}
	if a.option("-o", "--create", "-i", "--extract", "-p", "--pass-through") == nil {
		j.stop(Tampering, "cpio without a known mode")
	}
}

func formatInPlace(option string) func(*judge, *scanned) {
	return func(j *judge, a *scanned) {
		if a.exact(option, "-"+option) == nil {
			return
		}
		for _, w := range a.operands {
			j.write(w)
		}
	}
}

// plainMode accepts octal modes without special bits and symbolic modes that
// set neither set-id nor sticky.
func plainMode(w shell.Word) bool {
	if !w.Known || w.Value == "" {
		return false
	}
	v := w.Value
	if strings.Trim(v, "01234567") == "" {
		return len(v) <= 3 || len(v) == 4 && v[0] == '0'
	}
	return strings.Trim(v, "ugoarwxX+-=,") == ""
}

// judgeChmod reads the mode, which may look like an option ("-w").
func judgeChmod(j *judge) {
	j.atLeast(Edit, "changes modes inside the workspace")
	mode, reference, ended := false, false, false
	for _, w := range j.args {
		v := w.Value
		switch {
		case !w.Known && w.MayBeOption() && !ended && (!mode || w.Split):
			j.flag(Tampering, "the mode or an option is not known: "+w.Text)
		case !ended && v == "--":
			ended = true
		case !ended && strings.HasPrefix(v, "--"):
			reference = reference || means(strings.SplitN(v, "=", 2)[0], "--reference")
		case !ended && len(v) > 1 && v[0] == '-' && strings.Trim(v[1:], "Rvcf") == "":
		case !mode && !reference:
			mode = true
			if !plainMode(w) {
				j.stop(Dangerous, "sets a mode with special bits: "+w.Text)
			}
		default:
			if strings.Contains(v, "+s") || strings.Contains(v, "=s") {
				j.stop(Dangerous, "may set a mode with special bits: "+w.Text)
			}
			j.write(w)
		}
	}
	if j.s.Appended && !mode {
		j.flag(Tampering, "the mode is not known")
	}
	if j.s.Appended {
		j.flag(Tampering, "changes modes of files that are not known")
	}
}

// tarStops are the options of tar that run programs or leave the directory.
var tarStops = []string{"--checkpoint-action", "--to-command", "--use-compress-program", "--info-script", "--new-volume-script",
	"--rsh-command", "--rmt-command", "--absolute-names", "--remove-files", "--unlink-first", "--recursive-unlink"}

// judgeTar reads the old form "tar xf a.tar" too: letters without a dash.
func judgeTar(j *judge) {
	args := j.args
	if len(args) > 0 && args[0].Known && args[0].Value != "" && args[0].Value[0] != '-' {
		// Each letter that takes a value takes the next word in turn.
		args = oldTar(args)
	}
	a := j.scan(args, &syntax{values: "bCfFgHIKLNTVX", long: []string{"--file", "--directory", "--exclude", "--transform", "--xform",
		"--files-from", "--exclude-from", "--use-compress-program", "--info-script", "--to-command", "--checkpoint-action",
		"--rsh-command", "--rmt-command", "--listed-incremental", "--owner", "--group", "--mode", "--mtime", "--strip-components"}})
	if a.loose != nil {
		j.flag(External, "could turn into an option of tar: "+a.loose.Text)
	}
	var create, extract, list bool
	for _, o := range a.opts {
		switch {
		case meansAny(o.name, tarStops), o.name == "-I", o.name == "-F", o.name == "-P", o.name == "-U":
			j.stop(External, "tar "+o.name)
		case o.name == "-c" || o.name == "-r" || o.name == "-u" || o.name == "-A" || means(o.name, "--create") || means(o.name, "--append") || means(o.name, "--update"):
			create = true
		case o.name == "-x" || means(o.name, "--extract") || means(o.name, "--get"):
			extract = true
		case o.name == "-t" || o.name == "--list":
			list = true
		}
	}
	list = list && !create && !extract
	if !list {
		j.atLeast(Edit, "packs or unpacks an archive")
	}
	moved, from := false, ""
	for _, o := range a.opts {
		if o.name != "-C" && !means(o.name, "--directory") {
			continue
		}
		moved = true
		if extract {
			j.write(o.value)
		} else {
			j.read(o.value)
			from = o.value.Value + "/"
		}
	}
	for _, o := range a.opts {
		if o.name == "-f" || means(o.name, "--file") {
			switch {
			case strings.Contains(o.value.Value, ":"):
				j.stop(Dangerous, "tar with an archive on another machine")
			case create && o.value.Value != "-":
				j.write(o.value)
			default:
				j.read(o.value)
			}
		}
	}
	if extract && !moved {
		j.write(shell.Literal("."))
	}
	if !extract {
		for _, w := range a.operands {
			j.read(w)
			if from != "" && !path.IsAbs(w.Value) {
				j.read(part(w, from+w.Value))
			}
		}
	}
	if !list {
		return
	}
	for _, o := range a.opts {
		switch o.name {
		case "-t", "-f", "-v", "-z", "-j", "-J", "-Z", "-a", "--list", "--file", "--verbose", "--gzip", "--bzip2", "--xz", "--zstd", "--auto-compress":
		default:
			j.atLeast(Unknown, "tar "+o.name)
		}
	}
}

// oldTar rewrites "cvf a.tar dir" to "-c -v -f a.tar dir".
func oldTar(args []shell.Word) []shell.Word {
	letters, rest := args[0].Value, args[1:]
	out := make([]shell.Word, 0, len(args)+len(letters))
	for i := 0; i < len(letters); i++ {
		out = append(out, shell.Literal("-"+letters[i:i+1]))
		if strings.IndexByte("bCfFgHIKLNTVX", letters[i]) >= 0 && len(rest) > 0 {
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	return append(out, rest...)
}
