package ident

import (
	"crypto/sha256"
	"encoding/hex"
)

// Derived is a version 7 UUID made of another one: it has its time, and its
// other bits follow from it and purpose. The same input gives the same id in
// every process.
func Derived(id, purpose string) string {
	sum := sha256.Sum256([]byte(purpose + "\x00" + id))
	b := [16]byte(sum[:16])
	if Valid(id) && id[14] == '7' {
		stamp, err := hex.DecodeString(id[:8] + id[9:13])
		if err == nil {
			copy(b[:6], stamp)
		}
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return format(b)
}
