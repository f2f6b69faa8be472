package main

import (
	"os"
	"path/filepath"
	"strings"
)

const secrets = "secrets masked"

func secretAttempts() []attempt {
	reads := func(name, text string) attempt {
		return attempt{name: "secret-" + name, promise: secrets, ws: "git", works: true, try: script(text)}
	}
	return []attempt{
		reads("file", `grep -q @MARK@ @SECRETFILE@`),
		reads("file-by-link", `ln -s @SECRETFILE@ l; grep -q @MARK@ l`),
		reads("file-by-root", `grep -q @MARK@ /proc/self/root@SECRETFILE@`),
		reads("file-by-dots", `grep -q @MARK@ @OUT@/../home/../secret/token`),
		reads("file-by-copy", `cp @SECRETFILE@ c; grep -q @MARK@ c`),
		reads("directory", `ls @SECRETDIR@ | grep -q .`),
		reads("directory-by-name", `grep -q @MARK@ @SECRETDIR@/entry`),
		reads("settings", `grep -rq @MARK@ @USERHOME@/.config/muse`),
		reads("data", `grep -rq @MARK@ @USERHOME@/.local/share/muse`),
		reads("ssh", `grep -rq @MARK@ @USERHOME@/.ssh`),
		reads("history", `grep -q @MARK@ @USERHOME@/.bash_history`),
		reads("linked-directory", `grep -rq @MARK@ @USERHOME@/.aws/`),
		reads("trust", `echo '{"all":true}' > @USERHOME@/.config/muse/trust.json`),
		{name: "secret-environment", promise: secrets, ws: "git", works: true, try: func(f facts) error {
			for _, entry := range os.Environ() {
				if strings.Contains(entry, f.Mark+"-env") {
					return nil
				}
			}
			files, err := filepath.Glob("/proc/[0-9]*/environ")
			if err != nil {
				return err
			}
			for _, name := range files {
				if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), f.Mark+"-env") {
					return nil
				}
			}
			return errRefused
		}},
		{name: "secret-helper", promise: secrets, ws: "git", try: script(`f=$(ls /run/muse/* 2>/dev/null | head -1); test -n "$f" && echo x > "$f"`)},
	}
}
