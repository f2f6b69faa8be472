package review

import (
	"net/url"
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// Rules of programs that talk to other machines or services.
func clients() []group {
	return []group{
		{`curl`, rule{class: Network, version: true, whole: judgeCurl}},
		{`wget`, rule{class: Network, version: true, whole: judgeWget}},
		{`gh`, rule{class: Network, version: true, whole: judgeGh}},
		{`terraform tofu`, rule{class: Unknown, version: true, whole: onlySubcommands("fmt validate version", "reaches cloud accounts")}},
		{`openssl`, rule{whole: judgeOpenssl}},
		{`sqlite3 sqlite`, rule{class: Unknown, version: true, whole: judgeSqlite}},
		{`svn`, rule{
			class: Unknown, why: "version control", version: true, loose: true,
			stop: []string{"--diff-cmd", "--diff3-cmd", "--editor-cmd", "--config-option", "--config-dir", "--diff-cmd"},
			fn:   dangerousFirst("commit ci import copy cp move mv rename mkdir mkdir propset ps delete del remove rm lock unlock switch relocate revert merge"),
		}},
		{`hg`, rule{
			class: Unknown, why: "version control", version: true, loose: true, syntax: syntax{values: "RC", long: []string{"--config", "--repository", "--cwd"}},
			stop: []string{"--config", "--config-file", "-R", "--repository", "--cwd"},
			fn:   dangerousFirst("push strip revert purge rollback histedit rebase email serve debugshell"),
		}},
	}
}

func dangerousFirst(list string) func(*judge, *scanned) {
	words := strings.Fields(list)
	return func(j *judge, a *scanned) {
		if len(a.operands) > 0 && contains(words, a.operands[0].Value) {
			j.stop(Dangerous, j.name+" "+a.operands[0].Value)
		}
	}
}

// onlySubcommands stops on every subcommand but the listed ones.
func onlySubcommands(list, why string) func(*judge) {
	words := strings.Fields(list)
	return func(j *judge) {
		j.atLeast(Unknown, "")
		if len(j.args) > 0 && j.args[0].Known && contains(words, j.args[0].Value) {
			j.readAll(j.args[1:])
			return
		}
		j.stop(Dangerous, j.name+" "+why)
	}
}

// curlStops are the options of curl that send data, leave the gate, weaken what
// the gate counts on, or take commands and secrets from files.
var curlStops = strings.Fields(`-d -F -T -K -x -k -J -Q -n -U --data --data-raw --data-binary --data-ascii --data-urlencode --json --form --form-string
	--upload-file --config --proxy --preproxy --proxy-user --proxy-header --proxy-insecure --noproxy --socks4 --socks4a --socks5 --socks5-hostname
	--unix-socket --abstract-unix-socket --resolve --connect-to --interface --insecure --doh-url --doh-insecure --dns-servers --dns-interface
	--dns-ipv4-addr --dns-ipv6-addr --remote-header-name --quote --postquote --prequote --netrc --netrc-file --netrc-optional --engine --url-query
	--variable --expand-url --expand-data --expand-header --mail-from --mail-rcpt --telnet-option --libcurl --hsts --alt-svc --trace --trace-ascii --stderr
	--proto-default --krb --ftp-port --proxytunnel --haproxy-protocol --random-file --egd-file --ssh-key --pubkey`)

// curlExact are options of their own that look like abbreviations of those.
var curlExact = []string{"--proto", "--url", "--next", "--tr-encoding"}

func judgeCurl(j *judge) {
	if len(j.args) == 1 && (j.args[0].Value == "-V" || j.args[0].Value == "-h") {
		return
	}
	j.atLeast(Network, "fetches through the network gate")
	a := j.scan(j.args, &syntax{values: "owHmXAeDCrdFTKxubcEPQtUyYzh", flags: []string{"--head", "--proxy-insecure"}, long: []string{
		"--output", "--write-out", "--header", "--max-time", "--connect-timeout", "--request", "--user-agent", "--referer", "--dump-header",
		"--url", "--output-dir", "--retry", "--retry-delay", "--retry-max-time", "--max-redirs", "--max-filesize", "--limit-rate", "--range",
		"--continue-at", "--proto", "--proto-default", "--proto-redir", "--keepalive-time", "--data", "--data-raw", "--data-binary", "--data-ascii",
		"--data-urlencode", "--json", "--form", "--form-string", "--upload-file", "--config", "--proxy", "--noproxy", "--resolve", "--connect-to",
		"--interface", "--unix-socket", "--abstract-unix-socket", "--user", "--cookie", "--cookie-jar", "--cert", "--key", "--cacert", "--capath",
		"--netrc-file", "--speed-limit", "--speed-time", "--expect100-timeout", "--trace", "--trace-ascii", "--stderr", "--hsts", "--alt-svc",
		"--etag-save", "--etag-compare", "--libcurl", "--dns-servers", "--doh-url", "--engine", "--preproxy", "--socks5", "--socks5-hostname",
		"--socks4", "--socks4a", "--url-query", "--variable", "--oauth2-bearer", "--aws-sigv4", "--quote", "--mail-from", "--mail-rcpt",
	}})
	if a.loose != nil {
		j.flag(External, "could turn into an option of curl: "+a.loose.Text)
	}
	named := false
	for _, o := range a.opts {
		if !contains(curlExact, o.name) && meansAny(o.name, curlStops) {
			j.stop(Dangerous, "curl "+o.name+" sends data, reads files or leaves the gate")
			continue
		}
		v := o.value
		switch o.name {
		case "-X", "--request":
			if !v.Known || v.Value != "GET" && v.Value != "HEAD" && v.Value != "OPTIONS" {
				j.stop(Dangerous, "curl -X "+v.Text+" changes something at the other end")
			}
		case "-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--etag-save":
			if strings.Contains(v.Value, "#") {
				j.stop(Tampering, "curl puts parts of the address into the name: "+v.Text)
			}
			if v.Value != "-" {
				j.write(v)
			}
		case "--output-dir":
			j.write(v)
		case "-O", "--remote-name", "--remote-name-all":
			named = true
		case "-H", "--header", "-w", "--write-out":
			if strings.HasPrefix(v.Value, "@") || strings.Contains(v.Value, "%output{") || !v.Known {
				j.stop(Dangerous, "curl "+o.name+" with text that is not shown: "+v.Text)
			}
		case "-A", "--user-agent", "-e", "--referer":
			if !v.Known {
				j.stop(Dangerous, "curl "+o.name+" with text that is not shown: "+v.Text)
			}
		case "--url":
			j.address(v, named)
		case "-m", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "--retry-max-time", "--limit-rate", "--max-redirs":
		default:
			if !o.has {
				continue
			}
			if !v.Known {
				j.stop(Dangerous, "curl "+o.name+" with text that is not shown: "+v.Text)
			}
			j.read(v)
		}
	}
	for _, w := range a.operands {
		j.address(w, named)
	}
}

// address judges a URL: only HTTP, and nothing in it that is not shown.
func (j *judge) address(w shell.Word, saves bool) {
	v := w.Value
	if !w.Known && !(w.Glob && !strings.ContainsRune(v, shell.Hole)) {
		j.stop(Dangerous, "the address holds text that is not shown: "+w.Text)
		return
	}
	if globbed := strings.IndexAny(v, "{["); globbed >= 0 && globbed < strings.Index(v, "://")+3 || globbed >= 0 && !strings.Contains(v, "://") {
		j.stop(Dangerous, "an address whose scheme is not shown: "+w.Text)
		return
	}
	if scheme, _, ok := strings.Cut(v, "://"); ok {
		if s := strings.ToLower(scheme); s != "http" && s != "https" {
			j.stop(Dangerous, "an address that is not HTTP: "+w.Text)
		}
	} else if strings.HasPrefix(strings.ToLower(v), "file:") || strings.HasPrefix(v, "/") {
		j.stop(Dangerous, "an address that is not HTTP: "+w.Text)
	}
	if saves {
		v, _, _ = strings.Cut(v, "#")
		v, _, _ = strings.Cut(v, "?")
		name := v[strings.LastIndexByte(v, '/')+1:]
		if name == "" {
			name = "index.html"
		}
		j.write(shell.Literal(name))
		if plain, err := url.PathUnescape(name); err != nil {
			j.stop(Tampering, "the name of the file that is written is not certain: "+w.Text)
		} else if plain != name {
			j.write(shell.Literal(plain))
		}
	}
}

// wgetStops are the options of wget that do the same.
var wgetStops = strings.Fields(`-e -i -P -B --post-data --post-file --body-data --body-file --execute --config --use-askpass --input-file --base
	--directory-prefix --no-check-certificate --load-cookies --save-cookies --certificate --private-key --ca-directory --bind-address --dns-servers
	--no-proxy --rejected-log --warc-file --http-password --ftp-password --password --ask-password --trust-server-names --content-disposition --secure-protocol`)

func judgeWget(j *judge) {
	j.atLeast(Network, "fetches through the network gate")
	a := j.scan(j.args, &syntax{values: "OtTUwoaePiBAQRXDIl", long: []string{
		"--output-document", "--tries", "--timeout", "--user-agent", "--wait", "--progress", "--max-redirect", "--header", "--waitretry", "--limit-rate",
		"--output-file", "--append-output", "--compression", "--method", "--post-data", "--post-file", "--body-data", "--body-file", "--execute",
		"--use-askpass", "--config", "--directory-prefix", "--input-file", "--base", "--user", "--password", "--load-cookies", "--save-cookies",
		"--certificate", "--private-key", "--ca-certificate", "--referer", "--bind-address", "--dns-servers", "--warc-file",
	}})
	if a.loose != nil {
		j.flag(External, "could turn into an option of wget: "+a.loose.Text)
	}
	output, spider := false, false
	for i, o := range a.opts {
		// "-nv" is one option of wget, not two.
		if o.name == "-n" || i > 0 && a.opts[i-1].name == "-n" {
			continue
		}
		if o.name != "--content-on-error" && meansAny(o.name, wgetStops) {
			j.stop(Dangerous, "wget "+o.name+" sends data, reads files or leaves the gate")
			continue
		}
		switch o.name {
		case "-O", "--output-document", "-o", "--output-file", "-a", "--append-output":
			output = output || o.name == "-O" || o.name == "--output-document"
			if o.value.Value != "-" {
				j.write(o.value)
			}
		case "--method":
			if o.value.Value != "GET" && o.value.Value != "HEAD" {
				j.stop(Dangerous, "wget --method "+o.value.Text)
			}
		case "--header", "-U", "--user-agent":
			if !o.value.Known {
				j.stop(Dangerous, "wget "+o.name+" with text that is not shown")
			}
		case "--spider":
			spider = true
		case "-t", "-T", "-w", "--tries", "--timeout", "--wait", "--waitretry", "--limit-rate":
		default:
			if o.has && !o.value.Known {
				j.stop(Dangerous, "wget "+o.name+" with text that is not shown")
			}
		}
	}
	for _, w := range a.operands {
		j.address(w, !output && !spider)
	}
}

// judgeGh lets the questions through that GitHub's client answers.
func judgeGh(j *judge) {
	j.atLeast(Network, "asks GitHub")
	if len(j.args) >= 2 && j.args[0].Known && j.args[1].Known {
		for _, w := range j.args[2:] {
			if w.MayBeOption() || strings.HasPrefix(w.Value, "--web") || w.Value == "-w" {
				j.stop(Dangerous, "gh "+w.Text)
			}
		}
		switch j.args[0].Value {
		case "pr", "issue", "run", "repo", "release", "workflow", "label", "gist", "search", "cache", "ruleset":
			switch j.args[1].Value {
			case "list", "ls", "view", "diff", "checks", "status", "issues", "prs", "repos", "commits", "code", "check":
				return
			}
		}
	}
	j.stop(Dangerous, "gh acts on GitHub with the user's account")
}

func judgeOpenssl(j *judge) {
	if len(j.args) == 0 {
		j.stop(External, "openssl reads commands from its input")
		return
	}
	j.atLeast(Unknown, "openssl")
	switch sub := j.args[0]; sub.Value {
	case "s_client", "s_server", "s_time", "ocsp", "cmp", "ts":
		j.stop(Dangerous, "openssl "+sub.Value+" opens a network connection")
	case "version":
	default:
		if sub.MayBeOption() {
			j.flag(External, "the subcommand of openssl is not known")
		}
	}
	a := j.scan(j.args[1:], &syntax{single: true, long: []string{"-in", "-out", "-inkey", "-key", "-keyout", "-CA", "-CAkey", "-CAfile", "-engine", "-provider", "-provider-path", "-config", "-pass", "-passin", "-passout", "-days", "-subj", "-newkey", "-extfile", "-writerand", "-rand"}})
	if a.loose != nil {
		j.flag(External, "could turn into an option of openssl: "+a.loose.Text)
	}
	for _, o := range a.opts {
		switch o.name {
		case "-engine", "-provider", "-provider-path", "-config", "-keyform":
			j.stop(External, "openssl "+o.name+" loads code")
		case "-out", "-keyout", "-writerand":
			j.write(o.value)
		default:
			if o.has {
				j.read(o.value)
			}
		}
	}
}

// sqliteRuns are functions and commands of the sqlite3 shell that reach files
// or programs.
var sqliteRuns = []string{"writefile", "readfile", "edit(", "load_extension", "fts3_tokenizer", "attach", "lsdir", "vacuum into"}

func judgeSqlite(j *judge) {
	j.atLeast(Unknown, "opens a database")
	if len(j.args) == 1 && (j.args[0].Value == "--version" || j.args[0].Value == "-version") {
		return
	}
	a := j.scan(j.args, &syntax{single: true, long: []string{"-cmd", "-init", "-separator", "-nullvalue", "-newline", "-vfs", "-maxsize", "--cmd", "--init"}})
	if a.loose != nil {
		j.flag(External, "could turn into an option of sqlite3: "+a.loose.Text)
	}
	if o := a.exact("-cmd", "-init", "--cmd", "--init", "-A", "--A", "-unsafe-testing"); o != nil {
		j.stop(External, "sqlite3 "+o.name)
	}
	if len(a.operands) < 2 && j.s.Stdin != shell.StdinNone || len(a.operands) == 0 {
		j.stop(External, "sqlite3 reads commands from its input")
	}
	for i, w := range a.operands {
		if i == 0 {
			if w.Value != ":memory:" {
				j.write(w)
			}
			continue
		}
		text := strings.ToLower(w.Value)
		if !w.Known {
			j.stop(External, "sqlite3 commands that are not known: "+w.Text)
		}
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimLeft(line, " \t"), ".") {
				j.stop(External, "commands of the sqlite3 shell reach files and programs")
			}
		}
		for _, f := range sqliteRuns {
			if strings.Contains(text, f) {
				j.stop(External, "sqlite3 "+strings.TrimSuffix(f, "(")+" reaches files or code")
			}
		}
	}
}
