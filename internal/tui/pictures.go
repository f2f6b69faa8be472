package tui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/text"
)

// Picture is a picture that goes with a prompt.
type Picture struct {
	Name      string // for people: the last part of its path
	MediaType string
	Data      []byte
}

// attached is a picture in the draft: its mark stands in the text, is passed
// and removed as one character, and takes the picture with it.
type attached struct {
	Picture
	mark string
	path string // "" when it came from the clipboard
}

// outgoing is a prompt on its way.
type outgoing struct {
	words    string
	display  string // what people are shown in its place, "" for the words
	pictures []attached
}

// maxPictures is how many pictures one prompt takes.
const maxPictures = 20

// isPicture tells by its name whether a file may be a picture that models take.
func isPicture(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	}
	return false
}

// blind is why the model of the session cannot be given pictures, "" when it
// can.
func (u *ui) blind() string {
	if u.Picture == nil {
		return "pictures cannot be attached here"
	}
	st := u.view.fold.State()
	if u.Sees == nil || st.EffectiveModel == nil {
		return ""
	}
	provider := ""
	if p := st.EffectiveModel.ProviderID; p != nil {
		provider = *p
	}
	if u.Sees(provider, st.EffectiveModel.ModelID) {
		return ""
	}
	return "the model " + st.EffectiveModel.ModelID + " does not take pictures"
}

// attach puts a picture into the draft.
func (u *ui) attach(p Picture, path string) error {
	if len(u.inDraft()) >= maxPictures {
		return fmt.Errorf("a prompt takes %d pictures at most", maxPictures)
	}
	u.pictureCount++
	a := attached{Picture: p, path: path, mark: fmt.Sprintf("[picture %d: %s, %s]", u.pictureCount, oneLine(p.Name), bytesWord(len(p.Data)))}
	u.pictures = append(u.pictures, a)
	b := &u.draft
	if at := b.At(); at > 0 && !strings.ContainsAny(b.Raw()[at-1:at], " \n\t") {
		b.Insert(" ")
	}
	b.Chip(a.mark)
	b.Insert(" ")
	return nil
}

// inDraft are the pictures whose marks stand in the draft.
func (u *ui) inDraft() []attached {
	var out []attached
	for _, a := range u.pictures {
		if u.draft.Holds(a.mark) {
			out = append(out, a)
		}
	}
	return out
}

// putBack makes a prompt the draft again, with its pictures.
func (u *ui) putBack(o outgoing) {
	u.draft.Clear()
	u.draft.Set(o.words)
	u.pictures = slices.Clone(o.pictures)
	for _, a := range o.pictures {
		if !strings.Contains(o.words, a.mark) {
			u.draft.Insert(" ")
			u.draft.Chip(a.mark)
			continue
		}
		u.draft.Mark(a.mark)
	}
}

// pastedPictures attaches what was pasted when it is nothing but the paths of
// pictures, as a terminal pastes files that are dropped on it.
func (u *ui) pastedPictures(paste string) bool {
	paths := u.picturePaths(paste)
	if len(paths) == 0 || u.Picture == nil {
		return false
	}
	if why := u.blind(); why != "" {
		u.hint = why + ": the path is text"
		return false
	}
	var read []Picture
	for _, p := range paths {
		pic, err := u.Picture(p)
		if err != nil {
			u.hint = err.Error() + ": the path is text"
			return false
		}
		read = append(read, pic)
	}
	for i, pic := range read {
		if err := u.attach(pic, paths[i]); err != nil {
			u.hint = err.Error()
		}
	}
	return true
}

// picturePaths are the files that a paste names, nil when it is anything else.
func (u *ui) picturePaths(paste string) []string {
	paste = strings.TrimSpace(paste)
	if paste == "" || len(paste) > 64<<10 || !strings.Contains(paste, ".") {
		return nil
	}
	for _, words := range [][]string{{paste}, pathWords(paste)} {
		var out []string
		for _, w := range words {
			p, ok := u.pictureFile(w)
			if !ok {
				out = nil
				break
			}
			out = append(out, p)
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// pictureFile is the file that a word names, if it is one that may be a
// picture.
func (u *ui) pictureFile(word string) (string, bool) {
	if rest, ok := strings.CutPrefix(word, "file://"); ok {
		p, err := url.PathUnescape(rest)
		if err != nil {
			return "", false
		}
		word = p
		if runtime.GOOS == "windows" {
			word = strings.TrimPrefix(word, "/")
		}
	}
	if rest, ok := strings.CutPrefix(word, "~/"); ok && u.Home != "" {
		word = filepath.Join(u.Home, rest)
	}
	if word == "" || !isPicture(word) || strings.ContainsAny(word, "\x00\n\r") {
		return "", false
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(u.Workspace, word)
	}
	info, err := os.Stat(word)
	return word, err == nil && info.Mode().IsRegular()
}

// pathWords takes pasted words apart as a shell does: quotes hold words
// together, and so does a backslash where it is no part of paths.
func pathWords(s string) []string {
	var out []string
	var word strings.Builder
	inWord := false
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteByte(c)
			}
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == '\\' && runtime.GOOS != "windows" && i+1 < len(s):
			i++
			word.WriteByte(s[i])
			inWord = true
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			if inWord {
				out = append(out, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}

// completedPicture attaches the picture that a completion names; false leaves
// its name as text.
func (u *ui) completedPicture(name string) bool {
	if u.Picture == nil || !isPicture(name) {
		return false
	}
	if why := u.blind(); why != "" {
		u.hint = why + ": its name is text"
		return false
	}
	path := filepath.Join(u.Workspace, filepath.FromSlash(name))
	p, err := u.Picture(path)
	if err == nil {
		err = u.attach(p, path)
	}
	if err != nil {
		u.hint = err.Error()
		return false
	}
	return true
}

// namedPictures are the pictures of the workspace that words name with @ and
// that are not attached yet.
func (u *ui) namedPictures(words string) ([]attached, error) {
	if u.Picture == nil || !strings.Contains(words, "@") {
		return nil, nil
	}
	var out []attached
	for _, word := range atWords(words) {
		path, ok := u.pictureFile(word)
		if !ok || slices.ContainsFunc(out, func(a attached) bool { return a.path == path }) {
			continue
		}
		p, err := u.Picture(path)
		if err != nil {
			return nil, err
		}
		if out = append(out, attached{Picture: p, path: path, mark: "@" + word}); len(out) > maxPictures {
			return nil, fmt.Errorf("a prompt takes %d pictures at most", maxPictures)
		}
	}
	return out, nil
}

// atWords are the words of a text that begin with @, without it; quotes hold
// one together.
func atWords(s string) []string {
	var out []string
	for i := 0; i < len(s); i++ {
		if s[i] != '@' || i > 0 && !strings.ContainsRune(" \n\t(", rune(s[i-1])) {
			continue
		}
		rest := s[i+1:]
		if q, ok := strings.CutPrefix(rest, `"`); ok {
			if end := strings.IndexByte(q, '"'); end > 0 {
				out = append(out, q[:end])
			}
			continue
		}
		if end := strings.IndexAny(rest, " \n\t)"); end >= 0 {
			rest = rest[:end]
		}
		if rest != "" {
			out = append(out, strings.TrimRight(rest, ".,;:?!"))
		}
	}
	return out
}

// pastePicture attaches the picture on the clipboard.
func (u *ui) pastePicture() {
	if u.ClipboardPicture == nil {
		u.hint = "the clipboard cannot be read here; paste or name the path of a picture"
		return
	}
	if why := u.blind(); why != "" {
		u.hint = why
		return
	}
	if u.reading {
		return
	}
	u.reading = true
	beside(u, func(ctx context.Context) (Picture, error) { return u.ClipboardPicture(ctx) }, func(p Picture, err error) {
		u.reading = false
		if err == nil {
			err = u.attach(p, "")
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			u.hint = err.Error()
		}
	})
}

// images are pictures as the host takes them.
func images(pictures []attached) []host.Image {
	var out []host.Image
	for _, p := range pictures {
		out = append(out, host.Image{MediaType: p.MediaType, Data: p.Data})
	}
	return out
}

// inputParts is a prompt as a client of the session protocol sends it that has
// uploaded its pictures before, each under its hash (MSP.md 7.2).
func (o outgoing) inputParts() []msp.TurnInputPart {
	words := o.words
	parts := []msp.TurnInputPart{{Type: msp.TurnInputPartTypeText, Text: &words}}
	for _, p := range o.pictures {
		sum := sha256.Sum256(p.Data)
		id, mediaType := hex.EncodeToString(sum[:]), p.MediaType
		parts = append(parts, msp.TurnInputPart{Type: msp.TurnInputPartTypeImage, MediaType: &mediaType, UploadID: &id})
	}
	return parts
}

// bytesWord is a size for people.
func bytesWord(n int) string {
	switch {
	case n < 1000:
		return plural(n, "byte", "bytes")
	case n < 1_000_000:
		return fmt.Sprintf("%d KB", (n+999)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// firstPictures are the pictures that the UI was started with.
func (u *ui) firstPictures() []attached {
	if len(u.Images) == 0 {
		return nil
	}
	if why := u.blind(); why != "" {
		u.fault(errors.New(why + ": the prompt goes without"))
		return nil
	}
	var out []attached
	for _, p := range u.Images {
		u.pictureCount++
		out = append(out, attached{Picture: p, mark: fmt.Sprintf("[picture %d: %s]", u.pictureCount, oneLine(p.Name))})
	}
	return out
}

// waitingPictures puts the pictures that the UI was started with into the
// composer, where they wait for their prompt.
func (u *ui) waitingPictures() {
	for _, p := range u.Images {
		err := u.attach(p, "")
		if why := u.blind(); why != "" {
			u.say(text.Warn, why+": choose another with /model, or take the picture out")
		}
		if err != nil {
			u.fault(err)
		}
	}
	u.Images = nil
}
