package shell

import "unicode/utf8"

// decodeANSI decodes the inside of $'...'. It reports false when the text
// holds a NUL, where bash would cut the string.
func decodeANSI(s string) (string, bool) {
	out := make([]byte, 0, len(s))
	clean := true
	put := func(c byte) {
		clean = clean && c != 0
		out = append(out, c)
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			put(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'a':
			put(7)
		case 'b':
			put(8)
		case 'e', 'E':
			put(0x1b)
		case 'f':
			put(12)
		case 'n':
			put('\n')
		case 'r':
			put('\r')
		case 't':
			put('\t')
		case 'v':
			put(11)
		case '\\', '\'', '"', '?':
			put(c)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n, used := digits(s[i:], 3, 8)
			put(byte(n))
			i += used - 1
		case 'x':
			n, used := digits(s[i+1:], 2, 16)
			if used == 0 {
				out = append(out, '\\', 'x')
				continue
			}
			put(byte(n))
			i += used
		case 'u', 'U':
			width := 4
			if c == 'U' {
				width = 8
			}
			n, used := digits(s[i+1:], width, 16)
			if used == 0 {
				out = append(out, '\\', c)
				continue
			}
			clean = clean && n != 0
			out = utf8.AppendRune(out, rune(n))
			i += used
		case 'c':
			if i+1 == len(s) {
				out = append(out, '\\', 'c')
				continue
			}
			i++
			if s[i] == '\\' && i+1 < len(s) && s[i+1] == '\\' {
				i++
			}
			put(s[i] & 0x1f)
		default:
			out = append(out, '\\', c)
		}
	}
	return string(out), clean
}

// digits reads up to width digits of a base from the front of s.
func digits(s string, width, base int) (value uint32, used int) {
	for used < width && used < len(s) {
		d := 99
		switch c := s[used]; {
		case c >= '0' && c <= '9':
			d = int(c - '0')
		case c >= 'a' && c <= 'f':
			d = int(c-'a') + 10
		case c >= 'A' && c <= 'F':
			d = int(c-'A') + 10
		}
		if d >= base {
			break
		}
		value = value*uint32(base) + uint32(d)
		used++
	}
	return value, used
}
