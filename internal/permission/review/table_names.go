package review

import "strings"

// otherNames maps the names under which distributions install variants of a
// program to the name its rule stands under.
func otherNames(name string) (string, bool) {
	switch name {
	case "busybox", "toybox":
		return "", false
	case "vim.tiny", "vim.basic", "vim.nox", "vim.gtk", "vim.gtk3", "vim.athena", "rvim", "rgvim", "evim", "eview", "ex.vim", "nvim-qt":
		return "vim", true
	case "nc.openbsd", "nc.traditional":
		return "nc", true
	case "original-awk", "bwk", "bioawk", "goawk", "frawk":
		return "awk", true
	case "bsdcpio":
		return "cpio", true
	case "bsdunzip":
		return "unzip", true
	case "gtar", "star":
		return "tar", true
	case "ssh.exe", "dbclient", "autossh":
		return "ssh", true
	case "python-is-python3", "pythonw":
		return "python", true
	case "emacs-nox", "emacs-gtk", "emacs-lucid", "mg", "jmacs", "jstar", "rjoe", "rnano":
		return "emacs", true
	}
	base, tail, ok := strings.Cut(name, ".")
	if !ok || base == "" {
		return "", false
	}
	switch tail {
	case "static", "tiny", "basic", "distrib", "real", "bin", "orig", "openbsd", "traditional", "nox", "gtk3", "procps", "coreutils", "gnu", "mini", "dynamic":
		return base, true
	}
	return "", false
}
