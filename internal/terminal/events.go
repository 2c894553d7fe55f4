package terminal

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

func (c *Chat) onEvent(ctx context.Context, e skein.Event) {
	switch e := e.(type) {
	case *skein.MessageEvent:
		c.onMessage(ctx, e.Message)
	case *skein.AckEvent:
		c.tick(e.Message.Conversation, e.Message.Seq, skein.StatusSent)
	case *skein.FailedEvent:
		c.printf("        ! not sent: %s (%s)\n", clean(e.Message.Text), e.Err.Message)
	case *skein.RecallEvent:
		if e.Message == nil { // told by the message that was taken back
			c.printf("        ● a message was taken back in %s: #%d\n", c.title(ctx, e.Conversation), e.Target)
			return
		}
		c.onTimeline(ctx, e.Conversation, e.Message)
	case *skein.ChangedEvent:
		if e.Message.Conversation == c.current() {
			c.show(ctx, e.Message)
		}
	case *skein.ReplyEvent:
		c.onReply(ctx, e.Message)
	case *skein.GroupEvent:
		c.onTimeline(ctx, e.Conversation, e.Message)
	case *skein.InvitationEvent:
		c.onInvitation(ctx, e)
	case *skein.JoinRequestEvent:
		c.onJoinRequest(ctx, e)
	case *skein.ContactEvent:
		c.onContact(ctx, e)
	case *skein.ProfileEvent:
		c.printf("        ● your profile was changed\n")
	case *skein.SecurityEvent:
		c.printf("        ● how you log in was changed: %s\n", securityWords(e.What))
	case *skein.ReceiptEvent:
		c.onReceipt(e)
	case *skein.TypingEvent:
		if e.Conversation == c.current() {
			c.printf("        %s is typing …\n", c.name(ctx, e.User))
		}
	case *skein.PartEvent:
		c.onPart(ctx, e)
	case *skein.GapEvent:
		c.printf("        · %d entries of %s are not shown; /history reads them\n", e.To-e.From+1, c.title(ctx, e.Conversation))
	case *skein.GoneEvent:
		c.printf("        · messages disappeared in %s: #%d to #%d\n", c.title(ctx, e.Conversation), e.From, e.To)
	case *skein.ResetEvent:
		c.printf("        · the server was restored from a backup: everything is read anew\n")
	case *skein.AnnouncementsEvent:
		c.announced(e.All)
	case *skein.StateEvent:
		c.onState(e)
		if e.State == skein.StateConnected {
			go c.askAnnounced(ctx)
		}
	}
}

// askAnnounced shows what the deployment announces. A server of before knows no such thing.
func (c *Chat) askAnnounced(ctx context.Context) {
	if all, err := c.client.Announcements(ctx); err == nil {
		c.announced(all)
	}
}

// announced shows what the deployment announces, each once.
func (c *Chat) announced(all []*wire.Announcement) {
	for _, a := range slices.Backward(all) {
		c.mu.Lock()
		known := c.told[a.GetId()]
		if c.told == nil {
			c.told = map[string]bool{}
		}
		c.told[a.GetId()] = true
		c.mu.Unlock()
		if known {
			continue
		}
		sign := "●"
		if a.GetLevel() == wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_WARNING {
			sign = "!"
		}
		c.printf("        %s announced to everybody: %s\n", sign, clean(skein.AnnouncementText(a, languages()...)))
	}
}

// languages are those that the environment asks for.
func languages() []string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v, _, _ := strings.Cut(os.Getenv(name), "."); v != "" {
			return []string{strings.ReplaceAll(v, "_", "-")}
		}
	}
	return nil
}

func (c *Chat) onState(e *skein.StateEvent) {
	switch e.State {
	case skein.StateConnected:
		c.printf("        · connected\n")
	case skein.StateDisconnected:
		c.printf("        · no connection (%v); trying again\n", e.Err)
	case skein.StateStopped:
		if e.By != nil {
			c.printf("        · %s took this one's place at %s; /connect takes it back\n", clean(e.By.GetName()), e.At.Local().Format(time.TimeOnly))
			return
		}
		if !c.look(e.Err) {
			c.printf("        · stopped: %v\n", e.Err)
		}
	}
}

func (c *Chat) onMessage(ctx context.Context, m *skein.Message) {
	if c.showNew(ctx, m) {
		return
	}
	unread, _ := c.client.Conversation(m.Conversation).Unread(ctx) // 0 when it is gone
	text := content(m)
	c.printf("        ● %s in %s: %s  (%d unread)\n", c.name(ctx, m.Sender), c.title(ctx, m.Conversation), text, unread)
}

// showNew prints an entry of the open conversation, once, and marks it read;
// false when the conversation is not open.
func (c *Chat) showNew(ctx context.Context, m *skein.Message) bool {
	c.mu.Lock()
	open, known := c.open == m.Conversation, m.Seq <= c.shown[m.Conversation]
	if open && !known {
		c.shown[m.Conversation] = m.Seq
	}
	c.mu.Unlock()
	if open && !known {
		c.show(ctx, m)
	}
	if open {
		c.markRead(ctx, m.Conversation, m.Seq)
	}
	return open
}

// onTimeline shows an entry that is not a message.
func (c *Chat) onTimeline(ctx context.Context, conversation string, m *skein.Message) {
	if m == nil {
		return
	}
	if c.showNew(ctx, m) {
		return
	}
	if m.Kind == wire.EntryKind_ENTRY_KIND_EVENT {
		c.printf("        ● %s: %s\n", c.title(ctx, conversation), c.describe(ctx, m.Sender, m.Event))
	}
}

func (c *Chat) onInvitation(ctx context.Context, e *skein.InvitationEvent) {
	if e.Event.GetType() == wire.EventType_EVENT_TYPE_GROUP_INVITED {
		c.printf("        ● %s invites you to “%s”  (/join %s or /decline %s)\n", c.name(ctx, e.By), clean(e.Event.Text), e.Conversation, e.Conversation)
	}
}

func (c *Chat) onJoinRequest(ctx context.Context, e *skein.JoinRequestEvent) {
	who, group := c.name(ctx, e.User), c.title(ctx, e.Conversation)
	switch e.Event.GetType() {
	case wire.EventType_EVENT_TYPE_GROUP_JOIN_REQUESTED:
		if !e.Message.Own { // who asks was told by the answer
			c.printf("        ● %s asks to join %s%s  (/approve @… there, or /turndown @…)\n", who, group, because(e.Event.Text, 0))
		}
	case wire.EventType_EVENT_TYPE_GROUP_JOIN_REFUSED:
		c.printf("        ● %s does not let %s join %s\n", c.name(ctx, e.By), who, e.Conversation)
	case wire.EventType_EVENT_TYPE_GROUP_JOIN_WITHDRAWN:
		c.printf("        ● %s does not ask to join %s any more\n", who, e.Conversation)
	}
}

func (c *Chat) onContact(ctx context.Context, e *skein.ContactEvent) {
	who := c.name(ctx, e.User)
	switch e.Event.GetType() {
	case wire.EventType_EVENT_TYPE_CONTACT_BLOCKED:
		c.printf("        ● you blocked %s\n", who)
	case wire.EventType_EVENT_TYPE_CONTACT_UNBLOCKED:
		c.printf("        ● you unblocked %s\n", who)
	case wire.EventType_EVENT_TYPE_CONTACT_TAGGED:
		c.printf("        ● %s has other tags now\n", who)
	case wire.EventType_EVENT_TYPE_CONTACT_EXPIRED:
		c.printf("        ● the request between you and %s was not answered in time\n", who)
	case wire.EventType_EVENT_TYPE_CONTACT_REMARKED:
		c.printf("        ● you call %s %q now\n", who, clean(e.Event.Text))
	}
	if e.Message.Own { // from another device, or this one
		return
	}
	switch e.Event.GetType() {
	case wire.EventType_EVENT_TYPE_CONTACT_REQUESTED:
		c.printf("        ● %s wants to be your contact: %s  (/accept %s or /refuse %s)\n", who, clean(e.Event.Text), who, who)
	case wire.EventType_EVENT_TYPE_CONTACT_ACCEPTED:
		c.printf("        ● %s is your contact now  (/open %s)\n", who, who)
	case wire.EventType_EVENT_TYPE_CONTACT_REFUSED:
		c.printf("        ● %s does not want to be your contact\n", who)
	case wire.EventType_EVENT_TYPE_CONTACT_PROFILE_CHANGED:
		c.printf("        ● %s has another profile  (/who %s)\n", who, who)
	case wire.EventType_EVENT_TYPE_CONTACT_REMOVED:
		c.printf("        ● %s is no longer your contact\n", who)
	}
}

// onReceipt turns the other side's marks into ticks of the last own message.
func (c *Chat) onReceipt(e *skein.ReceiptEvent) {
	if e.User == c.client.User() {
		return
	}
	c.mu.Lock()
	last := c.ticks[e.Conversation]
	c.mu.Unlock()
	switch {
	case last.seq == 0:
	case e.Read >= last.seq:
		c.tick(e.Conversation, last.seq, skein.StatusRead)
	case e.Received >= last.seq:
		c.tick(e.Conversation, last.seq, skein.StatusDelivered)
	}
}

// tick shows how far an own message has come, once per step.
func (c *Chat) tick(conversation string, seq uint64, s skein.Status) {
	c.mu.Lock()
	last := c.ticks[conversation]
	news := seq > last.seq || (seq == last.seq && s > last.status)
	if news {
		c.ticks[conversation] = tick{seq, s}
	}
	shown := c.open == conversation
	c.mu.Unlock()
	if news && shown {
		c.printf("        #%d %s\n", seq, marks[s])
	}
}

func (c *Chat) markRead(ctx context.Context, conversation string, seq uint64) {
	err := c.client.Conversation(conversation).MarkRead(ctx, seq)
	if err != nil && ctx.Err() == nil && !errors.Is(err, skein.ErrNotFound) { // just made, its first entry is on the way
		c.printf("        ! %v\n", err)
	}
}

// securityWords are what a SecurityEvent says.
func securityWords(what string) string {
	switch what {
	case "totp_on":
		return "it needs a code of your authenticator app from now on"
	case "totp_off":
		return "it needs no code any more"
	case "recovery_codes":
		return "there are new recovery codes"
	case "recovery_code_used":
		return "a recovery code was used"
	case "password_reset":
		return "an administrator's link set a new password"
	case "identity_linked":
		return "a provider was linked: you may log in by it"
	case "identity_unlinked":
		return "a provider was unlinked: nobody logs in by it any more"
	}
	return clean(what)
}
