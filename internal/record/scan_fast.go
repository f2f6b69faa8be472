package record

// usual reads the fields of an envelope that is written as [Envelope.Append]
// writes it: the keys in order, no space, plain ASCII without escapes. Nearly
// every line is, and matching it costs a small part of finding out what else
// it could be. rest is what follows `"payload":`, with the line's closing
// brace. When ok is false the line may still be a good one.
func (v *View) usual(raw []byte) (rest []byte, ok bool) {
	c := cursor{b: raw, ok: true}
	c.literal(`{"schema_version":`)
	v.SchemaVersion = c.integer()
	c.literal(`,"id":"`)
	v.ID = c.text()
	c.literal(`,"stream":{"kind":"`)
	v.StreamKind = c.text()
	c.literal(`,"id":"`)
	v.StreamID = c.text()
	c.literal(`},"sequence":`)
	v.Sequence = c.integer()
	c.literal(`,"recorded_at":`)
	v.RecordedAt = c.integer()
	c.literal(`,"record_type":"`)
	v.RecordType = c.text()
	c.literal(`,"durability":"`)
	v.Durability = c.text()
	c.literal(`,"causation_id":`)
	if c.ok && len(c.b) > 0 && c.b[0] == '"' {
		c.b = c.b[1:]
		v.CausationID = c.text()
	} else {
		c.literal(`null`)
	}
	c.literal(`,"payload_type":"`)
	v.PayloadType = c.text()
	c.literal(`,"payload_schema_version":`)
	v.PayloadSchemaVersion = c.integer()
	c.literal(`,"payload":`)
	v.Kind = KindEnvelope
	n := len(c.b)
	return c.b, c.ok && n > 2 && c.b[0] == '{' && c.b[n-2] == '}' && c.b[n-1] == '}'
}

// cursor eats a line from the left; after the first mismatch ok stays false.
type cursor struct {
	b  []byte
	ok bool
}

func (c *cursor) literal(s string) {
	if len(c.b) < len(s) || string(c.b[:len(s)]) != s {
		c.ok = false
		return
	}
	c.b = c.b[len(s):]
}

// text takes the rest of a string whose opening quote is gone.
func (c *cursor) text() []byte {
	for i, b := range c.b {
		switch {
		case b == '"':
			s := c.b[:i:i]
			c.b = c.b[i+1:]
			return s
		case b < ' ' || b == '\\' || b >= 0x7f:
			c.ok = false
			return nil
		}
	}
	c.ok = false
	return nil
}

// integer takes a whole number as JSON allows it.
func (c *cursor) integer() int64 {
	i := 0
	for i < len(c.b) && (c.b[i] >= '0' && c.b[i] <= '9' || c.b[i] == '-') {
		i++
	}
	n, ok := parseInt(c.b[:i])
	if !ok || i > 1 && (c.b[0] == '0' || c.b[0] == '-' && c.b[1] == '0') {
		c.ok = false
		return 0
	}
	c.b = c.b[i:]
	return n
}
