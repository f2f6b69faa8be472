package parquet

import "encoding/binary"

// compact writes the Thrift compact protocol, as far as Parquet's headers and
// footer need it: structs of integers, strings, booleans, lists and structs.
type compact struct {
	buf  []byte
	last []int16 // the last field id of each open struct
}

// Types of the compact protocol.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeI32    = 5
	typeI64    = 6
	typeBinary = 8
	typeList   = 9
	typeStruct = 12
)

func (c *compact) begin() { c.last = append(c.last, 0) }

func (c *compact) end() {
	c.buf = append(c.buf, 0)
	c.last = c.last[:len(c.last)-1]
}

func (c *compact) field(id int16, kind byte) {
	last := &c.last[len(c.last)-1]
	if delta := id - *last; delta > 0 && delta < 16 {
		c.buf = append(c.buf, byte(delta)<<4|kind)
	} else {
		c.buf = append(c.buf, kind)
		c.buf = binary.AppendVarint(c.buf, int64(id))
	}
	*last = id
}

func (c *compact) i32(id int16, v int32) {
	c.field(id, typeI32)
	c.buf = binary.AppendVarint(c.buf, int64(v))
}

func (c *compact) i64(id int16, v int64) {
	c.field(id, typeI64)
	c.buf = binary.AppendVarint(c.buf, v)
}

func (c *compact) boolean(id int16, v bool) {
	if v {
		c.field(id, typeTrue)
	} else {
		c.field(id, typeFalse)
	}
}

func (c *compact) text(id int16, s string) {
	c.field(id, typeBinary)
	c.string(s)
}

func (c *compact) string(s string) {
	c.buf = binary.AppendUvarint(c.buf, uint64(len(s)))
	c.buf = append(c.buf, s...)
}

func (c *compact) structure(id int16, fill func()) {
	c.field(id, typeStruct)
	c.begin()
	fill()
	c.end()
}

func (c *compact) list(id int16, kind byte, n int) {
	c.field(id, typeList)
	if n < 15 {
		c.buf = append(c.buf, byte(n)<<4|kind)
		return
	}
	c.buf = append(c.buf, 0xf0|kind)
	c.buf = binary.AppendUvarint(c.buf, uint64(n))
}
