package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime/debug"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/msp"
)

// method is how one method is carried out.
type method struct {
	// stored says that the method needs sessions that outlive the host; an
	// ephemeral host does not know it.
	stored bool
	run    func(k *call) (any, error)
}

// call is one request being carried out. Its fields are for one goroutine.
type call struct {
	*conn
	id     msp.RequestId
	name   string
	params jsontext.Value
	method method

	after   []func() // to do once the reply stands in the order
	release func()   // lets the events of the call's session flow again
}

// run carries out the request and replies. What an event of the same session
// says waits until the reply stands: a client learns of its command first.
func (k *call) run() {
	result, err := k.guarded()
	k.reply(k.id, result, err)
	if err == nil {
		for _, f := range k.after {
			f()
		}
	}
	if k.release != nil {
		k.release()
	}
}

// guarded runs the method. A fault in one must not take the sessions of the
// process with it.
func (k *call) guarded() (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			k.opts.Note("%s failed: %v\n%s", k.name, p, debug.Stack())
			result, err = nil, fmt.Errorf("%s failed: %v", k.name, p)
		}
	}()
	return k.method.run(k)
}

// then does f after the reply.
func (k *call) then(f func()) { k.after = append(k.after, f) }

// command is the identity of the call for the host.
func (k *call) command(id string) (host.Command, error) {
	if !ident.Valid(id) || id[14] != '7' {
		return host.Command{}, msp.InvalidParams("commandId", "is not a UUID of version 7")
	}
	digest, err := k.digest()
	if err != nil {
		return host.Command{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return host.Command{
		ID: id, Method: k.name, Digest: digest,
		Client: k.client.Name, ClientTitle: k.client.Title, ClientVersion: k.client.Version,
	}, nil
}

// digest identifies what is asked: two spellings of the same JSON are the same.
func (k *call) digest() (string, error) {
	canonical := k.params.Clone()
	if err := canonical.Canonicalize(); err != nil {
		return "", msp.InvalidParams("", "cannot be read")
	}
	h := sha256.New()
	h.Write([]byte(k.name))
	h.Write([]byte{0})
	h.Write(canonical)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// query makes a method from a function of its params.
func query[P, R any](f func(*call, P) (R, error)) method {
	return method{run: func(k *call) (any, error) {
		p, err := msp.DecodeParams[P](k.params)
		if err != nil {
			return nil, err
		}
		return f(k, p)
	}}
}

// targeted are the members that every command on a session has.
type targeted struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
}

// command makes a method from a function on a loaded session.
func command[P, R any](f func(k *call, s *feed, c host.Command, p P) (R, error)) method {
	return method{run: func(k *call) (any, error) {
		p, err := msp.DecodeParams[P](k.params)
		if err != nil {
			return nil, err
		}
		var t targeted
		if err := json.Unmarshal(k.params, &t); err != nil {
			return nil, msp.InvalidParams("", err.Error())
		}
		c, err := k.command(t.CommandID)
		if err != nil {
			return nil, err
		}
		s, err := k.loaded(t.SessionID)
		if err != nil {
			return nil, err
		}
		r, err := f(k, s, c, p)
		return r, k.rejected(err, c)
	}}
}

// rejected names the command in its rejection, as the protocol wants it.
func (k *call) rejected(err error, c host.Command) error {
	if no, ok := asRefusal(err); ok && no.Kind == host.RefusedCommand {
		return msp.CommandRejected(c.ID, no.Reason, no.Message)
	}
	return err
}

// lane is the lane of the call: that of its session, or one of its own for
// calls about no session in particular. Only the order hangs on it; the method
// reads its params strictly.
func (k *call) lane() string {
	var t struct {
		SessionID jsontext.Value `json:"sessionId"`
		CommandID jsontext.Value `json:"commandId"`
	}
	if json.Unmarshal(k.params, &t) == nil && t.SessionID.Kind() == '"' {
		return string(t.SessionID)
	}
	return k.name + " " + string(t.CommandID)
}

// laneOf is the lane of a session.
func laneOf(sessionID string) string {
	raw, err := jsontext.AppendQuote(nil, sessionID)
	if err != nil {
		return sessionID
	}
	return string(raw)
}
