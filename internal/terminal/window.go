package terminal

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// Window is the chat on a whole terminal: the conversations on the left, the open one
// on the right, a line to write in below. Lines and commands are those of Chat; what
// they print stands above that line until the next one.
//
// What is shown is read from the client's store, anew after each event: there is no
// second state that could differ from it. Goroutines: bubbletea's, one for events, one
// that reads (draw), one for each line that is carried out, in the order in which they were
// written. Locks: mu guards what is
// below it, and is not held while the client is asked.
type Window struct {
	chat  *Chat
	dirty chan struct{} // something may have to be drawn anew
	drawn func(string)  // for tests: hears each frame

	mu      sync.Mutex
	notices []string
	typing  map[string]typist // by conversation
	news    map[string]uint64 // conversation → what was read when it was opened
	depth   int               // messages of the open conversation that are read
	trouble string            // why there is no connection
	going   map[int]string    // what is being sent or saved, and how far
	last    chan struct{}     // closed when the line before the next one lets it go on
}

type typist struct {
	user string
	till time.Time
}

const (
	pageOfWindow = 100
	typingShown  = 6 * time.Second
	// drawEvery bounds how often the store is read.
	drawEvery = 30 * time.Millisecond
)

// NewWindow returns a window on a connected (or connecting) client.
func NewWindow(client *skein.Client) *Window {
	w := &Window{dirty: make(chan struct{}, 1), typing: map[string]typist{}, news: map[string]uint64{}, going: map[int]string{}, depth: pageOfWindow, last: make(chan struct{})}
	close(w.last)
	w.chat = New(client, w)
	return w
}

// Run shows the window until /quit, ctrl+c or the end of ctx, or of the session
// (SessionOverError). The caller closes the client. The options are for tests, which have no terminal.
func (w *Window) Run(ctx context.Context, options ...tea.ProgramOption) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	program := tea.NewProgram(newModel(inner, w), append([]tea.ProgramOption{tea.WithContext(inner)}, options...)...)
	var others sync.WaitGroup
	others.Go(func() {
		for e := range w.chat.client.Events(inner) {
			w.onEvent(inner, e)
		}
	})
	others.Go(func() { w.draw(inner, program) })
	var over error // others' until they are done
	others.Go(func() {
		w.chat.look(w.chat.client.WaitConnected(inner)) // it may have stopped before it was listened to
		select {
		case over = <-w.chat.over:
			program.Quit()
		case <-inner.Done():
		}
	})
	w.touch()
	_, err := program.Run()
	stop()
	others.Wait()
	if over != nil && err == nil {
		return over
	}
	if ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// Write takes what Chat prints (Screen).
func (w *Window) Write(b []byte) (int, error) {
	w.mu.Lock()
	for line := range strings.Lines(string(b)) {
		w.notices = append(w.notices, strings.TrimRight(line, "\n"))
	}
	if n := len(w.notices); n > 500 {
		w.notices = w.notices[n-500:]
	}
	w.mu.Unlock()
	w.touch()
	return len(b), nil
}

// Progress shows how far something is (progressor).
func (w *Window) Progress(key int, text string) {
	w.mu.Lock()
	w.going[key] = text
	if text == "" {
		delete(w.going, key)
	}
	w.mu.Unlock()
	w.touch()
}

// ReadLine is not used: lines come from the model (Screen).
func (w *Window) ReadLine() (string, error) { return "", errors.New("a window reads keys") }

// SetPrompt does nothing: the header says what is open (Screen).
func (w *Window) SetPrompt(string) {}

// touch has the window drawn anew.
func (w *Window) touch() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

// onEvent notes what is not in the store, and has the rest drawn.
func (w *Window) onEvent(ctx context.Context, e skein.Event) {
	c := w.chat
	switch e := e.(type) {
	case *skein.MessageEvent:
		w.onNew(ctx, e.Message)
		w.mu.Lock()
		delete(w.typing, e.Message.Conversation)
		w.mu.Unlock()
	case *skein.GroupEvent:
		w.onNew(ctx, e.Message)
	case *skein.TypingEvent:
		w.mu.Lock()
		w.typing[e.Conversation] = typist{e.User, time.Now().Add(typingShown)}
		w.mu.Unlock()
		time.AfterFunc(typingShown, w.touch)
	case *skein.StateEvent:
		w.onState(e)
	case *skein.AckEvent, *skein.RecallEvent, *skein.GoneEvent, *skein.ChangedEvent, *skein.ReceiptEvent, *skein.MyStateEvent, *skein.PartEvent:
		// The store has it, or will.
	default:
		c.onEvent(ctx, e)
	}
	w.touch()
}

func (w *Window) onNew(ctx context.Context, m *skein.Message) {
	if m != nil && m.Conversation == w.chat.current() {
		w.chat.markRead(ctx, m.Conversation, m.Seq)
	}
}

func (w *Window) onState(e *skein.StateEvent) {
	trouble := ""
	switch {
	case e.State == skein.StateStopped && e.By != nil:
		trouble = clean(e.By.GetName()) + " took this one's place at " + e.At.Local().Format(time.TimeOnly) + "; /connect takes it back"
	case e.State == skein.StateStopped && w.chat.look(e.Err):
	case e.State == skein.StateStopped:
		trouble = "stopped: " + clean(e.Err.Error())
	case e.State == skein.StateDisconnected:
		trouble = "no connection, trying again"
	}
	w.mu.Lock()
	w.trouble = trouble
	w.mu.Unlock()
}

// line gives a line its place behind those that were written before it: it is carried out
// when they are, or let others go on (goOn). Only bubbletea's goroutine calls it.
func (w *Window) line() (inTurn func(ctx context.Context, do func(context.Context))) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, mine := w.last, make(chan struct{})
	w.last = mine
	return func(ctx context.Context, do func(context.Context)) {
		done := sync.OnceFunc(func() { close(mine) })
		defer done()
		select {
		case <-before:
			do(context.WithValue(ctx, goesOn{}, done))
		case <-ctx.Done():
		}
	}
}

// goesOn has in a context what lets the lines behind this one go on.
type goesOn struct{}

// goOn lets the lines behind the one that is carried out go on: it takes long.
func goOn(ctx context.Context) {
	if f, ok := ctx.Value(goesOn{}).(func()); ok {
		f()
	}
}

// carryOut runs a line; true means quit.
func (w *Window) carryOut(ctx context.Context, line string) (quit bool) {
	w.clear()
	before, read := w.chat.current(), w.whatIsRead(ctx)
	quit = w.chat.command(ctx, line)
	if now := w.chat.current(); now != before || strings.HasPrefix(line, "/open ") {
		w.opened(now, read)
	}
	w.touch()
	return quit
}

// open shows a conversation.
func (w *Window) open(ctx context.Context, id string) {
	w.clear()
	read := w.whatIsRead(ctx)
	w.chat.report(w.chat.openID(ctx, id))
	w.opened(id, read)
	w.touch()
}

// whatIsRead are the read marks of the conversations in which something is unread.
func (w *Window) whatIsRead(ctx context.Context) map[string]uint64 {
	read := map[string]uint64{}
	all, _ := w.chat.client.Conversations(ctx) // without the list there is no line above what is new
	for _, s := range all {
		if s.Unread > 0 {
			read[s.ID] = s.Read
		}
	}
	return read
}

// opened takes note of what was read before a conversation was opened, and drops what
// openID printed, messages that the window shows by itself; errors stay.
func (w *Window) opened(id string, read map[string]uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.news)
	if mark, ok := read[id]; ok {
		w.news[id] = mark
	}
	w.depth = pageOfWindow
	kept := w.notices[:0]
	for _, n := range w.notices {
		if strings.HasPrefix(strings.TrimSpace(n), "!") {
			kept = append(kept, n)
		}
	}
	w.notices = kept
}

// clear takes away what was printed.
func (w *Window) clear() {
	w.mu.Lock()
	w.notices = nil
	w.mu.Unlock()
	w.touch()
}

// deeper has more of the open conversation read.
func (w *Window) deeper() {
	w.mu.Lock()
	w.depth = min(w.depth+pageOfWindow, 2000)
	w.mu.Unlock()
	w.touch()
}

// draw passes what there is to see to the program, whenever it may have changed.
func (w *Window) draw(ctx context.Context, program *tea.Program) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.dirty:
		}
		program.Send(w.look(ctx))
		select {
		case <-ctx.Done():
			return
		case <-time.After(drawEvery):
		}
	}
}

// scene is all that the window shows of the client.
type scene struct {
	me      string
	rows    []row
	open    string
	title   string
	lines   []said
	typing  string
	notices []string
	trouble string
	going   []string // what is being sent or saved
	names   []string // for completion
}

// row is a conversation in the list.
type row struct {
	id, title, last string
	folder          string // the heading that it stands under, "" for none
	unread          uint64
	mentioned       bool // among what is unread
	pinned, muted   bool
}

// said is an entry of the timeline.
type said struct {
	at        time.Time
	who, text string
	own       bool
	event     bool
	news      bool // the first that is new
	seq       uint64
	status    skein.Status
}

// look reads the scene. It answers from the store; where that does not reach, it waits
// for the server for at most two seconds.
func (w *Window) look(ctx context.Context) scene {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c := w.chat
	s := scene{open: c.current(), me: c.name(ctx, c.client.User()), rows: w.rows(ctx)}
	w.mu.Lock()
	s.notices, s.trouble = append(s.notices, w.notices...), w.trouble
	for _, key := range slices.Sorted(maps.Keys(w.going)) {
		s.going = append(s.going, w.going[key])
	}
	typing, depth := w.typing[s.open], w.depth
	read, marked := w.news[s.open]
	w.mu.Unlock()
	c.mu.Lock()
	for _, n := range c.names {
		s.names = append(s.names, n)
	}
	c.mu.Unlock()
	if s.open == "" {
		return s
	}
	s.title = c.title(ctx, s.open)
	if time.Now().Before(typing.till) {
		s.typing = c.name(ctx, typing.user) + " is typing …"
	}
	v := c.client.Conversation(s.open)
	entries, _ := v.History(ctx, 0, depth) // what is there without the server is shown all the same
	waiting, _ := v.Outbox(ctx)
	for _, m := range append(entries, waiting...) {
		line, ok := c.timelineOf(ctx, m)
		if !ok {
			continue
		}
		if marked && !line.own && !line.event && (m.Seq > read) {
			line.news, marked = true, false
		}
		s.lines = append(s.lines, line)
	}
	return s
}

// rows are the conversations as the list has them: pinned ones first, then those that are
// in no folder, then the folders by their names.
func (w *Window) rows(ctx context.Context) []row {
	c := w.chat
	all, err := c.client.Conversations(ctx)
	if err != nil {
		return nil
	}
	var pinned, others []row
	for _, s := range all {
		if strings.HasPrefix(s.ID, "me:") || s.Hidden {
			continue
		}
		r := row{id: s.ID, title: c.title(ctx, s.ID), unread: s.Unread, mentioned: s.UnreadMentions > 0, pinned: s.Mine.GetPinned(), muted: s.Mine.GetMutedUntilMs() > time.Now().UnixMilli()}
		if s.MarkedUnread {
			r.unread = max(r.unread, 1)
		}
		if s.Last != nil {
			if line, ok := c.timelineOf(ctx, s.Last); ok {
				r.last = strings.ReplaceAll(line.text, "⏎", "  ")
			}
		}
		if r.pinned {
			pinned = append(pinned, r)
		} else {
			r.folder = clean(s.Mine.GetFolder())
			others = append(others, r)
		}
	}
	slices.SortStableFunc(others, func(a, b row) int { return strings.Compare(a.folder, b.folder) })
	return append(pinned, others...)
}

// timelineOf is an entry as the timeline shows it, false for those that have no line of
// their own.
func (c *Chat) timelineOf(ctx context.Context, m *skein.Message) (said, bool) {
	s := said{at: m.Time, who: c.name(ctx, m.Sender), own: m.Own, seq: m.Seq, status: m.Status}
	switch {
	case m.Kind == wire.EntryKind_ENTRY_KIND_EVENT:
		s.event, s.text = true, c.describe(ctx, m.Sender, m.Event)
	case m.Kind != wire.EntryKind_ENTRY_KIND_MESSAGE:
		return s, false
	case m.Recalled:
		s.event, s.text = true, s.who+" took a message back"
	default:
		s.text = saying(m, "⏎")
	}
	return s, true
}
