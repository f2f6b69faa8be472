package serve

import "sync"

// laneCapacity is how many requests for one session may wait. A client that
// sends more is told so and may send them again (-32031).
const laneCapacity = 1024

// lanes run the requests of each session in the order they came in, and those
// of different sessions side by side: a long answer for one session does not
// hold up an approval in another.
type lanes struct {
	// ready waits until the next request may be carried out. It reports false
	// when none will be any more: what waits is let go.
	ready   func() bool
	mu      sync.Mutex
	waiting map[string][]func()
	running sync.WaitGroup
}

func newLanes(ready func() bool) *lanes {
	return &lanes{ready: ready, waiting: map[string][]func(){}}
}

// do queues work for the lane of key, and reports false when it is full.
func (l *lanes) do(key string, work func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, busy := l.waiting[key]
	if len(queue) >= laneCapacity {
		return false
	}
	l.waiting[key] = append(queue, work)
	if !busy {
		l.running.Add(1)
		go l.run(key)
	}
	return true
}

// run works a lane off and ends with it: an idle session costs nothing.
func (l *lanes) run(key string) {
	defer l.running.Done()
	for {
		l.mu.Lock()
		queue := l.waiting[key]
		if len(queue) == 0 {
			delete(l.waiting, key)
			l.mu.Unlock()
			return
		}
		work := queue[0]
		queue[0] = nil
		l.waiting[key] = queue[1:]
		l.mu.Unlock()
		if l.ready() {
			work()
		}
	}
}

// wait waits until every lane is empty. Nothing may be queued meanwhile.
func (l *lanes) wait() { l.running.Wait() }
