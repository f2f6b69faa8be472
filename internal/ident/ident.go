// Package ident mints the identifiers that the log and the stream carry:
// random UUIDs (version 4) for runs and records, time-ordered ones (version 7)
// for sessions, tasks and tool calls.
package ident

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// V4 is a random UUID.
func V4() string {
	var b [16]byte
	read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return format(b)
}

var v7 struct {
	sync.Mutex
	last uint64 // millisecond and 12-bit counter of the newest id
}

// V7 is a time-ordered UUID: ids minted by one process sort in minting order,
// also within one millisecond.
func V7(now time.Time) string {
	var b [16]byte
	read(b[8:])
	stamp := uint64(now.UnixMilli()) << 12
	v7.Lock()
	if stamp <= v7.last {
		stamp = v7.last + 1
	}
	v7.last = stamp
	v7.Unlock()
	binary.BigEndian.PutUint64(b[:8], stamp>>12<<16|stamp&0x0fff|0x7000)
	b[8] = b[8]&0x3f | 0x80
	return format(b)
}

// Call is a tool call id for providers whose wire has none: "call_" and 32 hex
// digits of a version 7 UUID without dashes (STREAM.md, Ids).
func Call(now time.Time) string {
	id := V7(now)
	return "call_" + id[:8] + id[9:13] + id[14:18] + id[19:23] + id[24:]
}

// Span is a 16-digit hex span id.
func Span() string {
	var b [8]byte
	read(b[:])
	return hex.EncodeToString(b[:])
}

// Valid reports whether s has the 8-4-4-4-12 lower- or upper-case hex form.
func Valid(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// Time is the millisecond a version 7 UUID was minted at; ok is false for any
// other form.
func Time(id string) (t time.Time, ok bool) {
	if !Valid(id) || id[14] != '7' {
		return time.Time{}, false
	}
	raw, err := hex.DecodeString(id[:8] + id[9:13])
	if err != nil {
		return time.Time{}, false
	}
	var ms uint64
	for _, b := range raw {
		ms = ms<<8 | uint64(b)
	}
	return time.UnixMilli(int64(ms)), true
}

// read fills b from the system's random source, which never fails on the
// platforms Go supports (it crashes the program instead).
func read(b []byte) {
	if _, err := rand.Read(b); err != nil {
		panic("random source failed: " + err.Error())
	}
}

func format(b [16]byte) string {
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	s[8] = '-'
	hex.Encode(s[9:13], b[4:6])
	s[13] = '-'
	hex.Encode(s[14:18], b[6:8])
	s[18] = '-'
	hex.Encode(s[19:23], b[8:10])
	s[23] = '-'
	hex.Encode(s[24:], b[10:16])
	return string(s[:])
}
