package terminal

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/server"
	"github.com/skein-im/skein/wire"
)

var update = flag.Bool("update", false, "record docs/chat.cast anew")

const (
	recordingFile = "../../docs/chat.cast"
	// patience is how long anything that must come may take.
	patience = 30 * time.Second
)

// serve runs a server until the test ends.
func serve(t *testing.T) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := server.Open(ctx, server.Options{Settings: map[string]string{
		"data": filepath.Join(t.TempDir(), "data"), "http.listen": "127.0.0.1:0", "admin.listen": "", "gateway.drain_time": "100ms",
	}})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.URL()
}

// join makes an account and connects it.
func join(t *testing.T, url, name string) *skein.Client {
	t.Helper()
	device := &wire.Device{Id: name + "-1", Class: wire.DeviceClass_DEVICE_CLASS_DESKTOP}
	tokens, err := skein.Register(t.Context(), url, &wire.RegisterRequest{Username: name, Password: "correct horse", Device: device})
	if err != nil {
		t.Fatal(err)
	}
	c, err := skein.Dial(t.Context(), "ws"+strings.TrimPrefix(url, "http")+"/ws", skein.WithToken(tokens.AccessToken), skein.WithDevice(device.Id, device.Class, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// person sits in front of a window.
type person struct {
	t    *testing.T
	keys io.Writer
	end  chan error

	mu     sync.Mutex
	frame  string // the last one, without colours
	again  chan struct{}
	record *recording
	last   time.Time
	saw    []string // what was waited for
}

// sitDown opens a window for a client.
func sitDown(t *testing.T, client *skein.Client) *person {
	in, keys := io.Pipe()
	p := &person{t: t, keys: keys, end: make(chan error, 1), again: make(chan struct{}, 1), record: newRecording(), last: time.Now()}
	w := NewWindow(client)
	w.drawn = p.draws
	go func() {
		p.end <- w.Run(context.WithoutCancel(t.Context()), tea.WithInput(in), tea.WithOutput(io.Discard), tea.WithWindowSize(columns, lines),
			tea.WithColorProfile(colorprofile.ANSI), tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignalHandler())
	}()
	t.Cleanup(func() { _ = keys.Close() })
	return p
}

func (p *person) draws(frame string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.record.add(frame, now.Sub(p.last))
	p.last = now
	p.frame = ansi.Strip(frame)
	select {
	case p.again <- struct{}{}:
	default:
	}
}

// presses writes keys; when it is recorded, as fast as somebody types.
func (p *person) presses(keys string) {
	p.t.Helper()
	parts := []string{keys}
	if *update && !strings.HasPrefix(keys, "\x1b") {
		parts = strings.Split(keys, "")
	}
	for _, k := range parts {
		if _, err := io.WriteString(p.keys, k); err != nil {
			p.t.Fatal(err)
		}
		if *update {
			time.Sleep(45 * time.Millisecond)
		}
	}
}

// says writes a line.
func (p *person) says(line string) {
	p.t.Helper()
	p.presses(line)
	p.presses("\r")
}

// sees waits until the window shows something.
func (p *person) sees(text string) {
	p.t.Helper()
	p.until(text, func(frame string) bool { return strings.Contains(frame, text) })
	p.saw = append(p.saw, text)
	if *update {
		time.Sleep(700 * time.Millisecond)
	}
}

func (p *person) until(what string, is func(frame string) bool) {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		frame := p.frame
		p.mu.Unlock()
		if is(frame) {
			return
		}
		select {
		case <-p.again:
		case err := <-p.end:
			p.t.Fatalf("the window ended with %v; it should have shown %q", err, what)
		case <-deadline:
			p.t.Fatalf("the window does not show %q:\n%s", what, frame)
		}
	}
}

// finds searches until the index knows what was said: it follows what is stored.
func (p *person) finds(line, text string) {
	p.t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); {
		p.says(line)
		found := false
		p.until(text, func(frame string) bool {
			found = strings.Contains(frame, ": "+text) || strings.Count(frame, text) > 1
			return found || strings.Contains(frame, "nothing was found")
		})
		if found {
			p.saw = append(p.saw, text)
			return
		}
		p.presses("\x1b")
		p.until("no notices", func(frame string) bool { return !strings.Contains(frame, "nothing was found") })
	}
	p.t.Fatalf("%s does not find %q", line, text)
}

// must is a call of somebody else's that has to work.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAfternoon is a person's afternoon: a contact, a talk, a picture, a group with a
// poll, something new while another conversation is open. docs/chat.cast is a recording
// of it, and has to show all that the test waits for.
func TestAfternoon(t *testing.T) {
	recordingFile := must(filepath.Abs(recordingFile))(t)
	t.Chdir(t.TempDir())
	ok(t, os.WriteFile("lemons.png", picture(t), 0o600))
	url := serve(t)
	ctx := t.Context()
	ann, bob, carol := join(t, url, "ann"), join(t, url, "bob"), join(t, url, "carol")
	p := sitDown(t, ann)
	p.sees("/add @user")

	p.presses("/ad")
	p.sees("ask somebody to be your contact")
	p.presses("\t@bob It's me, Ann\r")
	p.sees("· asked")
	must(bob.Contacts().Accept(ctx, ann.User()))(t)
	p.sees("@bob is your contact now")
	p.says("/open @bob")
	p.sees("› Write a message")
	p.says("Tea this afternoon?")
	p.sees("✓")
	dm := bob.DM(ann.User())
	ok(t, dm.Typing(ctx))
	p.sees("@bob is typing …")
	must(dm.Send(ctx, "Gladly. Shall I bring a cake, or is it too warm for one? My sister has a recipe with lemons that needs no oven at all."))(t)
	p.sees("that needs no oven")
	ok(t, dm.MarkRead(ctx, 2))
	p.sees("✓✓ read")
	p.says("/react 2 🍋")
	p.sees("🍋 1")
	p.says("/edit 1 Tea this afternoon, at four?")
	p.sees("at four?  (edited)")
	p.friends(dm)

	must(carol.Contacts().Request(ctx, ann.User(), "It's Carol"))(t)
	p.sees("@carol wants to be your contact")
	p.says("/accept @carol")
	p.sees("· done")
	p.says("/group Tea @bob @carol")
	p.sees("made the group “Tea”")
	tea := group(t, ann)
	p.says("/poll Which cake? / Lemon / Chocolate")
	p.sees("[1] Lemon: 0")
	ok(t, bob.Conversation(tea).Vote(ctx, 2, optionOf(t, bob, tea, 0)))
	p.sees("[1] Lemon: 1")
	ok(t, bob.Call(ctx, "skein.v1.MessageService/MarkRead", &wire.MarkReadRequest{Conversation: tea, Seq: 2}, &wire.MarkReadResponse{}))
	p.says("/readby 2")
	p.sees("read by: @bob")
	p.says("/mute 8h")
	p.sees("muted until")
	p.says("/forward 2 @bob")
	p.says("/open @bob")
	p.sees("⤳ Which cake?")
	p.says("/forward 2 @carol")
	p.says("/open @carol")
	p.sees("⤳ Gladly. Shall I bring a cake, or")
	must(dm.Send(ctx, "Lemon it is"))(t)
	p.sees(" 1 ")
	p.presses("\x10") // ctrl+p
	p.sees("─ new ─")
	p.says("See you at four")
	p.sees("See you at four")
	p.says("/help")
	p.sees("lines more above")
	p.presses("\x1b")
	p.until("no help", func(frame string) bool { return !strings.Contains(frame, "lines more above") })
	p.says("/quit")
	select {
	case err := <-p.end:
		ok(t, err)
	case <-time.After(patience):
		t.Fatal("the window does not end")
	}

	if *update {
		ok(t, os.WriteFile(recordingFile, p.record.out.Bytes(), 0o644))
	}
	p.recorded(recordingFile)
}

// friends: a picture, a voice message, a pin, a folder, a message that grows, and what is found.
func (p *person) friends(dm *skein.Conversation) {
	t, ctx := p.t, p.t.Context()
	t.Helper()
	p.presses("/send le")
	p.sees("lemons.png")
	p.presses("\t")
	p.sees("/send lemons.png")
	p.presses("these?\r")
	p.sees("🖼 these?  (png, 40 × 30")
	must(dm.SendFile(ctx, &skein.Upload{Body: strings.NewReader("OggS\x00\x02 hm"), Size: 9, Duration: 4 * time.Second, Waveform: []byte{10, 90, 40, 100, 60, 20}}, ""))(t)
	p.sees("▁▇▃█▅▂  (ogg, 9 B, 0:04)")
	p.says("/save 6 hm.ogg")
	p.sees("saved as hm.ogg")
	p.says("/pin 2")
	p.sees("📌")
	p.says("/folder Friends")
	p.sees("▾ Friends")
	oven := must(dm.Stream(ctx, "Half an hour"))(t)
	p.sees("Half an hour …")
	ok(t, oven.Append(ctx, " and it is done."))
	ok(t, oven.End(ctx))
	p.until("the end of a message that grew", func(frame string) bool {
		return strings.Contains(frame, "it is done.") && !strings.Contains(frame, "done. …")
	})
	p.finds("/search no oven", "I bring a cake")
}

// recorded: a recording shows all that was waited for.
func (p *person) recorded(file string) {
	p.t.Helper()
	frames := playRecording(p.t, file)
	for _, text := range p.saw {
		if !slices.ContainsFunc(frames, func(f string) bool { return strings.Contains(f, text) }) {
			p.t.Errorf("%s does not show %q: record it anew, go test ./internal/terminal -run TestAfternoon -update", file, text)
		}
	}
}

// group is the group that a client is in.
func group(t *testing.T, c *skein.Client) string {
	t.Helper()
	for _, s := range must(c.Conversations(t.Context()))(t) {
		if strings.HasPrefix(s.ID, "grp:") {
			return s.ID
		}
	}
	t.Fatal("there is no group")
	return ""
}

// optionOf is the id of an option of the last poll, once it has come.
func optionOf(t *testing.T, c *skein.Client, conversation string, n int) string {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		ms, _ := c.Conversation(conversation).History(t.Context(), 0, 10) // it may not know the group yet
		for _, m := range ms {
			if m.Poll != nil {
				return m.Poll.Options[n].Id
			}
		}
	}
	t.Fatal("the poll does not come")
	return ""
}

// Narrow, low, empty: nothing is drawn beyond the window's edge.
func TestWindowFits(t *testing.T) {
	long := strings.Repeat("漢字 and a long word: ", 30)
	for _, size := range [][2]int{{100, 30}, {70, 10}, {69, 24}, {40, 12}, {20, 5}, {10, 3}} {
		for _, s := range []scene{
			{},
			{me: "@ann", rows: []row{{id: "a", title: long, last: long, unread: 12345}, {id: "b", title: "b", muted: true, unread: 1}}, open: "a", title: long,
				lines: []said{{who: "@ann", own: true, text: long, seq: 1, news: true}, {event: true, text: long}}, typing: long, notices: []string{long, "        ! " + long}, trouble: long},
			{rows: make([]row, 100), notices: make([]string, 100), lines: make([]said, 100)},
		} {
			m := newModel(t.Context(), NewWindow(nil))
			m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			m.Update(s)
			rows := strings.Split(m.View().Content, "\n")
			if len(rows) > size[1] {
				t.Errorf("%v: %d rows", size, len(rows))
			}
			for _, r := range rows {
				if n := ansi.StringWidth(r); n > size[0] {
					t.Errorf("%v: a row of %d: %q", size, n, r)
				}
			}
		}
	}
}

// Who was mentioned sees it in the list, also where they muted.
func TestListShowsMentions(t *testing.T) {
	m := newModel(t.Context(), NewWindow(nil))
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	m.Update(scene{rows: []row{{id: "a", title: "said", unread: 3}, {id: "b", title: "called", unread: 4, mentioned: true, muted: true}}})
	seen := ansi.Strip(m.View().Content)
	if !strings.Contains(seen, " 3 ") || !strings.Contains(seen, "@4 ") || strings.Contains(seen, "@3") {
		t.Errorf("the list:\n%s", seen)
	}
}

// Folders stand in the list under their names, behind what is in none; a heading comes
// with a conversation or not at all.
func TestListShowsFolders(t *testing.T) {
	m := newModel(t.Context(), NewWindow(nil))
	m.Update(scene{rows: []row{{id: "a", title: "alone"}, {id: "b", title: "boss", folder: "Work"}, {id: "c", title: "desk", folder: "Work"}, {id: "d", title: "dad", folder: "Home"}}})
	for height, want := range map[int]string{
		30: "alone ▾ Work boss desk ▾ Home dad", 12: "alone ▾ Work boss desk ▾ Home dad", 11: "alone ▾ Work boss desk … 1 more", 6: "alone … 3 more",
	} {
		m.Update(tea.WindowSizeMsg{Width: 100, Height: height})
		var got []string
		for _, line := range m.list()[2:] {
			if line = strings.Join(strings.Fields(ansi.Strip(line)), " "); line != "" {
				got = append(got, line)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d rows: %q, want %q", height, got, want)
		}
	}
}

func TestComplete(t *testing.T) {
	names := []string{"@bob", "@bo", "@ann"}
	for line, want := range map[string]string{
		"": "", "hello": "", "/open": "/open", "/une": "", "/unr": "/unreact /unread", "/open @bo": "@bo @bob", "hi @a": "@ann", "hi @": "", "/open x": "", "a /op": "",
	} {
		_, offers := complete(line, names)
		var got []string
		for _, o := range offers {
			got = append(got, o.word)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// What a terminal cannot show is named.
func TestContent(t *testing.T) {
	for want, m := range map[string]skein.Message{
		"hi⏎there":                            {Type: "text", Text: "hi\nthere"},
		"🖼 Lemons":                            {Type: "image", Text: `{"media":"https://x","caption":"Lemons"}`, Fallback: "picture"},
		"📎 plan.pdf":                          {Type: "file", Text: `{"name":"plan.pdf"}`},
		"🎤 a voice message":                   {Type: "voice", Text: "no JSON", Fallback: "a voice message"},
		"👤 card":                              {Type: "card", Text: "{}"},
		"a seat":                              {Type: "com.example.seat", Data: []byte{1}, Fallback: "a seat"},
		"row 5":                               {Type: "com.example.seat", Text: "row 5"},
		"see https://t.co [↗ Tea: Green·tea]": {Type: "text", Text: "see https://t.co", Preview: &wire.Preview{Url: "https://t.co", Title: "Green\x1btea", Site: "Tea"}},
		"https://t.co/p [↗ 🖼]":                {Type: "text", Text: "https://t.co/p", Preview: &wire.Preview{Image: &wire.Media{Id: "x"}}},
		"(com.example·, 3 bytes)":             {Type: "com.example\x1b", Data: []byte{1, 2, 3}},
	} {
		if got := content(&m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
