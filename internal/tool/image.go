package tool

import "bytes"

// maxImage is the largest picture that is attached. The strictest of the
// wires takes 5 MB in base64.
const maxImage = 3_750_000

// imageType tells the picture formats that models take by their first bytes;
// "" is anything else.
func imageType(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) >= 12 && bytes.HasPrefix(head, []byte("RIFF")) && string(head[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// binaryKind names common kinds of binary files, for the message.
func binaryKind(head []byte) string {
	for _, k := range []struct{ magic, name string }{
		{"\x7fELF", "ELF executable"}, {"MZ", "Windows executable"}, {"%PDF-", "PDF document"},
		{"PK\x03\x04", "ZIP archive"}, {"\x1f\x8b", "gzip data"}, {"\xfd7zXZ\x00", "xz data"},
		{"\x28\xb5\x2f\xfd", "Zstandard data"}, {"BZh", "bzip2 data"}, {"SQLite format 3\x00", "SQLite database"},
		{"\xca\xfe\xba\xbe", "Java class or Mach-O"}, {"\xcf\xfa\xed\xfe", "Mach-O executable"},
		{"\x00asm", "WebAssembly module"}, {"!<arch>\n", "object archive"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.name
		}
	}
	return "binary file"
}
