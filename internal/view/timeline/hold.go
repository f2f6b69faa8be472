package timeline

import "strings"

// held is a row that cannot go out yet, because a later record decides about
// it; the rows behind it wait with it, so that the order stays. Sound logs
// decide within a few lines.
type held struct {
	row    Row
	run    string // waits for the run's model
	intent string // a prompt that goes out only if its run never starts
	delta  string // reasoning that goes out only if it is never committed
	drop   bool   // decided against
}

func (h *held) waits() bool { return h.run != "" || h.intent != "" || h.delta != "" }

// send places a row of a run event with the run's model: the configured one,
// else the one its model calls name, else the session's (seed 000, Columns).
func (l *Log) send(ev *Event, row Row) {
	h := held{}
	row.Model = l.modelName()
	if len(ev.Run) > 0 {
		if m, ok := l.runModel.get(ev.Run); ok {
			row.Model = m
		} else if m, ok := l.doneModel.get(ev.Run); !ok {
			h.run = string(ev.Run)
		} else if m != "" {
			row.Model = m
		}
	}
	l.place(row, h)
}

// place emits a row, or puts it behind those that wait.
func (l *Log) place(row Row, h held) {
	if len(l.held) == 0 && !h.waits() {
		l.Emit(&row)
		return
	}
	h.row = row.Clone()
	l.held = append(l.held, h)
	l.heldSize += h.row.Text.size() + len(h.row.Raw)
	for len(l.held) > maxHeld || l.heldSize > maxHeldSize && len(l.held) > 0 {
		l.release(1)
	}
	l.flush()
}

// flush emits the decided rows at the front.
func (l *Log) flush() {
	n := 0
	for n < len(l.held) && !l.held[n].waits() {
		n++
	}
	l.release(n)
}

// release emits the first n rows as they are decided so far.
func (l *Log) release(n int) {
	for i := range l.held[:n] {
		h := &l.held[i]
		l.heldSize -= h.row.Text.size() + len(h.row.Raw)
		if h.delta != "" {
			h.row.Text = PlainText(l.forget(h.delta))
			h.drop = h.row.Text.IsEmpty()
		}
		if !h.drop {
			l.Emit(&h.row)
		}
	}
	l.held = append(l.held[:0], l.held[n:]...)
	if n > 0 && len(l.held) > 0 {
		l.flush()
	}
}

// settleModel decides the rows that wait for a run's model; "" leaves them the
// session's.
func (l *Log) settleModel(run []byte, model string) {
	if len(l.held) == 0 {
		return
	}
	for i := range l.held {
		if h := &l.held[i]; h.run != "" && h.run == string(run) {
			h.run = ""
			if model != "" {
				h.row.Model = model
			}
		}
	}
	l.flush()
}

// intent holds a copy of a prompt until its run starts (seed 000, coverage
// table: "use it for user text only if started is missing").
func (l *Log) intent(ev *Event) {
	if _, ok := l.started.get(ev.ID); ok || len(ev.ID) == 0 {
		return
	}
	row := l.row(ev, l.promptType())
	row.Model = l.modelName()
	if m, ok := l.runModel.get(ev.ID); ok {
		row.Model = m
	}
	l.place(row, held{intent: string(ev.ID)})
}

// settleIntent decides the prompt of a run: it goes out if the run ended, or
// the log did, without a start.
func (l *Log) settleIntent(run []byte, out bool) {
	if len(l.held) == 0 {
		return
	}
	for i := range l.held {
		if h := &l.held[i]; h.intent != "" && h.intent == string(run) {
			h.intent, h.drop = "", !out
		}
	}
	l.flush()
}

// thinking emits committed reasoning, and holds deltas until their message is
// committed; those of a log that was cut give one row, at the last delta, with
// the paragraphs joined (seed 000, coverage table).
func (l *Log) thinking(ev *Event) {
	if ev.Kind == Thinking {
		if string(ev.Name) == "summary" {
			l.settleThinking(ev.ID)
		}
		if !ev.Text.IsEmpty() {
			l.send(ev, l.row(ev, ThinkingRow))
		}
		return
	}
	id := string(ev.ID)
	if l.deltas == nil {
		l.deltas = make(map[string]*strings.Builder)
	}
	b := l.deltas[id]
	if b == nil {
		b = &strings.Builder{}
		l.deltas[id] = b
	}
	before := b.Len()
	if before > 0 && !ev.Text.IsEmpty() {
		b.WriteString("\n\n")
	}
	b.Write(ev.Text.Append(nil))
	l.heldSize += b.Len() - before
	for i := range l.held {
		if h := &l.held[i]; h.delta != "" && h.delta == id {
			h.delta, h.drop = "", true
		}
	}
	row := l.row(ev, ThinkingRow)
	row.Text = Text{} // joined when it is known that it goes out
	row.Model = l.modelName()
	if m, ok := l.runModel.get(ev.Run); ok {
		row.Model = m
	}
	l.place(row, held{delta: id})
}

// forget is the joined text of a message's deltas, which is no longer held.
func (l *Log) forget(id string) string {
	b := l.deltas[id]
	if b == nil {
		return ""
	}
	delete(l.deltas, id)
	l.heldSize -= b.Len()
	return b.String()
}

// settleThinking decides the deltas of a message: they are dropped, because
// the committed text follows. A nil id means that a run ended: what was not
// committed by then never will be.
func (l *Log) settleThinking(id []byte) {
	if id != nil {
		l.forget(string(id))
	}
	if len(l.held) == 0 {
		return
	}
	for i := range l.held {
		h := &l.held[i]
		switch {
		case h.delta == "":
		case id == nil:
			h.row.Text = PlainText(l.forget(h.delta))
			l.heldSize += h.row.Text.size()
			h.delta, h.drop = "", h.row.Text.IsEmpty()
		case h.delta == string(id):
			h.delta, h.drop = "", true
		}
	}
	l.flush()
}
