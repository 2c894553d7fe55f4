package terminal

import (
	"context"
	"os"
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// model is the window as bubbletea has it: what was drawn last, the line that is
// written, and how far the timeline was scrolled. Only bubbletea's goroutine touches it.
type model struct {
	ctx    context.Context
	window *Window
	scene  scene
	input  textinput.Model
	width  int
	height int
	// up is how many rows the timeline was scrolled up.
	up int
	// offers are completions of the last word, chosen the one that tab put there.
	offers []offer
	chosen int
	base   string // the line without that word
}

// carriedOut says that a line was.
type carriedOut struct{ quit bool }

func newModel(ctx context.Context, w *Window) *model {
	in := textinput.New()
	in.Prompt = "› "
	in.Placeholder = "Write a message, or /help"
	in.CharLimit = 60_000
	return &model{ctx: ctx, window: w, input: in, width: 80, height: 24, chosen: -1}
}

// Init puts the cursor where one writes.
func (m *model) Init() tea.Cmd { return m.input.Focus() }

// Update takes a key, a size or something to draw.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.input.SetWidth(max(10, m.paneWidth()-4))
		return m, nil
	case scene:
		if msg.open != m.scene.open {
			m.up = 0
		}
		m.scene = msg
		return m, nil
	case carriedOut:
		if msg.quit {
			return m, tea.Quit
		}
		return m, nil
	case tea.KeyPressMsg:
		if cmd, done := m.key(msg.String()); done {
			return m, cmd
		}
		m.chosen, m.offers = -1, nil
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	if m.chosen < 0 {
		m.base, m.offers = complete(m.input.Value(), m.scene.names)
	}
	return m, cmd
}

// key does what a key is for; false: it belongs to the line.
func (m *model) key(name string) (cmd tea.Cmd, done bool) {
	switch name {
	case "ctrl+c":
		return tea.Quit, true
	case "enter":
		line := strings.TrimSpace(m.input.Value())
		m.input.Reset()
		m.up, m.offers, m.chosen = 0, nil, -1
		if line == "" {
			return nil, true
		}
		inTurn := m.window.line()
		return func() (msg tea.Msg) {
			inTurn(m.ctx, func(ctx context.Context) { msg = carriedOut{m.window.carryOut(ctx, line)} })
			return msg
		}, true
	case "tab", "shift+tab":
		m.next(name == "tab")
		return nil, true
	case "esc":
		m.up, m.offers, m.chosen = 0, nil, -1
		return func() tea.Msg { m.window.clear(); return nil }, true
	case "ctrl+n", "alt+down":
		return m.move(1), true
	case "ctrl+p", "alt+up":
		return m.move(-1), true
	case "pgup":
		m.up += max(1, m.timelineHeight()/2)
		if rows := len(m.timeline()); m.up > rows-m.timelineHeight() {
			m.up = max(0, rows-m.timelineHeight())
			return func() tea.Msg { m.window.deeper(); return nil }, true
		}
		return nil, true
	case "pgdown":
		m.up = max(0, m.up-max(1, m.timelineHeight()/2))
		return nil, true
	}
	return nil, false
}

// next puts the next completion into the line.
func (m *model) next(forward bool) {
	if len(m.offers) == 0 {
		return
	}
	step := 1
	if !forward {
		step = len(m.offers) - 1
	}
	m.chosen = (max(m.chosen, -1) + step + len(m.offers)) % len(m.offers)
	word := m.offers[m.chosen].word
	if !os.IsPathSeparator(word[len(word)-1]) { // a directory goes on
		word += " "
	}
	m.input.SetValue(m.base + word)
	m.input.CursorEnd()
}

// move opens the conversation above or below the open one.
func (m *model) move(by int) tea.Cmd {
	rows := m.scene.rows
	if len(rows) == 0 {
		return nil
	}
	at := slices.IndexFunc(rows, func(r row) bool { return r.id == m.scene.open })
	switch {
	case at < 0 && by < 0:
		at = len(rows) - 1
	case at < 0:
		at = 0
	default:
		at = (at + by + len(rows)) % len(rows)
	}
	id := rows[at].id
	inTurn := m.window.line()
	return func() tea.Msg {
		inTurn(m.ctx, func(ctx context.Context) { m.window.open(ctx, id) })
		return nil
	}
}

// offer is a completion.
type offer struct{ word, help string }

// complete finds what the last word of a line may become: a command at the beginning, a
// name everywhere. base is the line before that word.
func complete(line string, names []string) (base string, offers []offer) {
	if path, is := strings.CutPrefix(line, "/send "); is {
		base, offers = "/send ", completePath(path)
		slices.SortFunc(offers, func(a, b offer) int { return strings.Compare(a.word, b.word) })
		return base, offers
	}
	at := strings.LastIndexByte(line, ' ') + 1
	base, word := line[:at], line[at:]
	switch {
	case at == 0 && strings.HasPrefix(word, "/"):
		for _, k := range commands() {
			if strings.HasPrefix("/"+k.name, word) {
				offers = append(offers, offer{"/" + k.name, strings.TrimSpace(k.args + "  " + k.help)})
			}
		}
	case strings.HasPrefix(word, "@") && len(word) > 1:
		for _, n := range names {
			if strings.HasPrefix(n, word) {
				offers = append(offers, offer{n, ""})
			}
		}
	}
	slices.SortFunc(offers, func(a, b offer) int { return strings.Compare(a.word, b.word) })
	return base, offers
}
