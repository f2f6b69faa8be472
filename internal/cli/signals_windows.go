package cli

import (
	"os"
	"syscall"
)

func endSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// pipeSignals names a signal that never arrives on Windows, because naming none
// would mean all of them.
func pipeSignals() []os.Signal { return []os.Signal{syscall.SIGPIPE} }
