package shell

import (
	"path"
	"strings"
)

// target is where cd, pushd or popd leads to.
func target(argv []Word, in dirSet, home string, changed bool) dirSet {
	args := argv[1:]
	name := argv[0].Value
	for len(args) > 0 {
		w := args[0]
		if !w.Known {
			break
		}
		if w.Value == "--" {
			args = args[1:]
			break
		}
		if name == "cd" && len(w.Value) > 1 && w.Value[0] == '-' && strings.Trim(w.Value[1:], "LPe@") == "" {
			args = args[1:]
			continue
		}
		break
	}
	unknown := dirSet{{}}
	switch {
	case name == "popd" || changed || len(args) > 1:
		return unknown
	case len(args) == 0 && name == "cd" && home != "":
		return dirSet{{Path: home, Known: true}}
	case len(args) == 0:
		return unknown
	}
	if v := args[0].Value; v == "-" || (name == "pushd" && (strings.HasPrefix(v, "+") || strings.HasPrefix(v, "-"))) {
		return unknown
	}
	return resolve(in, args[0], home)
}

// resolve applies a directory name to each directory it may be relative to.
// The result is lexical: links are the business of whoever sees the disk.
func resolve(in dirSet, w Word, home string) dirSet {
	if !w.Known {
		return dirSet{{}}
	}
	if path.IsAbs(w.Value) {
		return dirSet{{Path: path.Clean(w.Value), Known: true}}
	}
	var out dirSet
	for _, d := range in {
		if !d.Known {
			return dirSet{{}}
		}
		out = union(out, dirSet{{Path: path.Join(d.Path, w.Value), Known: true}})
	}
	return out
}
