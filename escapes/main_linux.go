package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case attemptVerb:
			os.Exit(attemptMain(os.Args[2]))
		case brokenVerb:
			os.Exit(brokenMain(os.Args[2], os.Args[3:]))
		}
	}
	var o options
	flag.StringVar(&o.adapter, "adapter", "", "program that runs a command in the sandbox (default: adapters/muse)")
	flag.StringVar(&o.base, "base", "", "directory for the run, not below /tmp (default: a new one in $HOME)")
	flag.StringVar(&o.only, "only", "", "only names that contain this")
	flag.StringVar(&o.muse, "muse", os.Getenv("MUSE"), "the muse binary for the second table and for adapters/muse")
	flag.StringVar(&o.launcher, "launcher", os.Getenv("LAUNCHER"), "auto, native or bubblewrap")
	flag.BoolVar(&o.control, "control", false, "there is no sandbox: the attempts that can work must work")
	flag.BoolVar(&o.list, "list", false, "print the tables and what each row is for")
	flag.Parse()
	if o.list {
		printTables()
		return
	}
	failed, err := o.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "escapes:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// options of a run.
type options struct {
	adapter, base, only, muse, launcher string
	control, list                       bool
}

func (o options) wants(name string) bool { return o.only == "" || strings.Contains(name, o.only) }

func printTables() {
	for _, a := range attempts() {
		fmt.Printf("%-26s %s\n", a.name, a.promise)
	}
	for _, c := range conditions() {
		fmt.Printf("%-26s fails closed: %s\n", c.name, c.row)
	}
}
