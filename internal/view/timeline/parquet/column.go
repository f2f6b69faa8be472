package parquet

import (
	"encoding/binary"
	"math/bits"
)

// column gathers the values of one group.
type column struct {
	Column
	plain  []byte  // values one after another
	ends   []int   // where each value ends in plain, for cutting pages
	refs   []int32 // Choice: the index of each value in the dictionary
	index  map[string]int32
	words  []byte // the dictionary's values
	levels []bool // Micros: whether each row has a value
	rows   int

	min, max int64
	some     bool
	nulls    int64
}

func newColumn(c Column) *column {
	col := &column{Column: c}
	col.reset()
	return col
}

func (c *column) reset() {
	c.plain, c.ends, c.refs, c.words, c.levels = c.plain[:0], c.ends[:0], c.refs[:0], c.words[:0], c.levels[:0]
	c.rows, c.some, c.nulls = 0, false, 0
	if c.Kind == Choice {
		c.index = make(map[string]int32)
	}
	if cap(c.plain) > 4*groupBytes { // one giant value must not stay
		c.plain = nil
	}
}

func (c *column) int(v int64) {
	c.plain = binary.LittleEndian.AppendUint64(c.plain, uint64(v))
	c.ends = append(c.ends, len(c.plain))
	c.rows++
	if c.Kind == Micros {
		c.levels = append(c.levels, true)
	}
	if !c.some || v < c.min {
		c.min = v
	}
	if !c.some || v > c.max {
		c.max = v
	}
	c.some = true
}

func (c *column) null() {
	c.levels = append(c.levels, false)
	c.ends = append(c.ends, len(c.plain))
	c.rows++
	c.nulls++
}

func (c *column) text(v []byte) {
	c.rows++
	if c.index != nil {
		if i, ok := c.index[string(v)]; ok {
			c.refs = append(c.refs, i)
			return
		}
		if len(c.index) < maxChoices {
			i := int32(len(c.index))
			c.index[string(v)] = i
			c.words = appendText(c.words, v)
			c.refs = append(c.refs, i)
			return
		}
		c.giveUp()
	}
	c.plain = appendText(c.plain, v)
	c.ends = append(c.ends, len(c.plain))
}

// giveUp turns a column with too many different values into plain text.
func (c *column) giveUp() {
	var values [][]byte
	for w := c.words; len(w) > 0; {
		n := 4 + int(binary.LittleEndian.Uint32(w))
		values = append(values, w[:n])
		w = w[n:]
	}
	for _, ref := range c.refs {
		c.plain = append(c.plain, values[ref]...)
		c.ends = append(c.ends, len(c.plain))
	}
	c.refs, c.words, c.index = c.refs[:0], c.words[:0], nil
}

func appendText(dst, v []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)))
	return append(dst, v...)
}

// flush writes the column's pages and starts the next group.
func (c *column) flush(p *Writer) chunk {
	ch := chunk{values: int64(c.rows), min: c.min, max: c.max, nulls: c.nulls, ranged: c.some && c.Kind != Text}
	add := func(u, s int64) { ch.uncompressed, ch.size = ch.uncompressed+u, ch.size+s }
	if c.index != nil {
		ch.dictionaryEncoded = true
		ch.dictionary = p.offset
		add(p.page(pageDictionary, c.words, len(c.index), encodingPlain))
		ch.data = p.offset
		width := max(1, bits.Len(uint(len(c.index)-1)))
		for from := 0; from < len(c.refs); from += pageRows {
			part := c.refs[from:min(from+pageRows, len(c.refs))]
			add(p.page(pageData, append([]byte{byte(width)}, packed(part, width)...), len(part), encodingRef))
		}
	} else {
		ch.data = p.offset
		for from := 0; from < len(c.ends); {
			to := c.pageEnd(from)
			add(p.page(pageData, c.body(from, to), to-from, encodingPlain))
			from = to
		}
	}
	c.reset()
	return ch
}

// pageEnd is where the page that starts at row from ends: at least one row on.
func (c *column) pageEnd(from int) int {
	start := 0
	if from > 0 {
		start = c.ends[from-1]
	}
	to := from + 1
	for to < len(c.ends) && to-from < pageRows && c.ends[to]-start <= pageBytes {
		to++
	}
	return to
}

// body is the data of a page: for a column with nulls the levels come first.
func (c *column) body(from, to int) []byte {
	start := 0
	if from > 0 {
		start = c.ends[from-1]
	}
	values := c.plain[start:c.ends[to-1]]
	if c.Kind != Micros {
		return values
	}
	levels := runs(c.levels[from:to])
	body := binary.LittleEndian.AppendUint32(nil, uint32(len(levels)))
	return append(append(body, levels...), values...)
}

// runs encodes levels of one bit as runs of equal ones.
func runs(levels []bool) []byte {
	var b []byte
	for len(levels) > 0 {
		n := 1
		for n < len(levels) && levels[n] == levels[0] {
			n++
		}
		b = binary.AppendUvarint(b, uint64(n)<<1)
		if levels[0] {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
		levels = levels[n:]
	}
	return b
}

// packed encodes indexes of a dictionary: equal ones in a row as a run, else
// groups of eight packed by bits, the lowest first.
func packed(refs []int32, width int) []byte {
	var b []byte
	for len(refs) > 0 {
		n := 1
		for n < len(refs) && refs[n] == refs[0] {
			n++
		}
		if n >= 8 || n == len(refs) {
			b = binary.AppendUvarint(b, uint64(n)<<1)
			for i := 0; i < width; i += 8 {
				b = append(b, byte(uint32(refs[0])>>i))
			}
			refs = refs[n:]
			continue
		}
		// Take groups of eight until a long run starts at their border.
		groups := 1
		for groups*8 < len(refs) && !longRun(refs[groups*8:]) {
			groups++
		}
		take := min(groups*8, len(refs))
		b = binary.AppendUvarint(b, uint64(groups)<<1|1)
		var acc uint64
		filled := 0
		for i := range groups * 8 {
			if i < take {
				acc |= uint64(uint32(refs[i])) << filled
			}
			for filled += width; filled >= 8; filled -= 8 {
				b = append(b, byte(acc))
				acc >>= 8
			}
		}
		refs = refs[take:]
	}
	return b
}

func longRun(refs []int32) bool {
	if len(refs) < 8 {
		return false
	}
	for _, r := range refs[1:8] {
		if r != refs[0] {
			return false
		}
	}
	return true
}

func (c *column) schema(f *compact) {
	f.begin()
	switch c.Kind {
	case Int64:
		f.i32(1, physicalInt64)
		f.i32(3, 0)
		f.text(4, c.Name)
	case Micros:
		f.i32(1, physicalInt64)
		f.i32(3, 1)
		f.text(4, c.Name)
		f.i32(6, convertedMicros)
		f.structure(10, func() {
			f.structure(8, func() {
				f.boolean(1, true)
				f.structure(2, func() { f.structure(2, func() {}) })
			})
		})
	default:
		f.i32(1, physicalBytes)
		f.i32(3, 0)
		f.text(4, c.Name)
		f.i32(6, convertedUTF8)
		f.structure(10, func() { f.structure(1, func() {}) })
	}
	f.end()
}

func (c *column) meta(f *compact, ch chunk) {
	physical := int32(physicalBytes)
	if c.Kind == Int64 || c.Kind == Micros {
		physical = physicalInt64
	}
	f.i32(1, physical)
	encodings := []int64{encodingPlain, encodingRLE}
	if ch.dictionaryEncoded {
		encodings = append(encodings, encodingRef)
	}
	f.list(2, typeI32, len(encodings))
	for _, e := range encodings {
		f.buf = binary.AppendVarint(f.buf, e)
	}
	f.list(3, typeBinary, 1)
	f.string(c.Name)
	f.i32(4, codecGzip)
	f.i64(5, ch.values)
	f.i64(6, ch.uncompressed)
	f.i64(7, ch.size)
	f.i64(9, ch.data)
	if ch.dictionaryEncoded {
		f.i64(11, ch.dictionary)
	}
	if ch.ranged {
		f.structure(12, func() {
			f.i64(3, ch.nulls)
			f.text(5, string(binary.LittleEndian.AppendUint64(nil, uint64(ch.max))))
			f.text(6, string(binary.LittleEndian.AppendUint64(nil, uint64(ch.min))))
		})
	}
}
