//go:build unix && !linux

package repository

import "golang.org/x/sys/unix"

func stampOf(st *unix.Stat_t) stamp {
	return stamp{dev: uint64(st.Dev), ino: st.Ino, sec: int64(st.Ctim.Sec), nsec: int64(st.Ctim.Nsec)}
}
