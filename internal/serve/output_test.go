package serve

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
)

func TestReadWindow(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	for name, text := range map[string]string{
		filepath.Join(dir, "text.txt"): "aäb€c𝄞d", filepath.Join(dir, "bytes.bin"): "\x00\xff\x01", filepath.Join(dir, "broken.txt"): "ok\xffno", outside: "secret",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	v := &view{facts: host.Facts{Path: filepath.Join(dir, "session.jsonl")}}
	text := func(path string) msp.OutputRef { return msp.OutputRef{ID: "o", Path: path, MediaType: "text/plain"} }
	tests := []struct {
		name           string
		ref            msp.OutputRef
		offset, length int64
		content        string // as bytes
		eof            bool
		refused        msp.ErrorKind
		aligned        int64 // beside a refusal
	}{
		{"all of a text", text("text.txt"), 0, 100, "aäb€c𝄞d", true, "", 0},
		{"the end", text("text.txt"), 13, 100, "", true, "", 0},
		{"cut in front of a character", text("text.txt"), 0, 5, "aäb", false, "", 0},
		{"cut behind a character", text("text.txt"), 0, 4, "aäb", false, "", 0},
		{"from a character on", text("text.txt"), 4, 4, "€c", false, "", 0},
		{"from inside a character of two", text("text.txt"), 2, 100, "", false, msp.ErrorKindInvalidParams, 3},
		{"from inside a character of four", text("text.txt"), 9, 100, "", false, msp.ErrorKindInvalidParams, 12},
		{"behind the end", text("text.txt"), 99, 1, "", false, msp.ErrorKindInvalidParams, 0},
		{"a text that is none", text("broken.txt"), 0, 100, "ok\uFFFDno", true, "", 0},
		{"by its absolute path", text(filepath.Join(dir, "text.txt")), 0, 1, "aäb", false, "", 0},
		{"bytes", msp.OutputRef{ID: "o", Path: "bytes.bin", MediaType: "application/octet-stream"}, 1, 2, "\xff\x01", true, "", 0},
		{"a file that is gone", text("gone.txt"), 0, 1, "", false, msp.ErrorKindOutputUnavailable, 0},
		{"a folder", text("folder"), 0, 1, "", false, msp.ErrorKindOutputUnavailable, 0},
		{"a file elsewhere", text(rel), 0, 1, "", false, msp.ErrorKindOutputUnavailable, 0},
		{"a file elsewhere by its absolute path", text(outside), 0, 1, "", false, msp.ErrorKindOutputUnavailable, 0},
		{"no file at all", text(""), 0, 1, "", false, msp.ErrorKindOutputUnavailable, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readWindow(v, "i", tt.ref, tt.offset, tt.length)
			if tt.refused != "" {
				e := msp.AsError(orNil(err))
				if e.Kind() != tt.refused || tt.aligned != 0 && (e.Data.AlignedNextOffset == nil || *e.Data.AlignedNextOffset != tt.aligned) {
					t.Errorf("refused with %+v", e)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			content := got.Content
			if got.Encoding == msp.ItemReadOutputEncodingBase64 {
				raw, err := base64.StdEncoding.DecodeString(content)
				if err != nil {
					t.Fatal(err)
				}
				content = string(raw)
			}
			if content != tt.content || got.Eof != tt.eof || got.OffsetBytes != tt.offset {
				t.Errorf("read %q of %+v, want %q, end %v", content, got, tt.content, tt.eof)
			}
		})
	}
}

// TestReadWindowGoesOn reads a long text in small windows and gets it whole.
func TestReadWindowGoesOn(t *testing.T) {
	dir := t.TempDir()
	want := strings.Repeat("größer als 𝄞€; ", 200)
	if err := os.WriteFile(filepath.Join(dir, "text.txt"), []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	v := &view{facts: host.Facts{Path: filepath.Join(dir, "session.jsonl")}}
	for _, length := range []int64{1, 4, 5, 6, 7, 64} {
		var got strings.Builder
		for offset := int64(0); ; {
			w, err := readWindow(v, "i", msp.OutputRef{ID: "o", Path: "text.txt", MediaType: "text/plain"}, offset, length)
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString(w.Content)
			if offset += w.ByteLen; w.Eof {
				break
			}
			if w.ByteLen == 0 {
				t.Fatalf("windows of %d bytes stand still at %d", length, offset)
			}
		}
		if got.String() != want {
			t.Errorf("windows of %d bytes give another text", length)
		}
	}
}
