package tui

import (
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/shell"
	"github.com/openmuse/muse/internal/tui/text"
)

// maxEarlier is how many command lines of a session are looked through for what
// a rule would also pass.
const maxEarlier = 300

// earlier keeps a command line that ran, or was to.
func (v *conversation) earlier(line string) {
	if line == "" || len(line) > 4<<10 || slices.Contains(v.lines, line) {
		return
	}
	if len(v.lines) >= maxEarlier {
		v.lines = v.lines[1:]
	}
	v.lines = append(v.lines, line)
}

// previewOf is the rule that a choice keeps, and what whoever asks says that it
// would also pass.
func previewOf(c msp.ApprovalChoice) (rule, also string) {
	rule, also, _ = strings.Cut(c.RulePreview, "; it would also pass: ")
	return oneLine(rule), oneLine(also)
}

// openPrefix is the beginning that the rule of a choice lets pass with any words
// behind it, nil when it keeps no such rule.
func openPrefix(a msp.ApprovalRequestParams, c msp.ApprovalChoice) []string {
	if c.Decision != msp.ApprovalDecisionApprovedPolicyAmendment || strings.Contains(c.RulePreview, "this command only") {
		return nil
	}
	for _, s := range a.Subject.Stages {
		if s.SuggestedPrefix != nil {
			return s.SuggestedPrefix.ArgvPrefix
		}
	}
	return nil
}

// alsoPasses is what a rule would also let through: commands of this session,
// and what can be written behind its beginning.
func (v *conversation) alsoPasses(a msp.ApprovalRequestParams, c msp.ApprovalChoice) (ran, could []string) {
	prefix := openPrefix(a, c)
	if len(prefix) == 0 {
		return nil, nil
	}
	self := map[string]bool{}
	for _, s := range a.Subject.Stages {
		self[strings.Join(s.Argv, " ")] = true
	}
	add := func(to *[]string, s string) {
		if !self[s] && !slices.Contains(ran, s) && !slices.Contains(could, s) {
			*to = append(*to, s)
		}
	}
	for _, line := range slices.Backward(v.lines) {
		for _, s := range shell.Analyze(line, shell.Options{}).Stages {
			if s.Kind == shell.Command && len(ran) < 3 && begins(s.Argv, prefix) {
				add(&ran, oneLine(s.Effective()))
			}
		}
	}
	for _, rest := range behind(prefix) {
		add(&could, strings.Join(prefix, " ")+" "+rest)
	}
	return ran, could
}

// begins reports whether a command begins with the words of a prefix.
func begins(argv []shell.Word, prefix []string) bool {
	if len(argv) < len(prefix) {
		return false
	}
	for i, w := range prefix {
		v := argv[i].Value
		if i == 0 {
			v = shell.BaseName(v)
		}
		if !argv[i].Known || v != w {
			return false
		}
	}
	return true
}

// behind are words that do much when they are written behind a prefix. For most
// programs nothing is known but that any word may follow.
func behind(prefix []string) []string {
	two := prefix[0]
	if len(prefix) > 1 {
		two += " " + prefix[1]
	}
	switch two {
	case "git push":
		return []string{"--force", "origin --delete BRANCH"}
	case "git commit":
		return []string{"--amend --no-verify"}
	case "git checkout", "git restore":
		return []string{"-- ."}
	case "git reset":
		return []string{"--hard"}
	case "git clean":
		return []string{"-fdx"}
	case "git branch":
		return []string{"-D BRANCH"}
	case "git stash":
		return []string{"drop", "clear"}
	case "git rebase":
		return []string{"-x COMMAND"}
	case "npm run", "pnpm run", "yarn run":
		return []string{"ANY-SCRIPT"}
	case "npm install", "pnpm install", "pnpm add", "yarn add", "pip install", "pip3 install", "cargo install", "gem install", "brew install", "apt install", "apt-get install", "go install":
		return []string{"ANY-PACKAGE"}
	case "go run", "cargo run":
		return []string{"ANY-PROGRAM"}
	case "go get":
		return []string{"ANY-MODULE"}
	case "docker run", "podman run":
		return []string{"--privileged -v /:/host IMAGE"}
	case "docker exec", "podman exec", "kubectl exec":
		return []string{"CONTAINER ANY-COMMAND"}
	case "kubectl delete":
		return []string{"namespace NAME"}
	case "terraform apply", "tofu apply", "terraform destroy", "tofu destroy":
		return []string{"-auto-approve"}
	}
	switch prefix[0] {
	case "make", "just", "task", "rake":
		return []string{"ANY-TARGET"}
	case "curl", "wget":
		return []string{"ANY-ADDRESS", "-o ANY-FILE ANY-ADDRESS"}
	case "cp", "mv", "ln", "install", "rsync":
		return []string{"ANY-FILE ANYWHERE"}
	case "chmod", "chown":
		return []string{"-R MODE ANYWHERE"}
	case "kill", "pkill", "killall":
		return []string{"ANY-PROCESS"}
	}
	return []string{"ANY-WORDS"}
}

// alsoLine says it in one line, nil when there is nothing to say.
func (v *conversation) alsoLine(a msp.ApprovalRequestParams, c msp.ApprovalChoice) text.Line {
	ran, could := v.alsoPasses(a, c)
	if _, also := previewOf(c); also != "" {
		for s := range strings.SplitSeq(also, ", ") {
			if s != "…" && !slices.Contains(ran, s) && len(ran) < 5 {
				ran = append(ran, s)
			}
		}
	}
	var line text.Line
	sep := "would also pass: "
	for _, s := range ran {
		line = line.Add(text.Muted, sep).Add(text.Plain, s).Add(text.Muted, " (as before)")
		sep = ", "
	}
	for _, s := range could {
		line = line.Add(text.Muted, sep).Add(text.Warn, s)
		sep = ", "
	}
	return line
}
