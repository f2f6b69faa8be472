package permission_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/openmuse/muse/internal/permission"
)

// anySpec draws what somebody may ask for, sensible or not.
func anySpec(t *rapid.T, label string) permission.GrantSpec {
	flag := func(name string) *bool {
		switch rapid.IntRange(0, 2).Draw(t, label+name) {
		case 0:
			return nil
		case 1:
			b := false
			return &b
		}
		b := true
		return &b
	}
	names := func(name string, from []string) []string {
		if rapid.Bool().Draw(t, label+name+" nil") {
			return nil
		}
		return rapid.SliceOfN(rapid.SampledFrom(from), 0, 4).Draw(t, label+name)
	}
	s := permission.GrantSpec{
		Sandboxed: flag("sandboxed"), Write: flag("write"), Shell: flag("shell"), Trusted: flag("trusted"),
		Escalate: flag("escalate"), Remember: flag("remember"), Unbounded: flag("unbounded"),
		Tools:   names("tools", []string{"bash", "read_file", "write_file", "mcp__a__b", ""}),
		Targets: names("targets", []string{"a:443:https", "b:80:http", "c:22:tcp"}),
		Masks:   names("masks", []string{"/a", "/b", "/c"}),
		Root:    rapid.SampledFrom([]string{"", "/w", "/w/ws", "/w/ws/sub", "/w/ws/../x", "/other", "/w/ws2"}).Draw(t, label+"root"),
	}
	if rapid.Bool().Draw(t, label+"has mode") {
		m := rapid.SampledFrom([]permission.Mode{permission.Untrusted, permission.OnRequest, permission.Never, permission.DenyUnmatched, "bogus"}).Draw(t, label+"mode")
		s.Mode = &m
	}
	if rapid.Bool().Draw(t, label+"has network") {
		n := rapid.SampledFrom([]permission.NetworkMode{permission.NetworkRestricted, permission.NetworkProxyOnly, permission.NetworkEnabled, "bogus"}).Draw(t, label+"network")
		s.Network = &n
	}
	return s
}

// can lists everything a grant allows, by asking it: the property must not lean
// on Within alone.
func can(g permission.Grant) map[string]bool {
	out := map[string]bool{
		"write": g.MayWrite(), "shell": g.AllowsShell(), "trusted": g.Trusted(), "escalate": g.MayEscalate(), "remember": g.MayRemember(),
		"unbounded": g.Unbounded(), "leave the sandbox": !g.Sandboxed(),
		"pass unasked":      g.Mode() == permission.Never,
		"pass project code": g.Mode() == permission.Never || g.Mode() == permission.OnRequest,
		"ask":               g.Mode() != permission.DenyUnmatched,
		"network":           g.Network() == permission.NetworkEnabled,
		"proxy":             g.Network() != permission.NetworkRestricted,
	}
	for _, t := range []string{"bash", "read_file", "write_file", "mcp__a__b", "another", ""} {
		out["tool "+t] = g.AllowsTool(t)
	}
	for _, t := range []string{"a:443:https", "b:80:http", "c:22:tcp"} {
		out["target "+t] = g.AllowsTarget(t)
	}
	for _, m := range []string{"/a", "/b", "/c"} {
		out["read "+m] = !slices.Contains(g.Masks(), m)
	}
	return out
}

// TestChildrenOnlyNarrow: over random parents, children and grandchildren no
// one has what its parent lacks.
func TestChildrenOnlyNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parent := permission.RootGrant(anySpec(t, "root "))
		for depth := range rapid.IntRange(1, 3).Draw(t, "depth") {
			want := anySpec(t, string(rune('a'+depth))+" ")
			child := parent.Narrow(want)
			if !child.Within(parent) {
				t.Fatalf("a child is not within its parent: %+v of %+v", child, parent)
			}
			has := can(parent)
			for what, yes := range can(child) {
				if yes && !has[what] {
					t.Fatalf("the child may %s, its parent may not", what)
				}
			}
			if child.MayEscalate() || child.MayRemember() {
				t.Fatal("a child may leave the sandbox or keep answers")
			}
			if again := child.Narrow(want); !again.Within(child) || !child.Within(again) {
				t.Fatal("narrowing twice by the same wish changes something")
			}
			parent = child
		}
	})
}

// TestSpecIsCopied: a caller that keeps its slices cannot widen a grant later.
func TestSpecIsCopied(t *testing.T) {
	tools := []string{"bash"}
	targets := []string{"a:443:https"}
	g := permission.RootGrant(permission.GrantSpec{Tools: tools, Targets: targets})
	tools[0], targets[0] = "write_file", "b:80:http"
	if g.AllowsTool("write_file") || !g.AllowsTool("bash") || g.AllowsTarget("b:80:http") {
		t.Error("the grant shares the caller's slices")
	}
	list, _ := g.Tools()
	list[0] = "write_file"
	if g.AllowsTool("write_file") {
		t.Error("the grant hands its own slice out")
	}
}

func TestZeroGrantDoesNothing(t *testing.T) {
	for what, yes := range can(permission.Grant{}) {
		if yes && what != "read /a" && what != "read /b" && what != "read /c" {
			t.Errorf("the zero grant may %s", what)
		}
	}
}
