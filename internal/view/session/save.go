package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// savedVersion changes with every change of what a record says to viewers, of
// what a fold remembers and of the form below.
const savedVersion = 2

// savedMagic begins a saved view. After it come the CRC-32C of everything that
// follows, the fold as JSON, and the window entry by entry, each text with its
// length before it: the window is large, and reading it must cost no more than
// reading its bytes.
var savedMagic = fmt.Sprintf("openmuse view %d\n", savedVersion)

// saved is a fold as it is written down.
type saved struct {
	State state   `json:"state"`
	Gone  int64   `json:"gone,omitzero"`
	Kept  int     `json:"kept"` // entries that follow
	Log   imprint `json:"log,omitzero"`
}

// ErrSaved is returned for a saved fold that this build cannot go on from; the
// log has to be folded from its beginning.
var ErrSaved = errors.New("the saved view is of another build or damaged")

// sumTable is the polynomial of the checksum, which most processors know.
func sumTable() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Save writes down the view, so that a long log need not be folded again. The
// form is ours and may be thrown away at any time.
func (v *View) Save() ([]byte, error) { return v.save(imprint{}) }

func (v *View) save(log imprint) ([]byte, error) {
	f, window := v.fold, v.window()
	state, err := json.Marshal(saved{f.s, v.gone, len(window), log}, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("save the view of session %s: %w", f.s.Session, err)
	}
	out := make([]byte, 0, len(savedMagic)+len(state)+v.bytes+len(window)*160+64)
	out = append(out, savedMagic...)
	sum := len(out)
	out = append(out, 0, 0, 0, 0)
	out = appendText(out, state)
	for i := range window {
		k := &window[i]
		out = appendText(out, k.Method)
		out = appendText(out, k.Item)
		out = appendText(out, k.Kind)
		out = binary.AppendVarint(out, k.Revision)
		out = binary.AppendVarint(out, k.Number)
		out = binary.AppendVarint(out, k.At)
		out = appendText(out, k.Params)
	}
	binary.BigEndian.PutUint32(out[sum:], crc32.Checksum(out[sum+4:], sumTable()))
	return out, nil
}

func appendText[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// leastEntry is how many bytes an entry has at least, one for each member.
const leastEntry = 7

// unpack takes a saved view apart. The entries share the memory of data.
func unpack(data []byte) (in saved, kept []Kept, err error) {
	bad := func(what string) (saved, []Kept, error) { return saved{}, nil, fmt.Errorf("%w: %s", ErrSaved, what) }
	rest, ok := bytes.CutPrefix(data, []byte(savedMagic))
	if !ok || len(rest) < 4 {
		return bad("another form")
	}
	if crc32.Checksum(rest[4:], sumTable()) != binary.BigEndian.Uint32(rest) {
		return bad("the checksum is another one")
	}
	r := unpacker{rest: rest[4:]}
	if err := json.Unmarshal(r.text(), &in); err != nil {
		return saved{}, nil, fmt.Errorf("%w: %w", ErrSaved, err)
	}
	if in.Kept < 0 || in.Kept > len(r.rest)/leastEntry {
		return bad("more entries than there is room for")
	}
	kept = make([]Kept, in.Kept)
	for i := range kept {
		kept[i] = Kept{
			Method: string(r.text()), Item: string(r.text()), Kind: string(r.text()),
			Revision: r.number(), Number: r.number(), At: r.number(), Params: jsontext.Value(r.text()),
		}
	}
	if r.short || len(r.rest) > 0 {
		return bad("it has another length")
	}
	return in, kept, nil
}

// unpacker reads what appendText and AppendVarint wrote. short says that there
// was less than that.
type unpacker struct {
	rest  []byte
	short bool
}

func (r *unpacker) text() []byte {
	n, used := binary.Uvarint(r.rest)
	if used <= 0 || n > uint64(len(r.rest)-used) {
		r.short, r.rest = true, nil
		return nil
	}
	end := used + int(n)
	out := r.rest[used:end:end]
	r.rest = r.rest[end:]
	return out
}

func (r *unpacker) number() int64 {
	n, used := binary.Varint(r.rest)
	if used <= 0 {
		r.short, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[used:]
	return n
}

// Restore is a view as it was saved. Records after [Fold.Sequence] continue it.
// The view goes on using the memory of data.
func Restore(data []byte, limits Limits) (*View, error) {
	v, _, err := restore(data, limits)
	return v, err
}

func restore(data []byte, limits Limits) (*View, imprint, error) {
	in, kept, err := unpack(data)
	if err != nil {
		return nil, imprint{}, err
	}
	if in.State.Session == "" {
		return nil, imprint{}, fmt.Errorf("%w: it is of no session", ErrSaved)
	}
	v := &View{fold: in.fold(), limits: limits.orDefault(), gone: in.Gone, kept: kept}
	for i := range v.kept {
		v.bytes += len(v.kept[i].Params)
	}
	v.shrink()
	return v, in.Log, nil
}

func (in saved) fold() *Fold {
	f := New(in.State.Session)
	fresh := f.s
	f.s = in.State
	// Empty maps may come back as nil.
	if f.s.Intents == nil {
		f.s.Intents = fresh.Intents
	}
	if f.s.Calls == nil {
		f.s.Calls = fresh.Calls
	}
	if f.s.Tasks == nil {
		f.s.Tasks = fresh.Tasks
	}
	if f.s.Shells == nil {
		f.s.Shells = fresh.Shells
	}
	if f.s.BoundaryMark == nil {
		f.s.BoundaryMark = fresh.BoundaryMark
	}
	f.forgetLive()
	return f
}

// forgetLive drops what was on its way when the view was saved: whoever goes on
// has not shown it.
func (f *Fold) forgetLive() {
	f.s.Reply = nil
	f.s.Last, f.s.Sequence = f.s.Head, f.s.Record.Sequence
	quiet := func(o *open) {
		if o != nil {
			o.Item.VisibleOutput, o.Seen, o.Holed = nil, 0, false
		}
	}
	for _, c := range f.s.Calls {
		quiet(c.Open)
	}
	for _, o := range f.s.Shells {
		quiet(o)
	}
}
