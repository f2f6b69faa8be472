package tool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// encoding is how a text file spells its characters. Only what a byte order
// mark announces is told apart from UTF-8; bytes that are no UTF-8 are left
// alone.
type encoding int

const (
	plainText encoding = iota // UTF-8, or anything else without zero bytes
	utf8BOM
	utf16LE
	utf16BE
)

// errBinary says that a file is not text.
var errBinary = errors.New("binary file")

// sniffLen is how much of a file is looked at to tell text from binary.
const sniffLen = 8 << 10

// encodingOf looks at the beginning of a file. ok is false for binary files.
func encodingOf(head []byte) (enc encoding, ok bool) {
	switch {
	case bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")):
		enc = utf8BOM
	case bytes.HasPrefix(head, []byte("\xFF\xFE\x00\x00")): // UTF-32
		return plainText, false
	case bytes.HasPrefix(head, []byte("\xFF\xFE")):
		return utf16LE, true
	case bytes.HasPrefix(head, []byte("\xFE\xFF")):
		return utf16BE, true
	}
	return enc, bytes.IndexByte(head, 0) < 0
}

// decodeText returns a file's text without its byte order mark.
func decodeText(data []byte) (string, encoding, error) {
	enc, ok := encodingOf(data[:min(len(data), sniffLen)])
	if !ok {
		return "", enc, errBinary
	}
	switch enc {
	case plainText:
		return string(data), enc, nil
	case utf8BOM:
		return string(data[3:]), enc, nil
	}
	order := enc.order()
	if len(data)%2 != 0 {
		return "", enc, errBinary
	}
	units := make([]uint16, 0, len(data)/2-1)
	for i := 2; i < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return string(utf16.Decode(units)), enc, nil
}

// encodeText is the inverse of decodeText.
func encodeText(text string, enc encoding) []byte {
	switch enc {
	case plainText:
		return []byte(text)
	case utf8BOM:
		return append([]byte("\xEF\xBB\xBF"), text...)
	}
	order := enc.order()
	units := utf16.Encode([]rune(text))
	out := order.AppendUint16(make([]byte, 0, 2*len(units)+2), 0xFEFF)
	for _, u := range units {
		out = order.AppendUint16(out, u)
	}
	return out
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func (e encoding) order() byteOrder {
	if e == utf16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
