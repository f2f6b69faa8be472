package egress

import (
	"encoding/binary"
	"io"
)

// TLS (RFC 8446, 4.1.2 and 5.1; RFC 6066, 3).
const (
	recordHandshake = 22
	maxRecord       = 1 << 14
	clientHello     = 1
	extensionName   = 0
	nameHost        = 0

	// maxHello bounds a client hello; with large post-quantum keys and tickets
	// one takes a few kilobytes.
	maxHello = 64 << 10
)

// readClientHello reads the records that hold a client hello. It returns the
// bytes as they came and the host name asked for, "" when there is none.
func readClientHello(r io.Reader) (raw []byte, name string, err error) {
	var message []byte
	for {
		var head [5]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, "", errNotTLS
		}
		size := int(binary.BigEndian.Uint16(head[3:]))
		if head[0] != recordHandshake || head[1] != 3 || size == 0 || size > maxRecord || len(raw)+size > maxHello {
			return nil, "", errNotTLS
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, "", errNotTLS
		}
		raw = append(append(raw, head[:]...), body...)
		message = append(message, body...)
		if message[0] != clientHello {
			return nil, "", errNotTLS
		}
		if len(message) < 4 {
			continue
		}
		length := int(message[1])<<16 | int(message[2])<<8 | int(message[3])
		if length > maxHello {
			return nil, "", errNotTLS
		}
		if len(message) < 4+length {
			continue
		}
		if len(message) > 4+length {
			return nil, "", errNotTLS // nothing may follow before the server speaks
		}
		name, ok := helloName(message[4:])
		if !ok {
			return nil, "", errNotTLS
		}
		return raw, name, nil
	}
}

// field is a part of a message; a part that is too short makes it bad.
type field struct {
	b   []byte
	bad bool
}

func (f *field) take(n int) []byte {
	if n > len(f.b) {
		f.bad, f.b = true, nil
		return make([]byte, n)
	}
	head := f.b[:n]
	f.b = f.b[n:]
	return head
}

func (f *field) skipVector(sizeBytes int) []byte {
	size := 0
	for _, c := range f.take(sizeBytes) {
		size = size<<8 | int(c)
	}
	if size > len(f.b) {
		f.bad, f.b = true, nil
		return nil
	}
	return f.take(size)
}

// helloName finds the server name in the body of a client hello. A second
// name extension, or a second name in it, is not well formed.
func helloName(body []byte) (name string, ok bool) {
	f := &field{b: body}
	f.take(2 + 32)  // version and random
	f.skipVector(1) // session
	f.skipVector(2) // cipher suites
	f.skipVector(1) // compression
	if f.bad {
		return "", false
	}
	if len(f.b) == 0 {
		return "", true // no extensions at all
	}
	list := &field{b: f.skipVector(2)}
	if f.bad || len(f.b) != 0 {
		return "", false
	}
	seen := false
	for len(list.b) > 0 {
		kind := binary.BigEndian.Uint16(list.take(2))
		data := list.skipVector(2)
		if list.bad {
			return "", false
		}
		if kind != extensionName {
			continue
		}
		if seen {
			return "", false
		}
		seen = true
		if name, ok = serverName(data); !ok {
			return "", false
		}
	}
	return name, true
}

func serverName(data []byte) (string, bool) {
	outer := &field{b: data}
	names := &field{b: outer.skipVector(2)}
	if outer.bad || len(outer.b) != 0 {
		return "", false
	}
	if names.take(1)[0] != nameHost {
		return "", false
	}
	name := names.skipVector(2)
	if names.bad || len(names.b) != 0 || len(name) == 0 {
		return "", false
	}
	return string(name), true
}
