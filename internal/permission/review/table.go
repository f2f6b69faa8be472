package review

import (
	"strings"
	"sync"
)

var (
	tableOnce  sync.Once
	tableRules map[string]*rule
)

// table maps program names to rules. It is built when first needed; a rule may
// look another one up, so it cannot be an initialised variable.
func table() map[string]*rule {
	tableOnce.Do(func() {
		m := make(map[string]*rule, 1100)
		for _, groups := range [][]group{readers(), builtins(), editors(), builders(), interpreters(), packages(), clients(), stoppers()} {
			for i := range groups {
				g := &groups[i]
				for _, name := range strings.Fields(g.names) {
					m[name] = &g.rule
				}
			}
		}
		tableRules = m
	})
	return tableRules
}

// group is one rule for several programs.
type group struct {
	names string
	rule
}

// Names lists every program there is a rule for, with the class of a plain use;
// it serves "muse permission rules".
func Names() map[string]Class {
	out := map[string]Class{}
	for n, r := range table() {
		out[n] = r.class
	}
	return out
}

// Rules of programs that only read, unless an option says otherwise.
func readers() []group {
	read := func(names string, r rule) group {
		r.class, r.version = ReadOnly, true
		return group{names, r}
	}
	return []group{
		// The manual of each shows no option that runs, writes or connects.
		read(`cat tac nl head tail wc ls dir vdir cut od hexdump cmp comm du df ps stat which whereis fold fmt expand
			unexpand column paste join tsort sum cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum md5
			readlink realpath pwd whoami id groups uname uptime free nproc locale tty cal
			printenv env w users numfmt factor zcat bzcat
			xzcat lscpu lsblk vmstat exa eza look pgrep pstree rev nice bc ncal`, rule{}),
		read(`base64 base32 basenc`, rule{syntax: syntax{values: "bwo", optional: "", long: []string{"--wrap", "--output", "--break"}}, write: []string{"-o", "--output"}, loose: true}),
		read(`nm objdump readelf size addr2line c++filt strings`, rule{
			syntax: syntax{values: "bmMjFtTeAnsPi", long: []string{"--target", "--section", "--radix", "--format", "--architecture", "--start-address", "--stop-address", "--exe", "--plugin", "--bytes", "--encoding"}},
			stop:   []string{"--plugin"}, only: binutilsOptions, loose: true, fn: objectFile,
		}),
		read(`ptx`, rule{
			syntax: syntax{values: "FMSWbgiow", long: []string{"--flag-truncation", "--macro-name", "--format", "--sentence-regexp", "--word-regexp", "--break-file", "--gap-size", "--ignore-file", "--only-file", "--width"}},
			loose:  true, fn: traditional,
		}),
		read(`who`, rule{breaks: []string{"--lookup"}}),
		read(`getconf`, rule{only: []string{"-a"}}),
		read(`lspci lsusb`, rule{syntax: syntax{values: "sdiAHpOD"}, breaks: []string{"-q", "-Q", "-O", "-F"}, loose: true}),
		read(`top`, rule{syntax: syntax{values: "dnopuUsEew"}, only: strings.Fields("-b -n -d -p -u -U -o -H -c -i -1 -w -s -S -l -e -E -O")}),
		read(`arch`, rule{whole: judgeArch}),
		read(`getent`, rule{whole: judgeGetent}),
		read(`cloc`, rule{
			syntax: syntax{single: true},
			stop:   []string{"--extract-with", "--vcs", "--config", "--lang-no-ext", "--git", "--git-diff-rel", "--git-diff-all"}, text: false, loose: true, fn: clocOptions,
		}),
		read(`scc`, rule{
			syntax: syntax{values: "ofiwMOs", long: []string{"--output", "--format", "--format-multi", "--include-ext", "--exclude-dir", "--sort"}},
			write:  []string{"-o", "--output"}, loose: true, fn: sccOptions,
			only: strings.Fields("-c -d -f -i -l -m -M -n -p -s -u -v -w -z -a -x -o --output --no-cocomo --by-file --format --include-ext --exclude-dir --exclude-ext --sort --wide --no-complexity --ci --no-duplicates --no-gen --uloc --dryness --no-min-gen --verbose"),
		}),
		read(`tokei`, rule{
			syntax: syntax{values: "ceinstco", long: []string{"--exclude", "--input", "--output", "--sort", "--type", "--types", "--columns", "--num-format", "--languages"}},
			only:   strings.Fields("-C -f -h -l -V -v -c -e -i -n -o -s -t --compact --files --hidden --languages --no-ignore --no-ignore-parent --no-ignore-dot --no-ignore-vcs --verbose --columns --exclude --input --num-format --output --sort --rsort --types --type"),
		}),
		read(`echo true false : sleep basename dirname seq expr yes tr logname`, rule{text: true}),
		read(`grep egrep fgrep`, rule{
			syntax: syntax{values: "ABCDdefm", long: []string{"--regexp", "--file", "--max-count", "--context", "--after-context", "--before-context", "--include", "--exclude", "--exclude-dir", "--label", "--exclude-from"}},
			text:   true, fn: patternFirst("-e", "--regexp", "-f", "--file"),
		}),
		read(`rg`, rule{
			syntax: syntax{values: "ABCEefgjmMrtTd", long: []string{"--glob", "--iglob", "--type", "--type-not", "--type-add", "--type-clear", "--max-count", "--context", "--after-context", "--before-context", "--regexp", "--file", "--max-depth", "--sort", "--sortr", "--color", "--colors", "--encoding", "--engine", "--replace", "--threads", "--max-columns", "--max-filesize", "--pre-glob", "--path-separator", "--ignore-file", "--context-separator", "--field-match-separator", "--field-context-separator", "--dfa-size-limit", "--regex-size-limit", "--pre", "--hostname-bin"}},
			stop:   []string{"--pre", "--hostname-bin"}, exact: []string{"--p"}, breaks: []string{"-z", "--search-zip"},
			text: true, loose: true, fn: patternFirst("-e", "--regexp", "-f", "--file", "--files", "--type-list"),
		}),
		read(`jq`, rule{whole: judgeJq}),
		read(`diff`, rule{breaks: []string{"-l", "--paginate"}}),
		read(`file`, rule{syntax: syntax{values: "efFmP"}, breaks: []string{"-C", "--compile", "-m", "--magic-file", "-z", "-Z", "--uncompress", "--uncompress-noreport", "-S", "--no-sandbox"}}),
		read(`tree`, rule{
			syntax: syntax{values: "oLPIHT", detached: true, long: []string{"--filelimit", "--charset", "--timefmt", "--gitfile", "--infofile", "--sort", "--output"}},
			write:  []string{"-o", "--output"}, breaks: []string{"-R"}, loose: true,
		}),
		read(`pr`, rule{}),
		read(`shuf`, rule{syntax: syntax{values: "ino", long: []string{"--input-range", "--head-count", "--output", "--random-source"}}, write: []string{"-o", "--output"}, loose: true}),
		read(`iconv`, rule{syntax: syntax{values: "fto", long: []string{"--from-code", "--to-code", "--output"}}, write: []string{"-o", "--output"}, loose: true}),
		read(`sort`, rule{
			syntax: syntax{values: "kStTo", long: []string{"--key", "--field-separator", "--buffer-size", "--parallel", "--batch-size", "--output", "--temporary-directory", "--compress-program", "--files0-from", "--sort"}},
			stop:   []string{"--compress-program"}, write: []string{"-o", "--output", "-T", "--temporary-directory"}, loose: true,
			only: strings.Fields(`-b -d -f -g -i -M -h -n -R -r -V -c -C -m -s -u -z -k -S -t -o -T --ignore-leading-blanks
				--dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort
				--numeric-sort --random-sort --reverse --version-sort --sort --check --merge --stable --unique
				--zero-terminated --key --field-separator --buffer-size --parallel --batch-size --debug --output`),
		}),
		read(`uniq`, rule{syntax: syntax{values: "fsw", long: []string{"--skip-fields", "--skip-chars", "--check-chars"}}, operands: ignores, loose: true, fn: uniqOutput}),
		read(`xxd`, rule{whole: judgeXxd}),
		read(`date`, rule{
			syntax: syntax{values: "drsfIvt", long: []string{"--date", "--reference", "--file", "--set"}},
			danger: []string{"-s", "--set"}, loose: true, text: true, fn: dateOperand,
		}),
		read(`hostname`, rule{loose: true, fn: hostnameOperand, only: strings.Fields(`-f -s -i -I -d -A -y --fqdn --long --short --ip-address --all-ip-addresses --domain --all-fqdns`)}),
		read(`netstat`, rule{operands: ignores, only: strings.Fields(`-a -c -e -g -i -l -n -o -p -r -s -t -u -v -w -x -4 -6
			--all --tcp --udp --unix --raw --listening --numeric --programs --extend --route --interfaces --statistics --timers --wide`)}),
		read(`ss`, rule{operands: ignores, only: strings.Fields(`-a -e -H -i -l -m -n -o -O -p -s -t -u -w -x -0 -4 -6
			--all --tcp --udp --unix --raw --listening --numeric --processes --extended --info --memory --options --summary --no-header --oneline`)}),
		read(`lsof`, rule{
			syntax: syntax{values: "acdpu", optional: "giFLs"}, operands: reads, fn: lsofNames,
			only: strings.Fields(`-a -b -c -d -F -g -i -l -L -n -N -o -O -p -P -R -s -t -u -U -v -w -x`),
		}),
		read(`find`, rule{whole: judgeFind}),
		read(`fd fdfind`, rule{
			syntax: syntax{values: "dteESocj", long: []string{"--max-depth", "--min-depth", "--type", "--extension", "--exclude", "--size", "--owner", "--changed-within", "--changed-before", "--max-results", "--base-directory", "--search-path", "--format", "--color", "--threads"}},
			stop:   []string{"--exec", "--exec-batch", "-x", "-X"}, exact: []string{"--exact-depth", "--exclude", "--extension"}, skip: 1, loose: true,
		}),
		read(`sed`, rule{whole: judgeSed}),
		read(`awk gawk mawk nawk`, rule{whole: judgeAwk}),
		read(`git`, rule{whole: judgeGit}),
		read(`test [`, rule{whole: judgeTest}),
		{`ag ack`, rule{class: Unknown, why: "searches with settings of its own", stop: []string{"--pager", "--pass-through"}, loose: true, text: true, fn: patternFirst("--match"), version: true}},
		{`man`, rule{whole: judgeMan}},
		{`bat batcat`, rule{class: Unknown, why: "may start a pager", stop: []string{"--pager", "--config-file"}, loose: true, version: true}},
		{`mount`, rule{whole: judgeMount}},
		{`sysctl`, rule{class: Unknown, why: "reads settings of the kernel", danger: []string{"-w", "--write", "-p", "--load", "-f", "--system"}, text: true, version: true, fn: sysctlAssign}},
		{`ldd`, rule{class: Unknown, why: "ldd may start the file it looks at"}},
	}
}

// Builtins of the shell (THREATS.md 3.8, last rows).
func builtins() []group {
	return []group{
		{`jobs wait times caller shift break continue return exit umask ulimit bg fg disown help logout suspend dirs popd type`,
			rule{class: ReadOnly, whole: judgeBuiltin}},
		{`cd pushd`, rule{class: ReadOnly, whole: judgeCd}},
		{`command builtin exec`, rule{class: ReadOnly, text: true}},
		{`export`, rule{whole: judgeExport}},
		{`set`, rule{whole: judgeSet}},
		{`shopt`, rule{whole: judgeShopt}},
		{`printf`, rule{whole: judgePrintf}},
		{`read`, rule{whole: judgeRead}},
		{`mapfile readarray`, rule{whole: judgeMapfile}},
		{`unset`, rule{whole: judgeUnset}},
		{`getopts`, rule{whole: judgeGetopts}},
		{`history`, rule{whole: judgeHistory}},
		{`hash`, rule{class: ReadOnly, text: true, syntax: syntax{values: "p"}, stop: []string{"-p"}, only: []string{"-r", "-d", "-l", "-t"}, loose: true}},
		{`kill`, rule{whole: judgeKill}},
		{`declare typeset readonly local`, rule{class: Environment, why: "declares variables in ways that are not read here; write NAME=VALUE or export"}},
		{`alias unalias enable`, rule{class: Environment, why: "changes what a name means for the commands behind it"}},
		{`bind complete compgen compopt trap fc`, rule{class: External, why: "keeps a command for later"}},
		{`source .`, rule{class: External, why: "runs a file inside this shell, which can change everything behind it"}},
	}
}
