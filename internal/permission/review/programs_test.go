package review

import "testing"

func TestHarmlessAwk(t *testing.T) {
	for program, want := range map[string]bool{
		`{print $1}`:                                        true,
		`NR>=10 && NR<=20`:                                  true,
		`/foo|bar/ {c++} END {print c}`:                     true,
		`BEGIN{FS=":"; OFS="\t"} {$1=$1; print}`:            true,
		`function f(a) { return a/2 } { print f($1) }`:      true,
		`{ x = $1 / 2; y = $2 / 3; print x, y }`:            true,
		`{ print $1 ~ /a\/b/ ? "y" : "n" }`:                 true,
		`{ for (k in a) delete a[k]; while (i-- > 0) n++ }`: true,
		`{ if (x) /re/; print }`:                            true,
		"{ print a,\n b }":                                  true,
		`{ printf "%s > %s | system()\n", $1, $2 }`:         true,
		`/system\(/ { n++ }`:                                true,
		`{ print (a > b) }`:                                 true,
		`{ x = a > b; print x }`:                            true,
		`# system("id")` + "\n{print}":                      true,
		`{ a["x"] += length / 2 }`:                          true,
		`$1 == "a" || $2 == "b"`:                            true,
		`{ print > "f" }`:                                   false,
		`{ print $1, $2 > $3 }`:                             false,
		`{ print (a)(b) > "f" }`:                            false,
		"{ print a,\n b > \"f\" }":                          false,
		`{ printf("%s", a) >> "f" }`:                        false,
		`{ print | "sh" }`:                                  false,
		`{ "id" | getline x }`:                              false,
		`{ getline x < "f" }`:                               false,
		`BEGIN { system("id") }`:                            false,
		`BEGIN{x=1 / system("id") / 2}`:                     false,
		`BEGIN{x=a /system("id")/ 1}`:                       false,
		`BEGIN{x=f() /system("id")/ 1}`:                     false,
		`BEGIN{x=a[1] /system("id")/ 1}`:                    false,
		`BEGIN{x=a++ /system("id")/ 1}`:                     false,
		`BEGIN{x=length /system("id")/ 1}`:                  false,
		`{ print /[/]/, system("id") /x/ }`:                 false,
		`/[/]/ {print}`:                                     false, // awks disagree
		`@load "x"`:                                         false,
		`@include "x"`:                                      false,
		`BEGIN { f = "system"; @f("id") }`:                  false,
		`BEGIN { awk::system("id") }`:                       false,
		`BEGIN { print "a" |& "sh" }`:                       false,
		`{ print "open`:                                     false,
		`{ print /open }`:                                   false,
		`{ print `:                                          false,
		`} { print`:                                         false,
		"{ print \x01 }":                                    false,
		`{ switch (x) { case 1: print } }`:                  false,
	} {
		if got := harmlessAwk(program); got != want {
			t.Errorf("%q: harmless = %v", program, got)
		}
	}
}

func TestReadSed(t *testing.T) {
	for script, want := range map[string]bool{
		`s/a/b/`:                     true,
		`s/a/b/g;s|x|y|2p`:           true,
		`/a/,/b/d`:                   true,
		`1,5p;$!N`:                   true,
		`0~3p`:                       true,
		`/x/I,+2{s/a/b/;p}`:          true,
		`\,x,d`:                      true,
		`:a;N;$!ba;s/\n/ /g`:         true,
		`y/abc/xyz/`:                 true,
		`a text; e id`:               true, // text to the end of the line
		"i\\\nline; w x\n;p":         true,
		`s/[^\/]*$//`:                true,
		`s/[[:alpha:]/]//`:           false, // a slash between brackets
		`s/[/]/x/`:                   false,
		`s/[\\/]/x/`:                 false,
		`s/[\/]/x/`:                  true,
		`e id`:                       false,
		`1e`:                         false,
		`w out`:                      false,
		`W out`:                      false,
		`s/a/b/e`:                    false,
		`s/a/b/w out`:                false,
		`s/a/b/gpe`:                  false,
		`/x/w out`:                   false,
		`$!{p;w out` + "\n}":         false,
		`y/[/x/;e id`:                false,
		`y/a\/b/xyz/;w f`:            false,
		`s/a/b`:                      false,
		`s`:                          false,
		`v`:                          false,
		`}`:                          true, // sed refuses it itself
		`K`:                          false,
		`p p`:                        false,
		"s/a\nb/c/":                  false,
		`b end; e id`:                false,
		"bend\ne id":                 false,
		`t;e`:                        false,
		`r file` + "\n" + `w x`:      false,
		`#n` + "\n" + `e`:            false,
		`s/\(a\)\(b\)/\2\1/;x;G;h;D`: true,
		`l 5;q 3`:                    true,
	} {
		if _, got := readSed(script); got != want {
			t.Errorf("%q: understood and harmless = %v", script, got)
		}
	}
	if files, ok := readSed("r a b\nR c"); !ok || len(files) != 2 || files[0] != "a b" || files[1] != "c" {
		t.Errorf("files read: %q %v", files, ok)
	}
}

func FuzzReaders(f *testing.F) {
	f.Add("s/a/b/")
	f.Add("BEGIN{print 1/2/3}")
	f.Fuzz(func(t *testing.T, program string) {
		// Neither reader may panic or hang on any text.
		readSed(program)
		harmlessAwk(program)
	})
}

func TestMeans(t *testing.T) {
	for _, tt := range []struct {
		given, listed string
		want          bool
	}{
		{"--upload-pack", "--upload-pack", true},
		{"--upload-pa", "--upload-pack", true},
		{"--u", "--upload-pack", true},
		{"--", "--upload-pack", false},
		{"-u", "--upload-pack", false},
		{"--upload-packs", "--upload-pack", false},
		{"-x", "-x", true},
	} {
		if got := means(tt.given, tt.listed); got != tt.want {
			t.Errorf("means(%s, %s) = %v", tt.given, tt.listed, got)
		}
	}
}

// TestTable holds the table together: every row is found by its name, and no
// row says that a program both reads only and stops.
func TestTable(t *testing.T) {
	if len(Names()) < 700 {
		t.Errorf("only %d programs", len(Names()))
	}
	for name, r := range table() {
		if r.class == "" && r.whole == nil {
			t.Errorf("%s has no class", name)
		}
		if r.class.Stops() && r.why == "" {
			t.Errorf("%s stops without a reason", name)
		}
	}
}
