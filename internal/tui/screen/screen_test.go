package screen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/tui/text"
	"github.com/openmuse/muse/internal/tui/vt"
)

// TestTerminalThatIsSmallerThanKnown draws a frame for a terminal that has just
// changed its size: what was printed stays, each line once.
func TestTerminalThatIsSmallerThanKnown(t *testing.T) {
	for _, resize := range []struct {
		name string
		to   func(v *vt.Terminal, width, height int)
	}{{"reflows", (*vt.Terminal).Resize}, {"cuts", (*vt.Terminal).Cut}} {
		for height := 4; height < 20; height++ {
			for printed := 1; printed < 20; printed++ {
				v := vt.New(40, 20)
				s := New(v, Theme{}, 40, 20)
				var lines []text.Line
				for n := range printed {
					lines = append(lines, text.Of(text.Plain, fmt.Sprintf("printed %02d", n)))
				}
				live := func(last string) []text.Line {
					return []text.Line{text.Of(text.Plain, "live 1"), text.Of(text.Plain, "live 2"), text.Of(text.Plain, "live 3"), text.Of(text.Plain, last)}
				}
				frame := func(print, live []text.Line) {
					t.Helper()
					if err := s.Frame(print, live); err != nil {
						t.Fatal(err)
					}
				}
				frame(lines, live("live 4"))
				resize.to(v, 40, height)
				frame(nil, live("other"))
				frame(nil, live("other")[:2])
				s.Resize(v.Size())
				frame([]text.Line{text.Of(text.Plain, "the end")}, nil)
				got := v.Text()
				for n := range printed {
					if c := strings.Count(got, fmt.Sprintf("printed %02d", n)); c != 1 {
						t.Fatalf("%s to %d rows: line %d of %d is there %d times:\n%s", resize.name, height, n, printed, c, got)
					}
				}
			}
		}
	}
}
