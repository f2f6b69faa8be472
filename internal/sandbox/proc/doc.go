//go:build !linux

// Package proc asks the kernel about a process. Only Linux answers.
package proc
