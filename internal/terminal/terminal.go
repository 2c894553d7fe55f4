// Package terminal is the chat client of `skein chat`, on the Go SDK: a Window that
// takes the whole terminal, and a Chat with lines in and lines out, so that scripts can
// use it. Both have the same commands.
//
// It owns the commands and how things look; everything else is the SDK's.
//
// Goroutines of a Chat: Run's reads commands, one handles events. Locks: mu guards the
// open conversation, the names and the last ticks; it is not held while calling
// the SDK or writing.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// Screen is where the user reads and writes: a terminal or plain pipes.
type Screen interface {
	// ReadLine returns the next line without its end; io.EOF at the end.
	ReadLine() (string, error)
	io.Writer
	SetPrompt(string)
}

// Plain is a Screen on pipes, without a prompt. It takes writes from several
// goroutines.
func Plain(in io.Reader, out io.Writer) Screen {
	return &plain{in: bufio.NewScanner(in), out: out}
}

type plain struct {
	in  *bufio.Scanner
	mu  sync.Mutex
	out io.Writer
}

func (p *plain) ReadLine() (string, error) {
	if p.in.Scan() {
		return p.in.Text(), nil
	}
	if err := p.in.Err(); err != nil {
		return "", err
	}
	return "", io.EOF
}

func (p *plain) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *plain) SetPrompt(string) {}

// Chat is a running terminal client. Use New and Run.
type Chat struct {
	client *skein.Client
	screen Screen

	mu     sync.Mutex
	open   string            // conversation shown, "" for none
	names  map[string]string // user id → @username or display name
	titles map[string]string // conversation → title
	listed []string          // what the numbers of /list stand for
	ticks  map[string]tick   // conversation → last own message
	shown  map[string]uint64 // conversation → seq up to which it was printed while open
	told   map[string]bool   // announcements that were shown
	over   chan error        // why the session is over, once it is
	// transfers are what is being sent or saved, by their numbers: how each is ended.
	transfers    map[int]func()
	lastTransfer int
}

// tick is how far the last own message of a conversation has come.
type tick struct {
	seq    uint64
	status skein.Status
}

// New returns a chat on a connected (or connecting) client.
func New(client *skein.Client, screen Screen) *Chat {
	return &Chat{
		client: client, screen: screen,
		names: map[string]string{}, titles: map[string]string{}, ticks: map[string]tick{}, shown: map[string]uint64{},
		transfers: map[int]func(){}, over: make(chan error, 1),
	}
}

// SessionOverError ends a chat whose session the server does not know any more: nothing goes
// on but a login. What waits to be sent is in the store, and goes out after one.
type SessionOverError struct{ Err error }

func (e *SessionOverError) Error() string { return "the session is over: " + e.Err.Error() }
func (e *SessionOverError) Unwrap() error { return e.Err }

// look notes an error after which only a login helps, and tells whether it is one.
func (c *Chat) look(err error) bool {
	var e *skein.Error
	if !errors.As(err, &e) || e.Action() != wire.ActionLogin {
		return false
	}
	select {
	case c.over <- &SessionOverError{err}:
	default:
	}
	return true
}

// Run reads commands until /quit, the end of the input or of ctx, or of the session
// (SessionOverError). The caller closes the client.
func (c *Chat) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var events sync.WaitGroup
	events.Go(func() {
		for e := range c.client.Events(ctx) {
			c.onEvent(ctx, e)
		}
	})
	defer events.Wait()
	defer stop()
	c.greet(ctx)
	c.list(ctx)
	c.prompt()
	lines := make(chan string)
	end := make(chan error, 1)
	go func() { // ends with the input: the process is about to end as well
		for {
			line, err := c.screen.ReadLine()
			if err != nil {
				end <- err
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-c.over:
			return err
		case err := <-end:
			if errors.Is(err, io.EOF) {
				select {
				case err := <-c.over:
					return err
				default:
				}
				return nil
			}
			return err
		case line := <-lines:
			if quit := c.command(ctx, strings.TrimSpace(line)); quit {
				return nil
			}
		}
	}
}

// greet waits a moment for the connection, so that names are known; without one
// the stored conversations are shown all the same.
func (c *Chat) greet(ctx context.Context) {
	wait, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := c.client.WaitConnected(wait); err != nil {
		if c.look(err) {
			return
		}
		c.printf("No connection yet: what you write is sent later. /help lists the commands.\n")
		return
	}
	c.printf("You are %s. /help lists the commands.\n", c.name(ctx, c.client.User()))
}

func (c *Chat) printf(format string, args ...any) {
	fmt.Fprintf(c.screen, format, args...)
}

// clean keeps control characters of others off the user's terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return '⏎'
		}
		if unicode.IsControl(r) || r == '\u202e' || r == '\u202d' {
			return '·'
		}
		return r
	}, s)
}

func (c *Chat) prompt() {
	open := c.current()
	if open == "" {
		c.screen.SetPrompt("> ")
		return
	}
	c.screen.SetPrompt(c.title(context.Background(), open) + "> ")
}

func (c *Chat) current() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// name returns how a user is shown.
func (c *Chat) name(ctx context.Context, id string) string {
	if id == "" {
		return "skein"
	}
	c.mu.Lock()
	n := c.names[id]
	c.mu.Unlock()
	if n != "" {
		return n
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	users, err := c.client.Users().Get(ctx, id)
	if err != nil || len(users) == 0 {
		return id
	}
	return c.remember(users[0])
}

func (c *Chat) remember(u *wire.User) string {
	n := "@" + u.Username
	if u.Username == "" {
		n = clean(u.DisplayName)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names[u.Id] = n
	return n
}

// title returns how a conversation is shown.
func (c *Chat) title(ctx context.Context, id string) string {
	s, err := c.client.Conversation(id).Summary(ctx)
	if err == nil && s.Title != "" {
		return clean(s.Title)
	}
	if rest, ok := strings.CutPrefix(id, "dm:"); ok {
		a, b, _ := strings.Cut(rest, ":")
		if a == b {
			return "your notes"
		}
		if a == c.client.User() {
			a = b
		}
		return c.name(ctx, a)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.titles[id]; t != "" {
		return t
	}
	return id
}

var marks = map[skein.Status]string{
	skein.StatusPending: "🕓 waiting", skein.StatusSent: "✓ sent", skein.StatusDelivered: "✓✓ delivered",
	skein.StatusRead: "✓✓ read", skein.StatusFailed: "! failed",
}

// show prints a message of the timeline.
func (c *Chat) show(ctx context.Context, m *skein.Message) {
	at := m.Time.Local().Format("15:04")
	switch {
	case m.Kind == wire.EntryKind_ENTRY_KIND_EVENT:
		c.printf("%s  · %s\n", at, c.describe(ctx, m.Sender, m.Event))
	case m.Kind == wire.EntryKind_ENTRY_KIND_RECALL:
		c.printf("%s  · %s took back #%d\n", at, c.name(ctx, m.Sender), m.Target)
	case m.Recalled:
		c.printf("%s  %s  (taken back)  #%d\n", at, c.name(ctx, m.Sender), m.Seq)
	default:
		number := ""
		if m.Seq > 0 {
			number = fmt.Sprintf("  #%d", m.Seq)
		}
		c.printf("%s  %s  %s%s  %s\n", at, c.name(ctx, m.Sender), saying(m, "  "), number, marks[m.Status])
	}
}

// saying is what a message says, with all that belongs to it; between stands before its
// reactions and before each option of a poll.
func saying(m *skein.Message, between string) string {
	text := content(m)
	if m.ReplyTo > 0 {
		text = fmt.Sprintf("↳ #%d %s", m.ReplyTo, text)
	}
	text += growing(m)
	if m.Edits > 0 {
		text += "  (edited)"
	}
	if m.Forward != nil {
		text = "⤳ " + text
	}
	if m.Pinned != nil {
		text += "  📌"
	}
	text += repliesText(m)
	text += strings.ReplaceAll(pollText(m), "  [", between+"[")
	for i, r := range m.Reactions {
		if i == 0 {
			text += strings.TrimSuffix(between, "  ")
		}
		text += fmt.Sprintf("  %s %d", clean(r.Reaction), r.Count)
	}
	return text
}

// describe puts an event into words.
func (c *Chat) describe(ctx context.Context, by string, e *wire.Event) string {
	var who []string
	for _, u := range e.GetUsers() {
		if u != by {
			who = append(who, c.name(ctx, u))
		}
	}
	whom, actor := strings.Join(who, ", "), c.name(ctx, by)
	switch e.GetType() {
	case wire.EventType_EVENT_TYPE_GROUP_CREATED:
		return fmt.Sprintf("%s made the group “%s” with %s", actor, clean(e.Text), whom)
	case wire.EventType_EVENT_TYPE_GROUP_RENAMED:
		return fmt.Sprintf("%s named the group “%s”", actor, clean(e.Text))
	case wire.EventType_EVENT_TYPE_MEMBER_ADDED:
		return fmt.Sprintf("%s added %s", actor, whom)
	case wire.EventType_EVENT_TYPE_MEMBER_LEFT:
		return fmt.Sprintf("%s left", actor)
	case wire.EventType_EVENT_TYPE_MEMBER_REMOVED:
		if e.Banned {
			return fmt.Sprintf("%s banned %s%s", actor, whom, because(e.Text, e.UntilMs))
		}
		return fmt.Sprintf("%s removed %s", actor, whom)
	case wire.EventType_EVENT_TYPE_MEMBER_BANNED:
		return fmt.Sprintf("%s banned %s%s", actor, whom, because(e.Text, e.UntilMs))
	case wire.EventType_EVENT_TYPE_MEMBER_UNBANNED:
		return fmt.Sprintf("%s unbanned %s", actor, whom)
	case wire.EventType_EVENT_TYPE_MEMBER_NICKNAMED:
		if len(who) == 0 {
			whom = "themselves"
		}
		if e.Text == "" {
			return fmt.Sprintf("%s calls %s by their own name", actor, whom)
		}
		return fmt.Sprintf("%s calls %s “%s” here", actor, whom, clean(e.Text))
	case wire.EventType_EVENT_TYPE_LIFETIME_CHANGED:
		return lifetimeText(actor, e.LifetimeS)
	case wire.EventType_EVENT_TYPE_ROLE_CHANGED:
		return fmt.Sprintf("%s made %s %s", actor, whom, strings.ToLower(strings.TrimPrefix(e.Role.String(), "ROLE_")))
	case wire.EventType_EVENT_TYPE_MEMBER_MUTED:
		if e.UntilMs == 0 {
			return fmt.Sprintf("%s unmuted %s", actor, whom)
		}
		return fmt.Sprintf("%s muted %s until %s", actor, whom, time.UnixMilli(e.UntilMs).Local().Format("Jan 2 15:04"))
	case wire.EventType_EVENT_TYPE_OWNER_CHANGED:
		return fmt.Sprintf("%s handed the group to %s", actor, whom)
	case wire.EventType_EVENT_TYPE_GROUP_CHANGED:
		return fmt.Sprintf("%s changed the group: %s", actor, changes(e.GetGroup()))
	case wire.EventType_EVENT_TYPE_GROUP_DISMISSED:
		return fmt.Sprintf("%s dismissed the group", actor)
	case wire.EventType_EVENT_TYPE_GROUP_RESTORED:
		return "the server lost the group's latest entries; its members are as they were"
	}
	return strings.ToLower(strings.TrimPrefix(e.GetType().String(), "EVENT_TYPE_"))
}
