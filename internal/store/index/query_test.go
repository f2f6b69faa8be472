package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQueries(t *testing.T) {
	root := t.TempDir()
	addSession(t, root, 1, "Fix the Übung", named("red-Fox"), onBranch("main"))
	addSession(t, root, 2, "write docs", named("blue-fox"), onBranch("dev"), in("/srv/docs"))
	three := addSession(t, root, 3, "fix 100% of a_b's tests")
	x := open(t, root)
	for name, tt := range map[string]struct {
		q    Query
		want []string
	}{
		"all":             {Query{}, []string{"fix 100% of a_b's tests", "write docs", "Fix the Übung"}},
		"workspace":       {Query{Workspace: "/srv/docs/"}, []string{"write docs"}},
		"unknown place":   {Query{Workspace: "/srv"}, nil},
		"after":           {Query{After: begin.Add(90 * time.Second)}, []string{"fix 100% of a_b's tests", "write docs"}},
		"a branch":        {Query{Branches: &Branches{AnyOf: []string{"dev"}}}, []string{"write docs"}},
		"branch or none":  {Query{Branches: &Branches{AnyOf: []string{"dev"}, None: true}}, []string{"fix 100% of a_b's tests", "write docs"}},
		"no branch":       {Query{Branches: &Branches{None: true}}, []string{"fix 100% of a_b's tests"}},
		"of no branches":  {Query{Branches: &Branches{}}, nil},
		"id":              {Query{IDs: &[]string{strings.ToUpper(three)}}, []string{"fix 100% of a_b's tests"}},
		"of no ids":       {Query{IDs: &[]string{}}, nil},
		"title":           {Query{Text: &Text{AnyOf: []string{"übung"}, Title: true}}, []string{"Fix the Übung"}},
		"not a pattern":   {Query{Text: &Text{AnyOf: []string{"0% of a_"}, Title: true}}, []string{"fix 100% of a_b's tests"}},
		"any":             {Query{Text: &Text{AnyOf: []string{"docs", "tests"}, Title: true, Name: true}}, []string{"fix 100% of a_b's tests", "write docs"}},
		"all terms":       {Query{Text: &Text{AllOf: []string{"fix", "fox"}, Title: true, Name: true}}, []string{"Fix the Übung"}},
		"name, not title": {Query{Text: &Text{AllOf: []string{"fix"}, Name: true}}, nil},
		"no field":        {Query{Text: &Text{AllOf: []string{"fix"}}}, nil},
		"no term":         {Query{Text: &Text{Name: true}}, []string{"fix 100% of a_b's tests", "write docs", "Fix the Übung"}},
		"name":            {Query{Name: "RED-fox"}, []string{"Fix the Übung"}},
		"named":           {Query{Named: true}, []string{"write docs", "Fix the Übung"}},
		"beginning of id": {Query{Prefix: three[:30]}, []string{"fix 100% of a_b's tests"}},
		"words":           {Query{Words: []string{"FIX", "proj"}}, []string{"fix 100% of a_b's tests", "Fix the Übung"}},
		"together":        {Query{Words: []string{"fix"}, Branches: &Branches{None: true}}, []string{"fix 100% of a_b's tests"}},
	} {
		t.Run(name, func(t *testing.T) { same(t, "titles", list(t, x, tt.q), tt.want) })
	}
}

// TestPages: pages of any size give each session once and in order, also when
// others are written to meanwhile.
func TestPages(t *testing.T) {
	root := t.TempDir()
	const n = 23
	var want []string
	for i := range n {
		addSession(t, root, i/2, fmt.Sprint("session ", i)) // some at the same time
		want = append(want, fmt.Sprint("session ", i))
	}
	x := open(t, root)
	all := list(t, x, Query{})
	slices.Sort(want)
	if sorted := slices.Sorted(slices.Values(all)); !slices.Equal(sorted, want) {
		t.Fatalf("listed %q", all)
	}
	for _, limit := range []int{1, 2, 7, 22, 23, 24} {
		var got []string
		q := Query{Limit: limit}
		for {
			page, err := x.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, titles(page)...)
			if page.Next == "" {
				break
			}
			q.Cursor = page.Next
			addSession(t, root, 100+len(got), "new") // goes before everything
		}
		got = slices.DeleteFunc(got, func(s string) bool { return s == "new" })
		same(t, fmt.Sprint("pages of ", limit), got, all)
		x = open(t, root)
	}
}

func TestAll(t *testing.T) {
	root := t.TempDir()
	for i := range MaxLimit + 7 {
		addSession(t, root, i, "x")
	}
	x := open(t, root)
	rows, err := x.All(t.Context(), Query{Wait: -1})
	if err != nil || len(rows) != MaxLimit+7 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
}

func TestLimits(t *testing.T) {
	root := t.TempDir()
	for i := range MaxLimit + 5 {
		addSession(t, root, i, "x")
	}
	x := open(t, root)
	for limit, want := range map[int]int{0: DefaultLimit, -1: DefaultLimit, 3: 3, 10000: MaxLimit} {
		if got := len(list(t, x, Query{Limit: limit})); got != want {
			t.Errorf("limit %d gives %d", limit, got)
		}
	}
}

func TestCursorsAreChecked(t *testing.T) {
	root := t.TempDir()
	addSession(t, root, 1, "one")
	addSession(t, root, 2, "two")
	x := open(t, root)
	page, err := x.List(t.Context(), Query{Limit: 1, Wait: -1})
	if err != nil || page.Next == "" {
		t.Fatal(page, err)
	}
	for name, q := range map[string]Query{
		"noise":      {Cursor: "xyz"},
		"bytes":      {Cursor: "sl1.AAAA"},
		"no base64":  {Cursor: "sl1.%%%"},
		"view":       {Cursor: "v:01a0f000-0000-7000-8000-000000000001:3"},
		"conditions": {Cursor: page.Next, Workspace: "/srv/proj"},
	} {
		if _, err := x.List(t.Context(), q); !errors.Is(err, ErrCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := x.List(t.Context(), Query{Limit: 7, Cursor: page.Next}); err != nil || len(p.Rows) != 1 {
		t.Errorf("another page size: %v, %v", p.Rows, err)
	}
}
