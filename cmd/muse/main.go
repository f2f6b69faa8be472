// Command muse is an open-source coding agent in one static binary.
package main

import (
	"context"
	"os"

	"github.com/openmuse/muse/internal/cli"
	"github.com/openmuse/muse/internal/sandbox"
)

func main() {
	if code, ok := sandbox.MaybeHelper(os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.System()))
}
