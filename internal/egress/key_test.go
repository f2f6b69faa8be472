package egress

import "testing"

func TestParseKey(t *testing.T) {
	tests := []struct{ in, want string }{
		{"example.org:443:https", "example.org:443:https"},
		{"EXAMPLE.org.:80:http", "example.org:80:http"},
		{"127.0.0.1:5432:tcp", "127.0.0.1:5432:tcp"},
		{"[::1]:80:http", "[::1]:80:http"},
		{"[0:0::1]:80:http", "[::1]:80:http"},
		{"[::ffff:127.0.0.1]:80:http", "127.0.0.1:80:http"},
		{"a_b-c.example:1:tcp", "a_b-c.example:1:tcp"},
		{"localhost:65535:tcp", "localhost:65535:tcp"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			k, err := ParseKey(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := k.String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			again, err := ParseKey(k.String())
			if err != nil || again != k {
				t.Errorf("reading %s again gives %v, %v", k, again, err)
			}
		})
	}
}

// What some program between here and the wire might read as another host, or
// as two, is no host.
func TestParseKeyRefuses(t *testing.T) {
	tests := map[string]string{
		"hexadecimal":        "0x7f.1:80:http",
		"one number":         "2130706433:80:http",
		"octal":              "0177.0.0.1:80:http",
		"short address":      "127.1:80:http",
		"last label digit":   "a.0x7f:80:http",
		"line end":           "a\r\nHost: b:80:http",
		"nul":                "a\x00.example.org:80:http",
		"space":              "a b:80:http",
		"user":               "user@example.org:80:http",
		"slash":              "example.org/x:80:http",
		"percent":            "example%2eorg:80:http",
		"zone":               "[fe80::1%eth0]:80:http",
		"letters beyond":     "exämple.org:80:http",
		"empty label":        "a..b:80:http",
		"only a dot":         ".:80:http",
		"two dots at end":    "a..:80:http",
		"leading dash":       "-a.example:80:http",
		"bare IPv6":          "::1:80:http",
		"bracketed name":     "[example.org]:80:http",
		"half bracket":       "[::1:80:http",
		"no host":            ":80:http",
		"no port":            "example.org:http",
		"port 0":             "example.org:0:http",
		"port too large":     "example.org:65536:http",
		"port with sign":     "example.org:+80:http",
		"port leading zero":  "example.org:080:http",
		"port in hex":        "example.org:0x50:http",
		"unknown protocol":   "example.org:80:gopher",
		"upper protocol":     "example.org:80:HTTP",
		"long label":         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.org:80:http",
		"nothing":            "",
		"backslash":          `example.org\.evil.org:80:http`,
		"full width numbers": "\uff11\uff12\uff17.0.0.1:80:http",
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			if k, err := ParseKey(in); err == nil {
				t.Errorf("%q was read as %s", in, k)
			}
		})
	}
}

func TestRule(t *testing.T) {
	tests := []struct {
		rule, key string
		want      bool
	}{
		{"example.org:443:https", "example.org:443:https", true},
		{"example.org:443:https", "example.org:443:tcp", false},
		{"example.org:443:https", "example.org:80:https", false},
		{"example.org:443:https", "www.example.org:443:https", false},
		{"*.example.org:443:https", "www.example.org:443:https", true},
		{"*.example.org:443:https", "a.b.example.org:443:https", true},
		{"*.example.org:443:https", "example.org:443:https", false},
		{"*.example.org:443:https", "evilexample.org:443:https", false},
		{"example.org:*:*", "example.org:22:tcp", true},
		{"10.0.0.1:*:tcp", "10.0.0.1:22:tcp", true},
		{"[::1]:80:http", "[::1]:80:http", true},
	}
	for _, tt := range tests {
		t.Run(tt.rule+" "+tt.key, func(t *testing.T) {
			r, err := ParseRule(tt.rule)
			if err != nil {
				t.Fatal(err)
			}
			k, err := ParseKey(tt.key)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Match(k); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	for _, bad := range []string{"*:443:https", "*.org:443:https", "a*.example.org:443:https", "example.org:443", "x"} {
		if _, err := ParseRule(bad); err == nil {
			t.Errorf("the rule %q was accepted", bad)
		}
	}
	if r, err := ParseDenyRule("*:25:*"); err != nil || !r.Match(Key{"mail.example.org", 25, TCP}) {
		t.Errorf("a deny rule for every host: %v, %v", r, err)
	}
}
