package story

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// device is one of a user's devices, connected by the SDK.
type device struct {
	name   string
	client *skein.Client
	ended  sync.WaitGroup

	mu    sync.Mutex
	told  []string // not waited for yet
	again chan struct{}
}

// connect connects a device with a token.
func (t *teller) connect(name, id string, class wire.DeviceClass, token string) *device {
	if t.err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	c, err := skein.Dial(ctx, t.server.socket(), skein.WithToken(token), skein.WithDevice(id, class, name), skein.WithDialer(t.server.dialer()))
	if err != nil {
		t.fail("%s: %w", name, err)
		return nil
	}
	d := &device{name: name, client: c, again: make(chan struct{}, 1)}
	d.ended.Go(func() {
		for e := range c.Events(t.ctx) {
			d.tell(t.describe(e))
		}
	})
	t.say("  %s is connected", name)
	return d
}

func (d *device) close() {
	_ = d.client.Close() // what it would say was heard, or not
	d.ended.Wait()
}

func (d *device) tell(line string) {
	if line == "" {
		return
	}
	d.mu.Lock()
	d.told = append(d.told, line)
	d.mu.Unlock()
	select {
	case d.again <- struct{}{}:
	default:
	}
}

// hear waits until the device was told line, once for each call. What else it was told
// stays for others to wait for.
func (d *device) hear(ctx context.Context, line string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		d.mu.Lock()
		i := slices.Index(d.told, line)
		if i >= 0 {
			d.told = slices.Delete(d.told, i, i+1)
		}
		left := strings.Join(d.told, "\n\t")
		d.mu.Unlock()
		if i >= 0 {
			return nil
		}
		select {
		case <-d.again:
		case <-ctx.Done():
			return fmt.Errorf("%s did not hear within %v: %s\nIt heard:\n\t%s", d.name, patience, line, left)
		}
	}
}

// describe is an event in one line, empty for those that the story does not wait for.
// It runs beside the story.
func (t *teller) describe(e skein.Event) string {
	switch e := e.(type) {
	case *skein.MessageEvent:
		return t.said(e.Message)
	case *skein.AckEvent:
		return t.said(e.Message)
	case *skein.ChangedEvent:
		if e.Message.Poll != nil {
			return poll(e.Message)
		}
		m, reactions := e.Message, ""
		for _, r := range m.Reactions {
			reactions += fmt.Sprintf(" %s%d", r.Reaction, r.Count)
		}
		if m.Pinned != nil {
			reactions += ", pinned by " + t.who(m.Pinned.User)
		}
		if m.Replies > 0 {
			reactions += fmt.Sprintf(", %d replies", m.Replies)
		}
		return fmt.Sprintf("message %d says now: %s (edits %d%s)", m.Seq, m.Text, m.Edits, reactions)
	case *skein.ReplyEvent:
		return fmt.Sprintf("%s, below %d: %s", t.who(e.Message.Sender), e.Message.Thread, e.Message.Text)
	case *skein.PartEvent:
		return fmt.Sprintf("message %d grows: %s", e.Seq, e.Text)
	case *skein.RecallEvent:
		return fmt.Sprintf("message %d was taken back", e.Target)
	case *skein.GroupEvent:
		return strings.TrimSpace(fmt.Sprintf("%s by %s %s", event(e.Event), t.who(e.By), t.all(e.Event.Users)))
	case *skein.ContactEvent:
		return fmt.Sprintf("%s %s", event(e.Event), t.who(e.User))
	case *skein.InvitationEvent:
		return fmt.Sprintf("%s by %s: %s", event(e.Event), t.who(e.By), e.Event.Text)
	case *skein.ProfileEvent:
		return event(e.Event)
	case *skein.SecurityEvent:
		return "security changed: " + e.What
	case *skein.ScheduledEvent:
		return "scheduled changed"
	case *skein.ReceiptEvent:
		return fmt.Sprintf("%s has read up to %d", t.who(e.User), e.Read)
	case *skein.MyStateEvent:
		return fmt.Sprintf("my state: pinned %t, draft %q, in %q", e.State.Pinned, e.State.Draft, e.State.Folder)
	case *skein.TypingEvent:
		return t.who(e.User) + " is typing"
	case *skein.PresenceEvent:
		return fmt.Sprintf("%s is online: %t", t.who(e.User), e.Online)
	case *skein.StateEvent:
		var why *skein.Error
		if e.State == skein.StateStopped && errors.As(e.Err, &why) {
			return fmt.Sprintf("the connection ended: %s", why.Code)
		}
	}
	return ""
}

// said is a message in one line.
func (t *teller) said(m *skein.Message) string {
	if m.Poll != nil {
		return fmt.Sprintf("%s asks: %s", t.who(m.Sender), m.Fallback)
	}
	if n := m.Forward.GetMerged(); n > 0 {
		return fmt.Sprintf("%s, %d in one: %s", t.who(m.Sender), n, m.Fallback)
	}
	if m.Forward != nil {
		return fmt.Sprintf("%s, from %s: %s", t.who(m.Sender), t.who(m.Forward.Sender), m.Text)
	}
	if m.Silent {
		return fmt.Sprintf("%s, quietly: %s", t.who(m.Sender), m.Text)
	}
	return fmt.Sprintf("%s: %s", t.who(m.Sender), m.Text)
}

// poll is what a poll comes to.
func poll(m *skein.Message) string {
	var parts []string
	for _, o := range m.Poll.Options {
		parts = append(parts, fmt.Sprintf("%s %d", o.Id, o.Votes))
	}
	if m.Poll.EndedAtMs > 0 {
		parts = append(parts, "ended")
	}
	return fmt.Sprintf("poll %d: %s", m.Seq, strings.Join(parts, ", "))
}

// event is the name of an event's type in plain words.
func event(e *wire.Event) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(e.Type.String(), "EVENT_TYPE_")), "_", " ")
}
