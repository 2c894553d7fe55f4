package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// recording is a window's frames, as a file of asciinema has them (version 2): of each
// frame the rows that changed.
type recording struct {
	began time.Time
	rows  []string
	out   bytes.Buffer
}

const (
	columns = 100
	lines   = 30
	// longestPause is how long the recording shows one frame.
	longestPause = 2500 * time.Millisecond
)

func newRecording() *recording {
	r := &recording{rows: make([]string, lines)}
	header, _ := json.Marshal(map[string]any{"version": 2, "width": columns, "height": lines, "title": "An afternoon in skein chat"}) // plain values
	r.out.Write(append(header, '\n'))
	return r
}

// add appends a frame, after a pause of at most longestPause.
func (r *recording) add(frame string, pause time.Duration) {
	var b strings.Builder
	for i, row := range strings.Split(frame, "\n") {
		if i < len(r.rows) && r.rows[i] != row {
			r.rows[i] = row
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[2K%s", i+1, row)
		}
	}
	if b.Len() == 0 {
		return
	}
	r.began = r.began.Add(min(pause, longestPause))
	event, _ := json.Marshal([]any{float64(r.began.Sub(time.Time{}).Milliseconds()) / 1000, "o", b.String()}) // plain values
	r.out.Write(append(event, '\n'))
}

// rowMark is where a row begins that changed.
var rowMark = regexp.MustCompile(`\x1b\[(\d+);1H\x1b\[2K`)

// playRecording gives the text of each frame of a file.
func playRecording(t *testing.T, path string) (frames []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	screen := make([]string, lines)
	for i, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		if i == 0 {
			continue
		}
		var event []any
		if err := json.Unmarshal([]byte(line), &event); err != nil || len(event) != 3 {
			t.Fatalf("%s:%d: %v", path, i+1, err)
		}
		text, _ := event[2].(string)
		marks := rowMark.FindAllStringSubmatchIndex(text, -1)
		if len(marks) == 0 || marks[0][0] != 0 {
			t.Fatalf("%s:%d: %q", path, i+1, text)
		}
		for k, m := range marks {
			row, err := strconv.Atoi(text[m[2]:m[3]])
			if err != nil || row < 1 || row > lines {
				t.Fatalf("%s:%d: row %s", path, i+1, text[m[2]:m[3]])
			}
			end := len(text)
			if k+1 < len(marks) {
				end = marks[k+1][0]
			}
			screen[row-1] = ansi.Strip(text[m[1]:end])
		}
		frames = append(frames, strings.Join(screen, "\n"))
	}
	return frames
}
