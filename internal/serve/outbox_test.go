package serve

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// testRoom is how much waits in tests: little, so that they are quick.
const testRoom = 64 << 10

// valve is a client that reads when it is told to.
type valve struct {
	mu   sync.Mutex
	open *sync.Cond
	may  bool
	got  bytes.Buffer
}

func newValve() *valve {
	v := &valve{}
	v.open = sync.NewCond(&v.mu)
	return v
}

func (v *valve) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for !v.may {
		v.open.Wait()
	}
	return v.got.Write(p)
}

func (v *valve) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.may = true
	v.open.Broadcast()
}

func gapLine(session, after, next string) []byte {
	return fmt.Appendf(nil, "gap %s %s %s\n", session, after, next)
}

func viewEvent(n, size int, protected bool) viewFrame {
	data := fmt.Appendf(nil, "event %d %s\n", n, strings.Repeat("x", size))
	return viewFrame{session: "s", cursor: fmt.Sprint(n), data: data, protected: protected}
}

// heads are the lines of what was written, without their padding.
func heads(out string) []string {
	var lines []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if fields[0] == "event" {
			fields = fields[:2]
		}
		lines = append(lines, strings.Join(fields, " "))
	}
	return lines
}

func TestOutboxTellsOfTheHole(t *testing.T) {
	v := newValve()
	o := newOutbox(v, testRoom, gapLine)
	o.attach("s", "0")
	size := testRoom / 8
	for n := 1; n <= 30; n++ {
		o.view(viewEvent(n, size, false))
	}
	o.send([]byte("reply\n"))
	o.mu.Lock()
	waiting := o.bytes
	o.mu.Unlock()
	if waiting > testRoom+2*size {
		t.Errorf("%d bytes wait, more than the room of %d", waiting, testRoom)
	}
	v.release()
	if err := o.close(time.Minute); err != nil {
		t.Fatal(err)
	}
	got := heads(v.got.String())
	last := got[len(got)-2:]
	var sent int
	for _, line := range got {
		if strings.HasPrefix(line, "event ") && line != "event 30" {
			fmt.Sscanf(line, "event %d", &sent)
		}
	}
	if want := fmt.Sprintf("gap s %d 30", sent); last[0] != want || last[1] != "event 30" {
		t.Errorf("the hole is told by %q, want %q and event 30", last, want)
	}
	if !strings.Contains(strings.Join(got, "\n"), "reply") {
		t.Error("the reply was dropped")
	}
}

func TestOutboxNeverHoldsBackWhatIsProtected(t *testing.T) {
	v := newValve()
	o := newOutbox(v, testRoom, gapLine)
	o.attach("s", "0")
	size := testRoom / 4
	for n := 1; n <= 10; n++ {
		o.view(viewEvent(n, size, n == 9))
	}
	v.release()
	if err := o.close(time.Minute); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(heads(v.got.String()), "\n")
	if !strings.Contains(got, "9\nevent 9") || !strings.Contains(got, "gap s ") {
		t.Errorf("event 9 must follow the news of the hole before it:\n%s", got)
	}
}

func TestOutboxForgetsWhoLeft(t *testing.T) {
	var out bytes.Buffer
	o := newOutbox(&out, testRoom, gapLine)
	o.attach("s", "0")
	o.view(viewEvent(1, 0, false))
	o.detach("s")
	o.view(viewEvent(2, 0, false))
	if err := o.close(time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := heads(out.String()); len(got) != 1 || got[0] != "event 1" {
		t.Errorf("written %q, want event 1 alone", got)
	}
}

func TestOutboxStopsReadingBeforeRepliesPileUp(t *testing.T) {
	v := newValve()
	o := newOutbox(v, testRoom, gapLine)
	for range 5 {
		o.send(bytes.Repeat([]byte("r"), testRoom))
	}
	done := make(chan bool)
	go func() { done <- o.roomy(t.Context()) }()
	select {
	case <-done:
		t.Error("more requests are read although nobody takes the replies")
	case <-time.After(20 * time.Millisecond):
	}
	v.release()
	if !<-done {
		t.Error("the client reads again and is not served again")
	}
	if err := o.close(time.Minute); err != nil {
		t.Fatal(err)
	}
}

func TestOutboxClosesOnABrokenPipe(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	o := newOutbox(w, testRoom, gapLine)
	o.send([]byte("x\n"))
	if err := o.close(time.Minute); err == nil {
		t.Error("a pipe that nobody reads is no error")
	}
	if o.roomy(t.Context()) {
		t.Error("requests are read although no reply can be written")
	}
}

func TestOutboxDoesNotWaitForEver(t *testing.T) {
	v := newValve()
	o := newOutbox(v, testRoom, gapLine)
	o.send([]byte("x\n"))
	if err := o.close(time.Millisecond); err != errNotRead {
		t.Errorf("close says %v, want %v", err, errNotRead)
	}
	v.release()
	<-o.done
}
