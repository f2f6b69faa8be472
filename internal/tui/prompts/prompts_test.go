package prompts

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	f := Open(dir, true)
	if got, err := f.Read("/a"); err != nil || len(got) > 0 {
		t.Fatalf("an empty history: %v %v", got, err)
	}
	for _, e := range []Entry{{"one\ntwo", "/a", "s"}, {"other", "/b", "s"}, {"three", "/a", "s"}, {"one\ntwo", "/a", "s"}, {"  ", "/a", "s"}} {
		if err := f.Append(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Read("/a")
	if want := []string{"other", "three", "one\ntwo"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	data, err := os.ReadFile(filepath.Join(dir, "tui-history.jsonl"))
	if want := "\"one\\ntwo\"\n{\"project\":\"/a\",\"session\":\"s\"}\n"; err != nil || string(data[:len(want)]) != want {
		t.Errorf("the file begins with %q", data)
	}
}

// TestDamaged: what is broken is passed over, and a pair after it is whole.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tui-history.jsonl")
	if err := os.WriteFile(path, []byte("{\"project\":\"/a\"}\n\"alone\"\n\"kept\"\n{\"project\":\"/a\",\"session\":\"s\"}\nnoise\n\"cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Open(dir, true)
	if err := f.Append(context.Background(), Entry{"new", "/a", "s"}); err != nil {
		t.Fatal(err)
	}
	got, err := f.Read("/a")
	if want := []string{"kept", "new"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestKeepsNothing(t *testing.T) {
	dir := t.TempDir()
	if err := Open(dir, false).Append(context.Background(), Entry{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("there is %v, %v", files, err)
	}
}
