//go:build !linux

package main

// fileSystem is not known here.
func fileSystem(string) string { return "unknown" }
