package keymap

import (
	"strings"
	"testing"
)

func TestDefaults(t *testing.T) {
	m, faults := New(nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got := m.Action("ctrl+c"); got != Interrupt {
		t.Errorf("ctrl+c is %q", got)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		changes map[string][]string
		want    string
	}{
		{map[string][]string{"app.fly": {"ctrl+x"}}, `no action "app.fly"`},
		{map[string][]string{"app.details": {"f5"}}, "no key that can be bound"},
		{map[string][]string{"app.details": {"hyper+x"}}, `no modifier "hyper"`},
		{map[string][]string{"app.details": {"x"}}, "types a character"},
		{map[string][]string{"app.details": {"ctrl+q"}, "app.editor": {"control+Q"}}, "ctrl+q is bound twice, to app.editor and app.details"},
		{map[string][]string{"app.details": {"ctrl+w"}}, "ctrl+w is bound to app.details, and editor.kill_word has it too"},
		{map[string][]string{"app.interrupt": {}, "app.quit": {}}, "ctrl+c interrupts"},
	} {
		m, faults := New(c.changes)
		if len(faults) != 1 || !strings.Contains(faults[0].Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.changes, faults, c.want)
		}
		if m.Action("enter") != Submit {
			t.Errorf("%v: the rest of the map is gone", c.changes)
		}
	}
}

func TestChanges(t *testing.T) {
	m, faults := New(map[string][]string{"app.details": {"Alt+O", "ctrl+shift+pageup"}, "editor.transpose": {}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for key, want := range map[string]Action{"alt+o": Details, "ctrl+shift+pgup": Details, "ctrl+o": "", "ctrl+t": ""} {
		if got := m.Action(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}
