package msp

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// The printed surface is a promise: a change of it is seen in a review.
func TestPrintedSurface(t *testing.T) {
	tests := []struct {
		file  string
		print func(bool) ([]byte, error)
	}{
		{"manifest.json", JSONManifest},
		{"msp.schema.json", JSONSchema},
		{"msp.d.ts", TypeScript},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			got, err := tt.print(false)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", tt.file)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))) {
				t.Errorf("%s differs from what is printed; run with -update and look at the difference", path)
			}
		})
	}
}

func TestExperimentalSurface(t *testing.T) {
	plain, err := JSONSchema(false)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := JSONSchema(true)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{`"task/list"`, `"TaskListEntry"`} {
		if bytes.Contains(plain, []byte(word)) || !bytes.Contains(whole, []byte(word)) {
			t.Errorf("%s must be in the experimental surface only", word)
		}
	}
	stable, err := Fingerprint(false)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := Fingerprint(true); err != nil || other == stable {
		t.Errorf("fingerprints %s and %s, %v", stable, other, err)
	}
}

func TestServedFingerprint(t *testing.T) {
	own, err := Fingerprint(false)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"conformance": PinnedFingerprint, "openmuse": PinnedFingerprint, "openmuse_test": own, "": PinnedFingerprint,
	} {
		if got, err := ServedFingerprint(ClientInfo{Name: name}); err != nil || got != want {
			t.Errorf("%q is served %s, %v; want %s", name, got, err, want)
		}
	}
}

func TestEverythingIsDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, m := range append(Methods(), ExperimentalMethods()...) {
		names[m.Name] = true
	}
	for _, n := range Notifications() {
		names[n.Name] = true
	}
	for _, r := range ServerRequests() {
		names[r.Name] = true
	}
	for name := range names {
		if description(name) == "" {
			t.Errorf("%s is not described", name)
		}
	}
	for name := range descriptions() {
		if !names[name] {
			t.Errorf("%s is described and is no name", name)
		}
	}
}
