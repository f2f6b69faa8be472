package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const repositories = "code that the user's git would run tomorrow"

func repositoryAttempts() []attempt {
	// A repository in which plain git runs a program.
	plant := func(dir string) func(facts) error {
		return func(f facts) error {
			config := fmt.Sprintf("[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch %s/planted\n", f.Outside)
			if filepath.Base(dir) != ".git" {
				config += "\tbare = false\n\tworktree = .\n"
			}
			for _, d := range []string{"objects", "refs/heads"} {
				if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
					return err
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o644); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
				return err
			}
			return errors.New("planted; the user's git is run from outside")
		}
	}
	then := func(first func(facts) error, text string) func(facts) error {
		return func(f facts) error {
			_ = first(f) // says only that it was planted
			if err := script(text)(f); err != nil {
				return err
			}
			return errors.New("planted; the user's git is run from outside")
		}
	}
	all := []attempt{
		{name: "nested-hook", promise: protected, ws: "nested", works: true, try: script(`echo x > vendor/lib/.git/hooks/pre-commit`)},
		{name: "nested-config", promise: protected, ws: "nested", works: true, try: script(`git -C vendor/lib config core.pager x`)},
		{name: "nested-rename", promise: protected, ws: "nested", works: true,
			try: script(`mv vendor old && mkdir vendor && cp -r old/lib vendor/lib && echo x > vendor/lib/.git/hooks/pre-commit`)},
		{name: "nested-rename-middle", promise: protected, ws: "nested", works: true, try: script(`mv vendor/lib vendor/l && mkdir vendor/lib`)},
		{name: "planted-new", promise: repositories, ws: "git", works: true, try: plant("new/.git"), check: userGit("new")},
		{name: "planted-deep", promise: repositories, ws: "git", works: true, try: plant("a/b/c/d/.git"), check: userGit("a/b/c/d")},
		{name: "planted-bare", promise: repositories, ws: "git", works: true, try: plant("bare"), check: userGit("bare")},
		{name: "planted-bare-root", promise: repositories, ws: "empty", works: true, try: plant("."), check: userGit(".")},
		{name: "planted-pointer", promise: repositories, ws: "git", works: true, try: then(plant("store"), `mkdir w && echo "gitdir: ../store" > w/.git`), check: userGit("w")},
		{name: "planted-link", promise: repositories, ws: "git", works: true, try: then(plant("store"), `mkdir w && ln -s ../store w/.git`), check: userGit("w")},
		{name: "planted-tmp-pointer", promise: repositories, ws: "git", try: then(plant("/tmp/store-planted"),
			`mkdir w && real=$(sed -n 's|^[^ ]* [^ ]* [^ ]* \([^ ]*\) /tmp .*|\1|p' /proc/self/mountinfo | head -1) && echo "gitdir: ${real:-/tmp}/store-planted" > w/.git`), check: userGit("w")},
		{name: "planted-node-modules", promise: repositories, ws: "git", works: true, try: plant("node_modules/x/.git"), check: userGit("node_modules/x")},
		{name: "planted-shy", promise: repositories, ws: "git", works: true, try: then(plant("shy/in/.git"), `chmod 311 shy/in/.git shy/in shy`), check: userGit("shy/in")},
		{name: "planted-old", promise: repositories, ws: "git", works: true, try: then(plant("new/.git"), `touch -d 2001-01-01 new/.git new .`), check: userGit("new")},
		{name: "planted-inside", promise: repositories, ws: "git", works: true, try: then(plant("new/.git/objects/in"),
			`mkdir -p new/.git/refs && echo "ref: refs/heads/main" > new/.git/HEAD`), check: userGit("new/.git/objects/in")},
	}
	return append(all, attempt{name: "planted-by-git", promise: repositories, ws: "git", works: true,
		try: func(f facts) error {
			if err := script(`git init -q new && git -C new config alias.st "!touch @OUT@/planted" && git -C new config core.fsmonitor "touch @OUT@/planted"`)(f); err != nil {
				return err
			}
			return errors.New("planted; the user's git is run from outside")
		}, check: userGit("new")})
}

// userGit does what a shell prompt does in a directory that the user enters,
// and makes sure that nothing of the command's was run by it.
func userGit(dir string) func(facts) error {
	return func(f facts) error {
		planted := filepath.Join(f.Outside, "planted")
		for _, args := range [][]string{{"status", "--short"}, {"st"}, {"diff"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = filepath.Join(f.Workspace, dir)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.Home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
			_ = cmd.Run() // whatever it says: what it started counts
		}
		if os.Remove(planted) == nil {
			return fmt.Errorf("git in %s ran what a command had planted", dir)
		}
		return nil
	}
}
