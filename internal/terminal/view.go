package terminal

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	skein "github.com/skein-im/skein/sdk/go"
)

// The sixteen colours are the terminal's own, so that a window looks right in a dark
// and in a light one.
var (
	faint  = lipgloss.NewStyle().Faint(true)
	strong = lipgloss.NewStyle().Bold(true)
	mine   = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.BrightBlue)
	wrong  = lipgloss.NewStyle().Foreground(lipgloss.Red)
	fresh  = lipgloss.NewStyle().Foreground(lipgloss.Red)
	badge  = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Green)
	here   = lipgloss.NewStyle().Reverse(true)

	others = []lipgloss.Style{
		lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Green), lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Magenta),
		lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Cyan), lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Yellow),
	}
)

const (
	listWidth = 28
	// Narrower windows have no list.
	widthWithList = 70
	mostOffers    = 6
	mostGoing     = 3
)

func (m *model) paneWidth() int {
	if m.width < widthWithList {
		return m.width
	}
	return m.width - listWidth - 1
}

// View draws the window.
func (m *model) View() tea.View {
	pane := m.pane()
	if m.width >= widthWithList {
		list := m.list()
		for i := range pane {
			pane[i] = fit(list[i], listWidth) + faint.Render("│") + pane[i]
		}
	}
	v := tea.NewView(strings.Join(pane, "\n"))
	if m.window.drawn != nil {
		m.window.drawn(v.Content)
	}
	v.AltScreen = true
	v.WindowTitle = "Skein"
	if m.scene.title != "" {
		v.WindowTitle = "Skein: " + m.scene.title
	}
	return v
}

// fit cuts or fills a line to a width.
func fit(s string, width int) string {
	s = ansi.Truncate(s, width, "…")
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// list is the column of conversations, a line for each row of the window.
func (m *model) list() []string {
	lines := []string{strong.Render(" Skein ") + faint.Render(m.scene.me), ""}
	for i, r := range m.scene.rows {
		heading := r.folder != "" && (i == 0 || m.scene.rows[i-1].folder != r.folder)
		if len(lines)+2 > m.height || heading && len(lines)+3 > m.height {
			lines[len(lines)-1] = faint.Render(fmt.Sprintf(" … %d more", len(m.scene.rows)-i))
			break
		}
		if heading {
			lines = append(lines, faint.Render(fit("▾ "+r.folder, listWidth-1)))
		}
		mark := " "
		switch {
		case r.pinned:
			mark = "▪"
		case r.muted:
			mark = "·"
		}
		count := ""
		if r.unread > 0 {
			count = " " + strconv.FormatUint(r.unread, 10) + " "
			if r.mentioned {
				count = " @" + count[1:]
			}
		}
		head := fit(mark+" "+r.title, listWidth-1-len(count))
		switch {
		case r.id == m.scene.open:
			head = here.Render(head + count)
		case r.unread > 0 && (!r.muted || r.mentioned):
			head = strong.Render(head) + badge.Render(count)
		default:
			head += faint.Render(count)
		}
		lines = append(lines, head, faint.Render("  "+ansi.Truncate(r.last, listWidth-4, "…")))
	}
	if len(m.scene.rows) == 0 {
		lines = append(lines, faint.Render("  /add @user, then"), faint.Render("  /open @user"))
	}
	for len(lines) < m.height {
		lines = append(lines, "")
	}
	return lines[:m.height]
}

// pane is the open conversation with the line to write in, a line for each row.
func (m *model) pane() []string {
	width := m.paneWidth()
	title := m.scene.title
	if title == "" {
		title = "No conversation is open"
	}
	head := " " + strong.Render(title)
	if m.scene.typing != "" {
		head += faint.Render("  " + m.scene.typing)
	}
	lines := []string{ansi.Truncate(head, width, "…"), faint.Render(strings.Repeat("─", width))}
	below := m.below(width)
	room := max(0, m.height-len(lines)-len(below))
	rows := m.timeline()
	end := max(0, len(rows)-m.up)
	rows = rows[max(0, end-room):end]
	for range room - len(rows) {
		lines = append(lines, "")
	}
	lines = append(append(lines, rows...), below...)
	return lines[:min(len(lines), m.height)]
}

// below is what stands under the timeline: what was printed, what is wrong,
// completions, the line.
func (m *model) below(width int) (lines []string) {
	notices := m.scene.notices
	if most := m.height * 2 / 3; len(notices) > most {
		notices = append([]string{fmt.Sprintf("… %d lines more above", len(notices)-most+1)}, notices[len(notices)-most+1:]...)
	}
	if len(notices) > 0 {
		lines = append(lines, faint.Render(strings.Repeat("╌", width)))
	}
	for _, n := range notices {
		n = ansi.Truncate(" "+strings.TrimPrefix(n, "       "), width, "…")
		if strings.HasPrefix(strings.TrimSpace(n), "!") {
			n = wrong.Render(n)
		}
		lines = append(lines, n)
	}
	for _, g := range m.scene.going[:min(len(m.scene.going), mostGoing)] {
		lines = append(lines, ansi.Truncate(" "+g, width, "…"))
	}
	if m.scene.trouble != "" {
		lines = append(lines, wrong.Render(ansi.Truncate(" ● "+m.scene.trouble, width, "…")))
	}
	lines = append(lines, faint.Render(strings.Repeat("─", width)))
	for i, o := range m.offers[:min(len(m.offers), mostOffers)] {
		line := ansi.Truncate(fmt.Sprintf(" %-12s %s", o.word, o.help), width, "…")
		if i == m.chosen {
			lines = append(lines, here.Render(line))
		} else {
			lines = append(lines, faint.Render(line))
		}
	}
	return append(lines, ansi.Truncate(m.input.View(), width, ""))
}

func (m *model) timelineHeight() int { return max(1, m.height-2-len(m.below(m.paneWidth()))) }

// timeline is the open conversation in rows of the pane's width.
func (m *model) timeline() (rows []string) {
	width := m.paneWidth()
	day := ""
	for _, s := range m.scene.lines {
		if d := s.at.Local().Format("Monday, January 2"); d != day {
			day = d
			rows = append(rows, faint.Render(centred(day, width)))
		}
		if s.news {
			rows = append(rows, fresh.Render(centred("new", width)))
		}
		rows = append(rows, entryRows(s, width)...)
	}
	return rows
}

func centred(text string, width int) string {
	side := strings.Repeat("─", max(0, (width-ansi.StringWidth(text)-2)/2))
	return ansi.Truncate(side+" "+text+" "+side, width, "")
}

// entryRows are the rows of one entry: its time and number stand in the margin.
func entryRows(s said, width int) (rows []string) {
	at := s.at.Local().Format("15:04")
	if s.event {
		return []string{ansi.Truncate(faint.Render(fmt.Sprintf(" %s  · %s", at, s.text)), width, "…")}
	}
	number := ""
	if s.seq > 0 {
		number = fmt.Sprintf(" #%d", s.seq)
	}
	head := faint.Render(" "+at+" ") + nameStyle(s).Render(s.who) + faint.Render(number+tickOf(s))
	rows = append(rows, ansi.Truncate(head, width, "…"))
	for line := range strings.SplitSeq(ansi.Wrap(strings.ReplaceAll(s.text, "⏎", "\n"), max(10, width-9), " "), "\n") {
		rows = append(rows, "       "+line)
	}
	return rows
}

func nameStyle(s said) lipgloss.Style {
	if s.own {
		return mine
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.who)) // it never fails
	return others[h.Sum32()%uint32(len(others))]
}

// tickOf is how far an own message has come.
func tickOf(s said) string {
	if !s.own {
		return ""
	}
	switch s.status {
	case skein.StatusPending:
		return " 🕓"
	case skein.StatusSent:
		return " ✓"
	case skein.StatusDelivered:
		return " ✓✓"
	case skein.StatusRead:
		return " ✓✓ read"
	case skein.StatusFailed:
		return " ! not sent"
	}
	return ""
}
