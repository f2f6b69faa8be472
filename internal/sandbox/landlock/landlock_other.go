//go:build !linux

// Package landlock is the second layer of the file boundary on Linux.
package landlock

// Version is 0: there is no Landlock here.
func Version() int { return 0 }
