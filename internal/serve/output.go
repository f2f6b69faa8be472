package serve

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/msp"
	fold "github.com/openmuse/muse/internal/view/session"
)

// outputWindow is the most bytes of an output that one answer holds.
const outputWindow = 6 << 20

// readOutput serves a window of an output that is kept beside the log.
func readOutput(k *call, p msp.ItemReadOutputParams) (msp.ItemReadOutputResult, error) {
	var none, out msp.ItemReadOutputResult
	offset, length := int64(0), int64(outputWindow)
	if p.OffsetBytes != nil {
		offset = *p.OffsetBytes
	}
	if p.LengthBytes != nil {
		length = *p.LengthBytes
	}
	switch {
	case offset < 0:
		return none, msp.InvalidParams("offsetBytes", "is below 0")
	case length < 1 || length > outputWindow:
		return none, msp.InvalidParams("lengthBytes", "is not between 1 and 6291456")
	}
	err := k.seeing(p.SessionID, func(v *view, _ bool) error {
		ref, err := k.outputRef(v, p)
		if err != nil {
			return err
		}
		out, err = readWindow(v, p.ItemID, ref, offset, length)
		return err
	})
	return out, err
}

// outputRef finds the output that an item names.
func (k *call) outputRef(v *view, p msp.ItemReadOutputParams) (msp.OutputRef, error) {
	var found *msp.OutputRef
	look := func(i msp.Item) {
		for _, ref := range append([]msp.OutputRef{deref(i.OutputRef), deref(i.PatchRef)}, i.ChildPromptRefs...) {
			if ref.ID != "" && (ref.ID == p.OutputRef || ref.URI == p.OutputRef) {
				found = &ref
			}
		}
	}
	shown := func(n fold.Kept) {
		if n.Item != p.ItemID {
			return
		}
		var shown struct {
			Item msp.Item `json:"item"`
		}
		if json.Unmarshal(n.Params, &shown) == nil { // we wrote it
			look(shown.Item)
		}
	}
	// Most outputs that are asked for belong to what was shown last.
	for _, n := range v.Newest() {
		shown(n)
	}
	var err error
	if found == nil && !v.Whole() {
		err = v.suffix(k.ctx, 0, shown)
	}
	if err == nil && found == nil {
		err = msp.OutputNotFound(p.SessionID, p.ItemID, p.OutputRef)
	}
	if err != nil {
		return msp.OutputRef{}, err
	}
	return *found, nil
}

func deref(r *msp.OutputRef) msp.OutputRef {
	if r == nil {
		return msp.OutputRef{}
	}
	return *r
}

// readWindow reads bytes of an output. It never leaves the session's
// directory, whatever a log says.
func readWindow(v *view, itemID string, ref msp.OutputRef, offset, length int64) (msp.ItemReadOutputResult, error) {
	var none msp.ItemReadOutputResult
	missing := msp.OutputUnavailable(itemID, ref.ID, msp.OutputRefAvailabilityMissing)
	if v.facts.Path == "" || ref.Path == "" {
		return none, missing
	}
	dir := filepath.Dir(v.facts.Path)
	name := ref.Path
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return none, missing
		}
		name = rel
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return none, missing
	}
	defer root.Close()
	f, err := root.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return none, missing
	case err != nil:
		return none, msp.OutputUnavailable(itemID, ref.ID, msp.OutputRefAvailabilityAccessFailed)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return none, msp.OutputUnavailable(itemID, ref.ID, msp.OutputRefAvailabilityAccessFailed)
	}
	size := info.Size()
	if offset > size {
		return none, msp.InvalidParams("offsetBytes", "lies behind the end")
	}
	media := ref.MediaType
	if media == "" {
		media = "text/plain; charset=utf-8"
	}
	text := strings.HasPrefix(media, "text/") || media == "application/json"
	if text {
		length = max(length, utf8.UTFMax) // a window that holds no character would stand still
	}
	data := make([]byte, min(length, size-offset))
	if _, err := io.ReadFull(io.NewSectionReader(f, offset, size-offset), data); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return none, msp.OutputUnavailable(itemID, ref.ID, msp.OutputRefAvailabilityAccessFailed)
	}
	out := msp.ItemReadOutputResult{MediaType: media, OffsetBytes: offset, Encoding: msp.ItemReadOutputEncodingBase64}
	if text {
		if skip := misaligned(data); skip > 0 && offset > 0 {
			return none, msp.MisalignedOffset(offset + int64(skip))
		}
		if cut := wholeCharacters(data); offset+int64(len(data)) < size && cut > 0 {
			data = data[:cut]
		}
		out.Encoding, out.Content = msp.ItemReadOutputEncodingUtf8, strings.ToValidUTF8(string(data), "\uFFFD")
	} else {
		out.Content = base64.StdEncoding.EncodeToString(data)
	}
	out.ByteLen = int64(len(data))
	out.Eof = offset+out.ByteLen >= size
	return out, nil
}

// misaligned is how many bytes of a character that began earlier data starts
// with.
func misaligned(data []byte) int {
	n := 0
	for n < len(data) && n < utf8.UTFMax && !utf8.RuneStart(data[n]) {
		n++
	}
	return n
}

// wholeCharacters is how much of data ends with a whole character.
func wholeCharacters(data []byte) int {
	for n := len(data); n > 0 && n > len(data)-utf8.UTFMax; n-- {
		if r, size := utf8.DecodeLastRune(data[:n]); r != utf8.RuneError || size > 1 {
			if n == len(data) || !utf8.FullRune(data[n:]) {
				return n
			}
			return len(data)
		}
	}
	return len(data)
}
