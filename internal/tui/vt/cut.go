package vt

// Cut changes the size as terminals do that do not reflow: rows keep their
// places, what is beyond the right edge is gone, and a screen that becomes
// lower scrolls as far as its cursor needs.
func (t *Terminal) Cut(width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.tell()
	at := t.top + t.y
	for i := range t.rows {
		r := &t.rows[i]
		r.more = false
		if i < t.top || len(r.cells) <= width {
			continue // the scrollback keeps what it has
		}
		half := r.cells[width] == "" // of a wide character: half of it is none
		r.cells = r.cells[:width]
		if half && width > 0 {
			r.cells[width-1] = " "
		}
	}
	t.top = max(t.top, at-height+1)
	t.rows = t.rows[:min(len(t.rows), t.top+height)]
	t.width, t.height = width, height
	t.region = t.wholeRegion()
	t.y, t.x, t.wrapped = at-t.top, min(t.x, width-1), false
	t.grow()
}
