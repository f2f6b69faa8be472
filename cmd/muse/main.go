// Command muse is an open-source coding agent in one static binary.
package main

import (
	"context"
	"os"

	"github.com/openmuse/muse/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.System()))
}
