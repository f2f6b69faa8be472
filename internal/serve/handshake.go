package serve

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/msp"
)

// clientName is what a client may call itself (MSP.md 7.1, initialize). The
// published clients use hyphens as well, so they are taken too.
var clientName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9_-]+$`) })

// grantable are the capabilities this host can grant; what else is asked for
// is silently not granted (MSP.md 4). Session tool servers and feedback do not
// exist here yet.
func grantable() []msp.CapabilityName {
	return []msp.CapabilityName{msp.CapabilityNameUserShell, msp.CapabilityNameSessionListStream}
}

// initialize answers the first request of a connection. What it grants is
// fixed from then on.
func (c *conn) initialize(params jsontext.Value) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != fresh {
		return nil, msp.AlreadyInitialized()
	}
	p, err := msp.DecodeParams[msp.InitializeParams](params)
	if err != nil {
		return nil, err
	}
	if !clientName().MatchString(p.ClientInfo.Name) {
		return nil, msp.InvalidParams("clientInfo.name", "is not of the letters a to z, digits and _")
	}
	fingerprint, err := c.opts.Fingerprint(p.ClientInfo)
	if err != nil {
		return nil, fmt.Errorf("fingerprint of the schema: %w", err)
	}
	c.client, c.phase = p.ClientInfo, answered
	c.granted = []msp.CapabilityName{}
	if p.Capabilities != nil {
		c.caps = *p.Capabilities
		for _, name := range grantable() {
			if slices.Contains(c.caps.RequestedCapabilities, string(name)) {
				c.granted = append(c.granted, name)
			}
		}
		for _, name := range c.caps.OptOutNotificationMethods {
			if !msp.Protected(name) {
				c.muted[name] = true
			}
		}
	}
	result := msp.InitializeResult{
		ExperimentalAPI: c.caps.ExperimentalAPI, GrantedCapabilities: c.granted, MuseHome: c.opts.MuseHome,
		PlatformFamily: msp.PlatformFamilyUnix, PlatformOS: msp.PlatformOsLinux,
		Schema:     msp.SchemaInfo{Fingerprint: fingerprint, Version: 1},
		ServerInfo: msp.ServerInfo{Name: c.opts.Name, Version: c.opts.Version}, UserAgent: c.opts.UserAgent,
		SessionDurability: msp.SessionDurabilityDurable,
	}
	switch runtime.GOOS {
	case "windows":
		result.PlatformFamily, result.PlatformOS = msp.PlatformFamilyWindows, msp.PlatformOsWindows
	case "darwin":
		result.PlatformOS = msp.PlatformOsMacos
	}
	if c.opts.Ephemeral {
		result.SessionDurability = msp.SessionDurabilityEphemeral
	}
	return result, nil
}

// opened lets everything flow that was held back until the client said
// initialized (MSP.md 4).
func (c *conn) opened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != answered {
		return
	}
	c.phase = open
	close(c.greeted)
	for _, send := range c.held {
		send()
	}
	c.held = nil
}

// maxHeld is how much waits for a client that does not finish the handshake.
// What is beyond it is in the view for whoever pages it.
const maxHeld = 4096

// push sends something that the client did not ask for, not before it said
// initialized. send runs under the connection's lock, so that what was held
// back keeps its order; it must only put things into the outbox.
func (c *conn) push(send func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != open {
		if len(c.held) < maxHeld {
			c.held = append(c.held, send)
		}
		return
	}
	send()
}

// has reports whether the client was granted a capability.
func (c *conn) has(name msp.CapabilityName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.granted, name)
}

// wants reports whether a notification is sent to the client at all.
func (c *conn) wants(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.muted[name]
}

// dialogs reports whether the client shows questions to a person.
func (c *conn) dialogs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caps.UserInputDialogs == nil || *c.caps.UserInputDialogs
}
