// Package parquet writes a flat table as an Apache Parquet file, with what the
// timeline needs and no more: integers, times and UTF-8 text, dictionaries for
// columns that repeat, gzip. It exists because the general libraries cost more
// than the rest of a command line program to link and to start.
//
// The file is written front to back, one row group at a time; memory is bounded
// by the size of a group.
package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
)

// Kind is the type of a column.
type Kind int

// The types.
const (
	Int64  Kind = iota // required
	Micros             // µs since the epoch in UTC; may be null
	Text               // required
	Choice             // required text of few different values: kept as a dictionary
)

// Column is one column of the table.
type Column struct {
	Name string
	Kind Kind
}

// Limits of a row group and of a page.
const (
	groupBytes = 24 << 20
	groupRows  = 256 << 10
	pageBytes  = 1 << 20
	pageRows   = 20_000
	maxChoices = 4096 // a dictionary with more does not pay
)

// Writer writes one file.
type Writer struct {
	w       io.Writer
	offset  int64
	columns []*column
	rows    int64 // of the whole file
	inGroup int
	bytes   int // of the group's values
	groups  []group
	gz      *gzip.Writer
	out     bytes.Buffer
	err     error
}

type group struct {
	rows    int64
	bytes   int64 // uncompressed
	size    int64
	offset  int64
	columns []chunk
}

// chunk is what the footer says of a column of a group.
type chunk struct {
	dictionary, data   int64 // offsets; 0 is no dictionary
	uncompressed, size int64
	values             int64
	dictionaryEncoded  bool
	min, max           int64
	nulls              int64
	ranged             bool
}

// NewWriter starts a file.
func NewWriter(w io.Writer, columns []Column) (*Writer, error) {
	p := &Writer{w: w, gz: gzip.NewWriter(io.Discard)}
	gz, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("start compression: %w", err)
	}
	p.gz = gz
	for _, c := range columns {
		p.columns = append(p.columns, newColumn(c))
	}
	p.write([]byte("PAR1"))
	return p, p.err
}

func (p *Writer) write(b []byte) {
	if p.err != nil {
		return
	}
	n, err := p.w.Write(b)
	p.offset += int64(n)
	if err != nil {
		p.err = fmt.Errorf("write parquet file: %w", err)
	}
}

// Int adds a value to an Int64 or Micros column.
func (p *Writer) Int(column int, v int64) { p.columns[column].int(v) }

// Null adds a null to a Micros column.
func (p *Writer) Null(column int) { p.columns[column].null() }

// Text adds a value to a Text or Choice column; it must be valid UTF-8.
func (p *Writer) Text(column int, v []byte) {
	p.columns[column].text(v)
	p.bytes += len(v) + 4
}

// EndRow ends a row, for which every column must have had one value.
func (p *Writer) EndRow() error {
	p.rows++
	p.inGroup++
	p.bytes += 16
	if p.inGroup >= groupRows || p.bytes >= groupBytes {
		p.flushGroup()
	}
	return p.err
}

func (p *Writer) flushGroup() {
	if p.inGroup == 0 {
		return
	}
	g := group{rows: int64(p.inGroup), offset: p.offset}
	for _, c := range p.columns {
		ch := c.flush(p)
		g.bytes += ch.uncompressed
		g.size += ch.size
		g.columns = append(g.columns, ch)
	}
	p.groups = append(p.groups, g)
	p.inGroup, p.bytes = 0, 0
}

// Codes of the format.
const (
	pageData, pageDictionary                = 0, 2
	encodingPlain, encodingRLE, encodingRef = 0, 3, 8
	codecGzip                               = 2
	physicalInt64, physicalBytes            = 2, 6
	convertedUTF8, convertedMicros          = 0, 10
)

// page writes one page and returns its sizes with the header.
func (p *Writer) page(kind int32, body []byte, values int, encoding int32) (uncompressed, size int64) {
	p.out.Reset()
	p.gz.Reset(&p.out)
	if _, err := p.gz.Write(body); err != nil && p.err == nil {
		p.err = fmt.Errorf("compress page: %w", err)
	}
	if err := p.gz.Close(); err != nil && p.err == nil {
		p.err = fmt.Errorf("compress page: %w", err)
	}
	var h compact
	h.begin()
	h.i32(1, kind)
	h.i32(2, int32(len(body)))
	h.i32(3, int32(p.out.Len()))
	if kind == pageData {
		h.structure(5, func() {
			h.i32(1, int32(values))
			h.i32(2, encoding)
			h.i32(3, encodingRLE)
			h.i32(4, encodingRLE)
		})
	} else {
		h.structure(7, func() {
			h.i32(1, int32(values))
			h.i32(2, encoding)
		})
	}
	h.end()
	p.write(h.buf)
	p.write(p.out.Bytes())
	return int64(len(h.buf) + len(body)), int64(len(h.buf) + p.out.Len())
}

// Close writes the rest and the footer.
func (p *Writer) Close() error {
	p.flushGroup()
	footer := p.footer()
	p.write(footer)
	p.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	p.write([]byte("PAR1"))
	return p.err
}

func (p *Writer) footer() []byte {
	var f compact
	f.begin()
	f.i32(1, 1)
	f.list(2, typeStruct, len(p.columns)+1)
	f.begin()
	f.text(4, "timeline")
	f.i32(5, int32(len(p.columns)))
	f.end()
	for _, c := range p.columns {
		c.schema(&f)
	}
	f.i64(3, p.rows)
	f.list(4, typeStruct, len(p.groups))
	for i, g := range p.groups {
		p.groupMeta(&f, i, g)
	}
	f.text(6, "openmuse")
	f.list(7, typeStruct, len(p.columns)) // the order that min and max are of
	for range p.columns {
		f.begin()
		f.structure(1, func() {})
		f.end()
	}
	f.end()
	return f.buf
}

func (p *Writer) groupMeta(f *compact, ordinal int, g group) {
	f.begin()
	f.list(1, typeStruct, len(g.columns))
	for i, ch := range g.columns {
		c := p.columns[i]
		f.begin()
		f.i64(2, 0) // the meta data is here, not in the data
		f.structure(3, func() { c.meta(f, ch) })
		f.end()
	}
	f.i64(2, g.bytes)
	f.i64(3, g.rows)
	f.i64(5, g.offset)
	f.i64(6, g.size)
	f.end()
}
