package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	reference "github.com/parquet-go/parquet-go"
)

type record struct {
	At     *int64 `parquet:"at,optional,timestamp(microsecond)"`
	Who    string `parquet:"who"`
	Text   string `parquet:"text"`
	Number int64  `parquet:"number"`
}

var columns = []Column{{"at", Micros}, {"who", Choice}, {"text", Text}, {"number", Int64}}

func encode(t *testing.T, records []record) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, columns)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.At != nil {
			w.Int(0, *r.At)
		} else {
			w.Null(0)
		}
		w.Text(1, []byte(r.Who))
		w.Text(2, []byte(r.Text))
		w.Int(3, r.Number)
		if err := w.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestOtherReader reads what was written with an independent implementation.
func TestOtherReader(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	tests := []struct {
		name    string
		rows    int
		choices int
		text    func(i int) string
		null    func(i int) bool
	}{
		{"empty", 0, 1, nil, nil},
		{"one", 1, 1, func(int) string { return "x" }, func(int) bool { return false }},
		{"all null", 100, 3, func(int) string { return "" }, func(int) bool { return true }},
		{"mixed", 50_003, 7, func(i int) string { return strings.Repeat("é\x00", i%50) }, func(i int) bool { return rng.IntN(3) == 0 }},
		{"many choices", 30_000, 20_000, func(i int) string { return fmt.Sprint(i) }, func(i int) bool { return i%1000 == 0 }},
		{"long runs", 70_000, 2, func(i int) string { return "t" }, func(i int) bool { return i > 30_000 }},
		{"several groups", 40_000, 300, func(i int) string { return strings.Repeat("long ", 400) }, func(i int) bool { return false }},
		{"giant value", 3, 2, func(i int) string { return strings.Repeat("g", 5<<20) }, func(i int) bool { return false }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want []record
			for i := range tt.rows {
				r := record{Who: fmt.Sprintf("who-%d", rng.IntN(tt.choices)), Text: tt.text(i), Number: int64(i) - 5}
				if tt.name == "long runs" {
					r.Who = fmt.Sprint(i / 10_000 % 2)
				}
				if !tt.null(i) {
					at := int64(1790845200000000 + i)
					r.At = &at
				}
				want = append(want, r)
			}
			data := encode(t, want)
			f, err := reference.OpenFile(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			if f.NumRows() != int64(tt.rows) {
				t.Fatalf("%d rows, want %d", f.NumRows(), tt.rows)
			}
			r := reference.NewGenericReader[record](f)
			defer r.Close()
			got := make([]record, 0, tt.rows)
			buf := make([]record, 1000)
			for {
				n, err := r.Read(buf)
				got = append(got, buf[:n]...)
				clear(buf)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if len(got) != len(want) {
				t.Fatalf("read %d rows, want %d", len(got), len(want))
			}
			for i := range want {
				g, w := got[i], want[i]
				same := g.Who == w.Who && g.Text == w.Text && g.Number == w.Number && (g.At == nil) == (w.At == nil)
				if !same || g.At != nil && *g.At != *w.At {
					t.Fatalf("row %d differs: %.80v", i, g)
				}
			}
		})
	}
}

type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestReportsWriteErrors(t *testing.T) {
	w, err := NewWriter(&failing{left: 10}, columns)
	if err != nil {
		t.Fatal(err)
	}
	w.Null(0)
	w.Text(1, nil)
	w.Text(2, nil)
	w.Int(3, 0)
	if err := w.EndRow(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Close: %v", err)
	}
}
