package timeline

// recent is a map that remembers the newest max keys, so that a log that names
// new ids on every line does not fill memory.
type recent[V any] struct {
	max  int
	m    map[string]V
	ring []string
	next int
}

func (r *recent[V]) get(key []byte) (V, bool) {
	v, ok := r.m[string(key)] // does not allocate
	return v, ok
}

func (r *recent[V]) put(key []byte, v V) {
	if _, ok := r.m[string(key)]; ok {
		r.m[string(key)] = v
		return
	}
	if r.m == nil {
		r.m = make(map[string]V)
	}
	k := string(key)
	if len(r.ring) < r.max {
		r.ring = append(r.ring, k)
	} else {
		delete(r.m, r.ring[r.next])
		r.ring[r.next] = k
		r.next = (r.next + 1) % r.max
	}
	r.m[k] = v
}
