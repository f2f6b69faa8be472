package biglog

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
)

// ReadArg is the argument under which the binary has to call [RunRead].
const ReadArg = "read-log"

// Reading is what reading a log took, without the start of the process.
type Reading struct {
	Bytes   int64         `json:"bytes"`
	Records int64         `json:"records"`
	Took    time.Duration `json:"took"`
}

// RunRead reads a log with the journal alone and says how long it took.
func RunRead(args []string, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("read-log takes a file, not %q", args)
	}
	start := time.Now()
	report, err := journal.Read(args[0], func(record.Line, int64) error { return nil })
	if err != nil {
		return err
	}
	if len(report.Diagnostics) > 0 {
		return fmt.Errorf("the log is not sound: %s", report.Diagnostics[0])
	}
	return json.NewEncoder(out).Encode(Reading{Bytes: report.Bytes, Records: report.Records, Took: time.Since(start)})
}
