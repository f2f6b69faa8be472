package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/tui/prompts"
	"github.com/openmuse/muse/internal/tui/text"
)

// draftEvery is how long what was typed may be lost with the process.
const draftEvery = time.Second

// keepDraft keeps the draft beside the loop when it has changed, and forgets it
// when it was sent.
func (u *ui) keepDraft() {
	raw := u.draft.Raw()
	if u.Drafts == nil || u.Plain || u.keeping || raw == u.kept {
		return
	}
	now := u.Now()
	if next := u.keptAt.Add(draftEvery); raw != "" && now.Before(next) {
		u.wakeAt(next)
		return
	}
	save := u.draftSaver()
	u.keeping, u.keptAt = true, now
	beside(u, func(context.Context) (struct{}, error) { return struct{}{}, save() }, func(_ struct{}, err error) {
		u.keeping = false
		if err != nil {
			u.say(text.Warn, err.Error())
			u.Drafts = nil
		}
	})
}

// draftSaver keeps the draft as it is now.
func (u *ui) draftSaver() func() error {
	drafts := u.Drafts
	u.kept = u.draft.Raw()
	if u.kept == "" {
		return drafts.Remove
	}
	k := prompts.Draft{Draft: u.draft.State()}
	for _, p := range u.inDraft() {
		if k.Pictures == nil {
			k.Pictures = map[string]string{}
		}
		k.Pictures[p.mark] = p.path
	}
	return func() error { return drafts.Save(k) }
}

// lastDraft keeps the draft when the UI ends. Nothing runs beside it any more.
func (u *ui) lastDraft() error {
	if u.Drafts == nil || u.Plain {
		return nil
	}
	var err error
	if u.draft.Raw() != u.kept {
		err = u.draftSaver()()
	}
	return errors.Join(err, u.Drafts.Close())
}

// oldDraft takes over what was being written when a process ended.
func (u *ui) oldDraft() {
	if u.Drafts == nil || u.Plain {
		return
	}
	k, ok, err := u.Drafts.Take()
	if err != nil {
		u.say(text.Warn, err.Error())
	}
	if !ok {
		return
	}
	var lost []string
	for mark, path := range k.Pictures {
		p, err := Picture{}, errors.New("it came from the clipboard")
		if path != "" && u.Picture != nil {
			p, err = u.Picture(path)
		}
		if err != nil {
			lost = append(lost, mark)
			k.Draft.Text = strings.Replace(k.Draft.Text, mark, "", 1)
			k.Draft.At = len(k.Draft.Text)
			continue
		}
		u.pictureCount++
		u.pictures = append(u.pictures, attached{Picture: p, mark: mark, path: path})
	}
	u.draft.Restore(k.Draft)
	u.kept, u.keptAt = u.draft.Raw(), u.Now()
	u.hint = "what you were writing is back"
	if len(lost) > 0 {
		u.hint += ", without " + strings.Join(lost, ", ")
	}
}
