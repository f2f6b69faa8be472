package tui

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/tui/prompts"
	"github.com/openmuse/muse/internal/tui/term"
)

// withPictures gives the bench a workspace with pictures and a model that sees
// or does not.
func withPictures(t *testing.T, sees bool) (*bench, string) {
	t.Helper()
	b := newBench(t, 80, 24)
	ws := t.TempDir()
	for _, name := range []string{"shot.png", "two words.jpg", "broken.gif"} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte("data of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.u.Workspace = ws
	b.u.Picture = func(path string) (Picture, error) {
		data, err := os.ReadFile(path)
		if err == nil && strings.HasPrefix(filepath.Base(path), "broken") {
			err = errors.New("broken.gif holds no picture")
		}
		return Picture{filepath.Base(path), "image/png", data}, err
	}
	b.u.Sees = func(_, model string) bool { return model == "sees" }
	model := "blind"
	if sees {
		model = "sees"
	}
	b.happens("", event.Metadata{ModelID: model, ProviderID: "p", WorkspaceRoot: ws})
	return b, ws
}

func (b *bench) paste(s string) {
	b.u.input(term.Paste{Text: s})
	b.draw()
}

// TestPastedPaths: what a terminal pastes when files are dropped on it becomes
// a chip, and anything else stays text.
func TestPastedPaths(t *testing.T) {
	b, ws := withPictures(t, true)
	rows := []struct {
		paste string
		names string // attached, with spaces between; "" for none
	}{
		{ws + "/shot.png", "shot.png"},
		{ws + "/shot.png ", "shot.png"},
		{"'" + ws + "/two words.jpg'", "two words.jpg"},
		{ws + "/two words.jpg", "two words.jpg"},
		{ws + `/two\ words.jpg`, "two words.jpg"},
		{"file://" + ws + "/two%20words.jpg", "two words.jpg"},
		{ws + "/shot.png\n" + ws + `/two\ words.jpg`, "shot.png two words.jpg"},
		{"shot.png", "shot.png"},
		{ws + "/missing.png", ""},
		{ws + "/shot.png is odd", ""},
		{ws, ""},
		{"look at shot.png", ""},
		{ws + "/broken.gif", ""},
		{"/dev/zero.png", ""},
	}
	for _, r := range rows {
		b.u.draft.Clear()
		b.u.pictures = nil
		b.paste(r.paste)
		var names []string
		for _, p := range b.u.inDraft() {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != r.names {
			t.Errorf("%q attached %q, want %q", r.paste, got, r.names)
		}
		if r.names == "" && b.u.draft.Text() != r.paste {
			t.Errorf("%q became %q", r.paste, b.u.draft.Text())
		}
	}
}

// TestChip: a picture is named, removed with one key, and sent with its prompt.
func TestChip(t *testing.T) {
	b, ws := withPictures(t, true)
	b.types("what is in ")
	b.paste(ws + "/shot.png")
	b.shows("› what is in [picture 1: shot.png, 16 bytes]")
	b.types("\x7f\x7f") // the blank, then the chip
	b.hides("picture 1")
	if n := len(b.u.inDraft()); n != 0 {
		t.Errorf("%d pictures are left", n)
	}
	b.paste(ws + "/shot.png")
	b.types("and @\"two words.jpg\"?\r")
	b.answered()
	if len(b.s.sent) != 1 || len(b.s.sent[0].Images) != 1 || string(b.s.sent[0].Images[0].Data) != "data of shot.png" {
		t.Fatalf("sent %+v", b.s.sent)
	}
	if !strings.Contains(b.s.sent[0].Text, "[picture 2: shot.png") {
		t.Errorf("the words do not say where the picture belongs: %q", b.s.sent[0].Text)
	}
	b.types("describe @shot.png and @\"two words.jpg\", not @missing.png\r")
	b.answered()
	if got := b.s.sent[1]; len(got.Images) != 2 || string(got.Images[1].Data) != "data of two words.jpg" {
		t.Errorf("sent %+v", got)
	}
}

// TestBlindModel: a model that takes no pictures is named, and nothing is lost.
func TestBlindModel(t *testing.T) {
	b, ws := withPictures(t, false)
	b.paste(ws + "/shot.png")
	b.shows("the model blind does not take pictures")
	if b.u.draft.Text() != ws+"/shot.png" {
		t.Errorf("the draft holds %q", b.u.draft.Text())
	}
	b.types("\x15read @shot.png\r") // a name is a name there
	b.answered()
	if len(b.s.sent) != 1 || len(b.s.sent[0].Images) != 0 {
		t.Errorf("sent %+v", b.s.sent)
	}

	c, ws := withPictures(t, true)
	c.paste(ws + "/shot.png")
	c.happens("", event.ModelReconfigured{ApplyOutcome: "completed", Effective: event.ModelRoute{ModelID: "blind", ProviderID: "p"}})
	c.types("what is it?\r")
	c.shows("the model blind does not take pictures")
	if len(c.s.sent) != 0 || len(c.u.inDraft()) != 1 {
		t.Errorf("sent %+v, %d pictures in the draft", c.s.sent, len(c.u.inDraft()))
	}
}

// TestRefusedPictures: a prompt that is refused comes back with its pictures.
func TestRefusedPictures(t *testing.T) {
	b, ws := withPictures(t, true)
	b.u.session = refusing{b.s}
	b.paste(ws + "/shot.png")
	b.types("look\r")
	b.answered()
	if n := len(b.u.inDraft()); n != 1 || !strings.HasSuffix(b.u.draft.Text(), "look") {
		t.Errorf("%d pictures in %q", n, b.u.draft.Text())
	}
}

func TestClipboardPicture(t *testing.T) {
	b, _ := withPictures(t, true)
	b.types("\x16")
	b.shows("the clipboard cannot be read here")
	b.u.ClipboardPicture = func(context.Context) (Picture, error) { return Picture{"clipboard.png", "image/png", []byte("x")}, nil }
	b.types("see \x16\r")
	b.shows("the clipboard is still being read")
	b.answered()
	b.shows("› see [picture 1: clipboard.png, 1 byte]")
	b.u.ClipboardPicture = func(context.Context) (Picture, error) {
		return Picture{}, errors.New("there is no picture on the clipboard")
	}
	b.types("\x16")
	b.answered()
	b.shows("there is no picture on the clipboard")
}

// TestDraftIsKept: what is written is on disk within a second, comes back in
// the same workspace, and is forgotten when it is sent.
func TestDraftIsKept(t *testing.T) {
	root := t.TempDir()
	b, ws := withPictures(t, true)
	b.u.Drafts = prompts.OpenDrafts(root, ws, true)
	kept := func() string {
		files, err := filepath.Glob(filepath.Join(root, "tui-draft-*.json"))
		if err != nil || len(files) == 0 {
			return ""
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	b.types("precious ")
	b.u.keepDraft()
	b.answered()
	b.paste(ws + "/shot.png")
	b.paste(strings.Repeat("long\n", 100))
	b.u.keepDraft() // too soon
	if s := kept(); !strings.Contains(s, "precious") || strings.Contains(s, "picture") {
		t.Errorf("kept %s", s)
	}
	b.pass(draftEvery)
	b.u.keepDraft()
	b.answered()
	if s := kept(); !strings.Contains(s, "shot.png") || !strings.Contains(s, `long\n`) {
		t.Errorf("kept %s", s)
	}
	want := b.u.draft.Text()
	if err := b.u.Drafts.Close(); err != nil { // as the end of a process does
		t.Fatal(err)
	}

	c, _ := withPictures(t, true)
	c.u.Drafts = prompts.OpenDrafts(root, ws, true)
	c.u.oldDraft()
	c.draw()
	c.shows("what you were writing is back")
	if got := c.u.draft.Text(); got != want || len(c.u.inDraft()) != 1 {
		t.Errorf("%d pictures in\n%q, want\n%q", len(c.u.inDraft()), got, want)
	}
	c.types("\r")
	c.answered()
	c.pass(time.Second)
	c.u.keepDraft()
	c.answered()
	if s := kept(); s != "" {
		t.Errorf("a draft that was sent is kept: %s", s)
	}
	if err := c.u.lastDraft(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
