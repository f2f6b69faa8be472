package repository

import "golang.org/x/sys/unix"

func stampOf(st *unix.Stat_t) stamp {
	return stamp{dev: st.Dev, ino: st.Ino, sec: st.Ctim.Sec, nsec: st.Ctim.Nsec}
}
