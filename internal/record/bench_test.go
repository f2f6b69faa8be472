package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func benchLines(b *testing.B) ([][]byte, int64) {
	data, err := os.ReadFile(filepath.Join("testdata", "session.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	// The frame is one line of a log; here it would be a third of the bytes.
	_, data, _ = bytes.Cut(data, []byte("\n"))
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")), int64(len(data))
}

func BenchmarkParseLine(b *testing.B) {
	lines, size := benchLines(b)
	var p Parser
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range lines {
			if _, err := p.ParseLine(l); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkScan(b *testing.B) {
	lines, size := benchLines(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range lines {
			if _, err := Scan(l); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	lines, size := benchLines(b)
	var p Parser
	var parsed []Line
	for _, l := range lines {
		line, err := p.ParseLine(l)
		if err != nil {
			b.Fatal(err)
		}
		parsed = append(parsed, line)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		for _, l := range parsed {
			buf = l.Append(buf[:0])
		}
	}
}
