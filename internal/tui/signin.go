package tui

import (
	"context"
	"fmt"
	"strings"

	"github.com/openmuse/muse/internal/tui/compose"
	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/term"
	"github.com/openmuse/muse/internal/tui/text"
)

// SignIn gets a person from no model to a model: a key of a service, or a
// server of their own.
type SignIn struct {
	// Missing is what there is none of, in words; "" when a model is set up and
	// /login alone asks.
	Missing  string
	Services []Service
	// Key keeps the key of a service. model is for services without one that
	// fits everybody.
	Key func(ctx context.Context, service, key, model string) (Chosen, error)
	// Served lists the models of a server; the address comes back in full.
	Served func(ctx context.Context, address string) (full string, models []string, err error)
	// Server keeps a server and the model that is used of it.
	Server func(ctx context.Context, address, model string) (Chosen, error)
	// Forget removes what is kept for a service and says what that means.
	Forget func(ctx context.Context, service string) error
}

// Service is a model service that keys are kept for.
type Service struct {
	ID, Label string
	Model     string // that is used of it, "" when one has to be named
}

// Chosen is the model that was set up. Select says that new sessions do not
// begin with it by themselves.
type Chosen struct {
	Provider, Model string
	Select          bool
}

// ready goes on once it is known what may be loaded.
func (u *ui) ready() {
	if u.SignIn != nil && u.SignIn.Missing != "" && !u.Plain {
		u.signIn(u.first)
		return
	}
	u.first()
}

const ownServer = "\x00server"

// signIn asks which model to use; then is called when the person has chosen, or
// will not.
func (u *ui) signIn(then func()) {
	s := u.SignIn
	title := "Which service is the key for?"
	if s.Missing != "" {
		title = "There is no model yet: " + s.Missing + ". What do you want to use?"
	}
	p := &picker{title: title, closed: then}
	for _, v := range s.Services {
		detail := "with a key"
		if v.Model != "" {
			detail += ", model " + v.Model
		}
		p.rows = append(p.rows, pickRow{id: v.ID, label: v.Label, detail: detail})
	}
	p.rows = append(p.rows, pickRow{id: ownServer, label: "a server of your own", detail: "Ollama, llama.cpp, vLLM: what speaks Chat Completions"})
	if s.Missing != "" {
		p.rows = append(p.rows, pickRow{id: "", label: "look around without a model", detail: "/login asks again"})
	}
	p.chosen = func(r pickRow) {
		switch r.id {
		case "":
			then()
		case ownServer:
			u.askServer(then)
		default:
			for _, v := range s.Services {
				if v.ID == r.id {
					u.askKey(v, then)
				}
			}
		}
	}
	u.pick = p
}

func (u *ui) askKey(s Service, then func()) {
	again := func() { u.signIn(then) }
	u.entry = &entry{
		title: "Key for " + s.Label, secret: true, closed: again,
		help: "it is not shown, goes into auth.json for you alone, and to this service only",
		taken: func(key string) {
			if s.Model != "" {
				u.keepKey(s, key, "", then)
				return
			}
			u.entry = &entry{title: "Model of " + s.Label, help: "its id, as the service spells it", closed: again, taken: func(model string) {
				u.keepKey(s, key, model, then)
			}}
		},
	}
}

func (u *ui) keepKey(s Service, key, model string, then func()) {
	beside(u, func(ctx context.Context) (Chosen, error) { return u.SignIn.Key(ctx, s.ID, key, model) }, func(c Chosen, err error) {
		if err != nil {
			u.fault(err)
			u.askKey(s, then)
			return
		}
		u.signedIn(c, then)
	})
}

func (u *ui) askServer(then func()) {
	e := &entry{title: "Address of the server", help: "an Ollama of this machine is offered", offer: "http://127.0.0.1:11434/v1", closed: func() { u.signIn(then) }}
	e.taken = func(address string) {
		type served struct {
			full   string
			models []string
		}
		u.hint = "asking " + address
		beside(u, func(ctx context.Context) (served, error) {
			full, models, err := u.SignIn.Served(ctx, address)
			return served{full, models}, err
		}, func(s served, err error) {
			u.hint = ""
			if err != nil {
				u.fault(err)
				u.askServer(then)
				u.entry.words.Set(address)
				return
			}
			u.askServed(s.full, s.models, then)
		})
	}
	u.entry = e
}

// askServed asks which model of a server to use.
func (u *ui) askServed(address string, models []string, then func()) {
	use := func(model string) {
		beside(u, func(ctx context.Context) (Chosen, error) { return u.SignIn.Server(ctx, address, model) }, func(c Chosen, err error) {
			if err != nil {
				u.fault(err)
				u.askServer(then)
				return
			}
			u.signedIn(c, then)
		})
	}
	back := func() { u.askServer(then) }
	if len(models) == 0 {
		u.entry = &entry{title: "Model of " + address, help: "the server does not list any; its name", closed: back, taken: use}
		return
	}
	p := &picker{title: "Model of " + address, chosen: func(r pickRow) { use(r.id) }, closed: back}
	for _, m := range models {
		p.rows = append(p.rows, pickRow{id: m, label: m})
	}
	u.pick = p
}

// signedIn goes on with the model that was set up.
func (u *ui) signedIn(c Chosen, then func()) {
	u.SignIn.Missing = ""
	u.say(text.Good, "✓ "+c.Provider+" · "+c.Model)
	if u.session != nil {
		u.setModelOf(c.Provider, c.Model)
	} else if c.Select {
		u.UseProvider, u.UseModel = c.Provider, c.Model
	}
	then()
}

// login sets up a model while a session is open.
func (u *ui) login() {
	if u.idle() {
		u.signIn(func() {})
	}
}

// logout forgets the key of the service in use.
func (u *ui) logout() {
	st := u.view.fold.State()
	if st.EffectiveModel == nil || st.EffectiveModel.ProviderID == nil {
		u.hint = "no service is in use"
		return
	}
	service := *st.EffectiveModel.ProviderID
	u.confirm = &confirmation{
		lines: []text.Line{text.Of(text.Warn|text.Bold, "Forget the key that is kept for "+service+"?"), text.Of(text.Plain, "  This session keeps it until it ends.")},
		yes: func() {
			beside(u, func(ctx context.Context) (struct{}, error) { return struct{}{}, u.SignIn.Forget(ctx, service) }, func(_ struct{}, err error) {
				if err != nil {
					u.fault(err)
				}
			})
		},
	}
}

// entry asks for one line of text; a secret one is not shown. An offer is what
// an empty line stands for: what is typed or pasted takes its place, rather
// than being written behind it.
type entry struct {
	title, help string
	offer       string
	secret      bool
	words       compose.Buffer
	taken       func(string)
	closed      func()
}

func (e *entry) key(u *ui, k term.Key, action keymap.Action) {
	switch action {
	case keymap.Cancel, keymap.Interrupt:
		u.entry = nil
		e.closed()
	case keymap.Submit:
		words := strings.TrimSpace(e.words.Text())
		if words == "" {
			words = e.offer
		}
		if words == "" {
			u.hint = "nothing was typed"
			return
		}
		u.entry = nil
		e.taken(words)
	case keymap.Complete, keymap.Right, keymap.End:
		if e.offer != "" && e.words.Empty() {
			e.words.Set(e.offer) // to be written on
			return
		}
		editKey(&e.words, k, action)
	case keymap.Newline, keymap.Up, keymap.Down:
	default:
		editKey(&e.words, k, action)
	}
}

// paste takes what was pasted: one line.
func (e *entry) paste(s string) { e.words.Insert(oneLine(s)) }

func (e *entry) view(u *ui, w int) []text.Line {
	out := text.Wrap(text.Of(text.Bold, e.title), w, nil)
	shown := &e.words
	if e.secret {
		// Of a secret its length alone is seen, and of a long one not even that.
		shown = &compose.Buffer{}
		shown.Set(strings.Repeat("•", min(40, len([]rune(e.words.Text())))))
	}
	rows := shown.View(text.Of(text.Accent, "  › "), w, 3)
	if e.offer != "" && e.words.Empty() {
		rows[0] = text.Cut(append(rows[0], text.Of(text.Muted, e.offer)...), w)
	}
	out = append(out, rows...)
	help := fmt.Sprintf("  %s; %s takes it, %s goes back", e.help, u.Keys.Key(keymap.Submit), u.Keys.Key(keymap.Cancel))
	return append(out, text.Wrap(text.Of(text.Muted, help), w, text.Of(0, "  "))...)
}
