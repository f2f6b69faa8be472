package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// binutilsOptions are the options with which the readers of object files only
// read; the others load plugins, ask servers for symbols or read options from
// files.
var binutilsOptions = strings.Fields(`-a -A -B -C -D -f -g -h -H -i -j -l -n -p -r -R -s -S -t -T -u -v -V -w -x -X -d -e -I -L -c -z -o -b -P -M -m -E -F -N -W -G
	--all --debug-syms --demangle --dynamic --defined-only --extern-only --line-numbers --numeric-sort --no-sort --portability --print-armap --print-size
	--print-file-name --radix --reverse-sort --size-sort --special-syms --synthetic --target --undefined-only --format --with-symbol-versions
	--archive-headers --file-headers --private-headers --headers --section-headers --all-headers --disassemble --disassemble-all --full-contents --source
	--syms --dynamic-syms --reloc --dynamic-reloc --section --architecture --start-address --stop-address --no-show-raw-insn --show-raw-insn --wide
	--no-addresses --visualize-jumps --file-header --program-headers --segments --sections --section-details --symbols --dyn-syms --notes --relocs --unwind
	--version-info --arch-specific --use-dynamic --hex-dump --string-dump --histogram --exe --functions --basenames --inlines --pretty-print --addresses
	--totals --common --bytes --print-file-name --encoding --no-verbose --types --strip-underscore --no-params --version --help`)

// objectFile stops on what reads its options from a file.
func objectFile(j *judge, a *scanned) {
	responseFiles(j, a)
	for _, w := range a.operands {
		if !w.Known && w.MayBeOption() {
			j.flag(External, "could turn into an option of "+j.name+": "+w.Text)
		}
	}
}

// traditional handles ptx, which writes its second operand in the form of
// System V.
func traditional(j *judge, a *scanned) {
	if a.option("-G", "--traditional") == nil {
		return
	}
	mayGrow(j, a)
	for i, w := range a.operands {
		if i > 0 {
			j.write(w)
		}
	}
}

// judgeXxd reads the options of xxd, which may be written by a letter or by a
// name behind one dash and never stand in clusters: "-ps" is one option. What
// follows the first operand is written.
func judgeXxd(j *judge) {
	ended, operands := false, scanned{}
	for i := 0; i < len(j.args); i++ {
		w := j.args[i]
		v := w.Value
		if strings.HasPrefix(v, "--") && len(v) > 2 {
			v = v[1:]
		}
		switch {
		case !ended && w.MayBeOption():
			operands.operands = append(operands.operands, w)
		case ended || len(v) < 2 || v[0] != '-':
			operands.operands = append(operands.operands, w)
		case v == "--":
			ended = true
		case xxdTakesNext(v):
			i++
		}
	}
	mayGrow(j, &operands)
	for i, w := range operands.operands {
		if i == 0 {
			j.read(w)
		} else {
			j.write(w)
		}
	}
}

// xxdTakesNext reports an option whose value stands in the next word.
func xxdTakesNext(v string) bool {
	for _, name := range [...]string{"-cols", "-groupsize", "-len", "-name", "-offset", "-seek", "-skip", "-R"} {
		if v == name[:2] || len(v) > 2 && strings.HasPrefix(name, v[:min(len(v), 3)]) {
			return true
		}
	}
	return false
}

// uniqOutput drops the operands of old forms ("+1") before it looks for the
// second file, which is written.
func uniqOutput(j *judge, a *scanned) {
	mayGrow(j, a)
	files := 0
	for _, w := range a.operands {
		if strings.HasPrefix(w.Value, "+") && plainNumber(w.Value) {
			continue
		}
		if files++; files > 1 {
			j.write(w)
		} else {
			j.read(w)
		}
	}
}

// judgeGetent lets the questions through that files of the machine answer; host
// names are asked of a server.
func judgeGetent(j *judge) {
	databases := 0
	for i := 0; i < len(j.args); i++ {
		w := j.args[i]
		v := w.Value
		switch {
		case !w.Known && databases == 0:
			j.flag(Dangerous, "what getent asks is not known: "+w.Text)
			return
		case databases > 0:
		case v == "-s" || v == "--service":
			i++
			j.atLeast(Unknown, "getent with a service of its own")
		case strings.HasPrefix(v, "-"):
		default:
			databases++
			switch v {
			case "passwd", "group", "services", "protocols", "shells", "rpc", "aliases", "ethers", "initgroups":
			case "shadow", "gshadow":
				j.stop(Sensitive, "getent "+v+" reads passwords")
			default:
				j.stop(Dangerous, "getent "+w.Text+" asks a name server")
			}
		}
	}
	if j.s.Appended && databases == 0 {
		j.flag(Dangerous, "what getent asks is not known")
	}
}

// judgeArch allows the question only: on some machines arch starts the command
// it is given.
func judgeArch(j *judge) {
	if len(j.args) > 0 || j.s.Appended {
		j.stop(External, "arch starts the command it is given")
	}
}

// judgeJq reads the options of jq: some take two words, and a program may come
// from a file.
func judgeJq(j *judge) {
	var files []shell.Word
	program := false
	ended := false
	for i := 0; i < len(j.args); i++ {
		w := j.args[i]
		v := w.Value
		if ended || len(v) < 2 || v[0] != '-' {
			if w.MayBeOption() && !ended {
				j.atLeast(Unknown, "could turn into an option of jq: "+w.Text)
			}
			files = append(files, w)
			continue
		}
		name, _, _ := strings.Cut(v, "=")
		switch {
		case v == "--":
			ended = true
		case strings.HasPrefix(v, "--"):
			switch name {
			case "--arg", "--argjson":
				i += 2
			case "--slurpfile", "--rawfile", "--argfile":
				if i += 2; i < len(j.args) {
					j.read(j.args[i])
				}
			case "--indent":
				i++
			case "--library-path":
				if i++; i < len(j.args) {
					j.read(j.args[i])
				}
			case "--from-file":
				program = true
			default:
				if !contains(jqFlags, name) {
					j.atLeast(Unknown, "option "+name+" of jq is not on the list of harmless ones")
				}
			}
		default:
			for k, c := range v[1:] {
				if c == 'L' {
					if k+2 < len(v) {
						j.read(part(w, v[k+2:]))
					} else if i++; i < len(j.args) {
						j.read(j.args[i])
					}
					break
				}
				program = program || c == 'f'
				if !strings.ContainsRune("sSrjaMCcnRehVfb", c) {
					j.atLeast(Unknown, "option "+v+" of jq is not on the list of harmless ones")
				}
			}
		}
	}
	for i, w := range files {
		if i > 0 || program {
			j.read(w)
		}
	}
}

var jqFlags = strings.Fields(`--slurp --sort-keys --raw-output --raw-output0 --join-output --ascii-output --monochrome-output --color-output --compact-output
	--null-input --raw-input --exit-status --tab --stream --stream-errors --seq --unbuffered --args --jsonargs --binary --help --version --build-configuration`)

// clocOptions judges cloc, whose options have one dash or two.
func clocOptions(j *judge, a *scanned) {
	for _, o := range a.opts {
		switch name := "--" + strings.TrimLeft(o.name, "-"); name {
		case "--by-file", "--by-file-by-lang", "--quiet", "--json", "--yaml", "--xml", "--csv", "--md", "--sum-one", "--fullpath", "--skip-uniqueness",
			"--exclude-dir", "--exclude-ext", "--exclude-lang", "--include-ext", "--include-lang", "--match-f", "--not-match-f", "--match-d", "--not-match-d",
			"--hide-rate", "--progress-rate", "--follow-links", "--no3", "--3", "--version", "--help", "--show-lang", "--show-ext":
		case "--out", "--report-file", "--write-lang-def", "--ignored", "--counted", "--found", "--categorized", "--diff-list-file", "--sql":
			if value := o.value; o.has {
				j.write(value)
			} else {
				j.stop(Tampering, "cloc "+o.name+" writes a file")
			}
		default:
			j.stop(External, "cloc "+o.name+" may run a program")
		}
	}
}

// sccOptions judges the files that scc's multiple formats name.
func sccOptions(j *judge, a *scanned) {
	if o := a.option("--format-multi"); o != nil {
		j.stop(Tampering, "scc --format-multi writes files")
	}
}
