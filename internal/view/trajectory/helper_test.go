package trajectory

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/journal"
)

// logBytes is a log in memory, read as a real one is.
type logBytes []byte

func (b logBytes) Read(fn func(Line) error) (Facts, error) {
	r, err := journal.ReadEntries(bytes.NewReader(b), journal.ReadOptions{Verify: true}, func(e journal.Entry) error {
		return fn(Line{Line: e.Line, Err: e.Err, Number: e.Number, Offset: e.Offset, Size: e.Size, Ended: e.Ended})
	})
	return Facts{Bytes: r.Bytes, Lines: r.Lines, Digest: r.Digest}, err
}

var testVersion = Version{Display: "Muse Code 9.9.9 (test)", Semver: "9.9.9", SHA: "test"}

// export writes the document of log and checks that it is one JSON document.
func export(t *testing.T, log string, redact bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, logBytes(log), Options{Exporter: testVersion, Redact: redact}); err != nil {
		t.Fatal(err)
	}
	if !jsontext.Value(b.Bytes()).IsValid() || !strings.HasSuffix(b.String(), "\n") {
		t.Fatalf("no JSON document:\n%s", b.String())
	}
	var again bytes.Buffer
	if err := Write(&again, logBytes(log), Options{Exporter: testVersion, Redact: redact}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatal("a second export differs")
	}
	return b.String()
}
