package terminal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// sendCmd uploads a file and sends it to the open conversation.
func (c *Chat) sendCmd(ctx context.Context, args []string) error {
	open := c.current()
	if open == "" {
		return errors.New("open a conversation first: /open @user, or /list")
	}
	path, caption := firstPath(strings.Join(args, " "))
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file", path)
	case info.Size() == 0:
		return fmt.Errorf("%s is empty", path)
	}
	name := clean(filepath.Base(path))
	ctx, tell, end := c.transfer(ctx, "↑ "+name)
	defer end()
	u := &skein.Upload{Body: f, Size: info.Size(), Name: name, Progress: func(done int64) { tell(done, info.Size()) }}
	_, err = c.client.Conversation(open).SendFile(ctx, u, caption)
	return err
}

// saveCmd downloads what a message has. `--replace` before the path writes over what is
// there, `--small` takes the small picture.
func (c *Chat) saveCmd(ctx context.Context, args []string) error {
	number, which, several := strings.Cut(args[0], ".")
	seq, err := parseSeq(number)
	if err != nil {
		return err
	}
	replace, small := false, false
	for args = args[1:]; len(args) > 0 && strings.HasPrefix(args[0], "--"); args = args[1:] {
		switch args[0] {
		case "--replace":
			replace = true
		case "--small":
			small = true
		default:
			return fmt.Errorf("%s is none of --replace, --small", clean(args[0]))
		}
	}
	path, _ := firstPath(strings.Join(args, " "))
	places, err := c.mediaOf(ctx, seq)
	if err != nil {
		return err
	}
	n := 1
	if several {
		if n, err = strconv.Atoi(which); err != nil {
			return fmt.Errorf("%q is not a number", which)
		}
	}
	if n < 1 || n > len(places) {
		return fmt.Errorf("#%d has %d files", seq, len(places))
	}
	known, err := c.client.Media(ctx, places[n-1])
	if err != nil {
		return err
	}
	if len(known) == 0 {
		return errors.New("it is not there any more")
	}
	return c.save(ctx, places[n-1], known[0], path, replace, small)
}

func (c *Chat) save(ctx context.Context, place *wire.MediaPlace, m *wire.Media, path string, replace, small bool) error {
	name, opts := safeName(m.Name, m.Mime), []skein.DownloadOption(nil)
	if small {
		name, opts = strings.TrimSuffix(name, filepath.Ext(name))+"-small.jpg", append(opts, skein.Thumbnail())
	}
	f, err := newFile(path, name, replace)
	if err != nil {
		return err
	}
	ctx, tell, end := c.transfer(ctx, "↓ "+name)
	defer end()
	_, err = c.client.Download(ctx, place, f, append(opts, skein.OnProgress(tell))...)
	if err := f.end(err); err != nil {
		return err
	}
	c.printf("        · saved as %s\n", clean(f.path))
	return nil
}

// mediaOf are the uploads that a message of the open conversation names.
func (c *Chat) mediaOf(ctx context.Context, seq uint64) (places []*wire.MediaPlace, err error) {
	ms, err := c.client.Conversation(c.current()).History(ctx, seq+1, 1)
	if err != nil {
		return nil, err
	}
	if len(ms) == 0 || ms[0].Seq != seq {
		return nil, fmt.Errorf("there is no #%d here", seq)
	}
	for i := range ms[0].Media {
		places = append(places, ms[0].MediaPlace(i))
	}
	return places, nil
}

// progressor is a Screen that shows how far something is in a line that changes; an empty
// text ends it.
type progressor interface{ Progress(key int, text string) }

// transfer begins to show how far something is. /stop ends it by its context.
func (c *Chat) transfer(ctx context.Context, what string) (_ context.Context, tell func(done, total int64), end func()) {
	goOn(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	c.lastTransfer++
	key := c.lastTransfer
	c.transfers[key] = func() { cancel(errStopped) }
	c.mu.Unlock()
	screen, live := c.screen.(progressor)
	shown := int64(-1)
	tell = func(done, total int64) {
		percent := 100 * done / max(total, 1)
		switch {
		case live && percent != shown:
			screen.Progress(key, fmt.Sprintf("%s  %s %d%% of %s", what, gauge(percent), percent, size(uint64(total))))
		case !live && percent/25 > shown/25 && percent < 100:
			c.printf("        %s  %d%% of %s\n", what, percent, size(uint64(total)))
		}
		shown = percent
	}
	return ctx, tell, func() {
		cancel(nil)
		c.mu.Lock()
		delete(c.transfers, key)
		c.mu.Unlock()
		if live {
			screen.Progress(key, "")
		}
	}
}

var errStopped = errors.New("stopped")

// stopCmd ends what is being sent or saved.
func (c *Chat) stopCmd(context.Context, []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.transfers {
		cancel()
	}
	return nil
}

// gauge is a bar of ten places.
func gauge(percent int64) string {
	n := int(min(max(percent, 0), 100) / 10)
	return strings.Repeat("█", n) + strings.Repeat("░", 10-n)
}

// size is a number of bytes as people say it.
func size(n uint64) string {
	const units = "KMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1000, 0
	for ; f >= 999.5 && i < len(units)-1; i++ {
		f /= 1000
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %cB", f, units[i])
	}
	return fmt.Sprintf("%.0f %cB", f, units[i])
}

// attached is what a message shows of one upload: its name, kind, size and duration, and of
// a voice message how loud it is.
type attached struct {
	Media, Mime, Name, Caption string
	Bytes                      uint64
	DurationMs                 uint32 `json:"duration_ms"`
	Width, Height              uint32
	Waveform                   []int
}

// attachments are the uploads of a message: what the server tells of them, otherwise what
// its sender does.
func attachments(m *skein.Message) (all []attached) {
	var said attached
	_, shows := signs[m.Type]
	if shows {
		_ = json.Unmarshal([]byte(m.Text), &said) // what is not as SPEC says is shown by its fallback
	}
	for _, u := range m.Media {
		a := attached{Media: u.Id, Mime: u.Mime, Name: u.Name, Bytes: u.Bytes, DurationMs: u.DurationMs, Width: u.Width, Height: u.Height}
		for _, b := range u.Waveform {
			a.Waveform = append(a.Waveform, int(b))
		}
		if u.Bytes == 0 && u.Id == said.Media {
			a = said // the server told its id alone
		}
		all = append(all, a)
	}
	if len(all) == 0 && said.Bytes > 0 {
		all = append(all, said)
	}
	return all
}

// facts is what there is to know of an upload besides its name.
func (a attached) facts() string {
	var parts []string
	if kind, _, err := mime.ParseMediaType(a.Mime); err == nil {
		_, sub, _ := strings.Cut(kind, "/")
		parts = append(parts, strings.TrimPrefix(sub, "x-"))
	}
	if a.Width > 0 && a.Height > 0 {
		parts = append(parts, fmt.Sprintf("%d × %d", a.Width, a.Height))
	}
	if a.Bytes > 0 {
		parts = append(parts, size(a.Bytes))
	}
	if a.DurationMs > 0 {
		d := (time.Duration(a.DurationMs)*time.Millisecond + 500*time.Millisecond) / time.Second
		parts = append(parts, fmt.Sprintf("%d:%02d", d/60, d%60))
	}
	if len(parts) == 0 {
		return ""
	}
	return clean(strings.Join(parts, ", "))
}

// wave draws loudnesses of 0 to 100 in at most 20 places.
func wave(loud []int) string {
	const heights = "▁▂▃▄▅▆▇█"
	levels := []rune(heights)
	n := min(len(loud), 20)
	out := make([]rune, n)
	for i := range out {
		most := 0
		for _, l := range loud[i*len(loud)/n : (i+1)*len(loud)/n] {
			most = max(most, l)
		}
		out[i] = levels[min(most, 100)*(len(levels)-1)/100]
	}
	return string(out)
}

// shownMedia is the content of a message that has uploads, or is of a type that shows one.
func shownMedia(m *skein.Message, text string) string {
	all := attachments(m)
	_, shows := signs[m.Type]
	for i, a := range all {
		facts := a.facts()
		if shows && i == 0 {
			if w := wave(a.Waveform); w != "" {
				text += "  " + w
			}
			if name := safeName(a.Name, a.Mime); a.Name != "" && !strings.Contains(text, name) {
				text += "  " + name
			}
			if facts != "" {
				text += "  (" + facts + ")"
			}
			continue
		}
		sign := "📎"
		for _, k := range []struct{ kind, sign string }{{"image/", "🖼"}, {"audio/", "🎵"}, {"video/", "🎬"}} {
			if strings.HasPrefix(a.Mime, k.kind) {
				sign = k.sign
			}
		}
		text += fmt.Sprintf("⏎%s %s", sign, clean(cmp.Or(safeName(a.Name, a.Mime), "file")))
		if w := wave(a.Waveform); w != "" {
			text += "  " + w
		}
		if facts != "" {
			text += "  (" + facts + ")"
		}
	}
	return text
}
