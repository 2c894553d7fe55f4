package terminal

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// A name of somebody else's is no path, shows all that it is, and is no device.
func TestSafeName(t *testing.T) {
	for name, want := range map[string]string{
		"plan.pdf": "plan.pdf", "../../etc/passwd": "passwd", `..\..\boot.ini`: "boot.ini", "/": "file", "..": "file", ".": "file", "": "file", ".bashrc": "bashrc",
		"a\nb\x1b[2J.txt": "ab[2J.txt", "exe\u202egpj.scr": "exegpj.scr", "con": "_con", "CON.txt": "_CON.txt", "nul .txt": "_nul.txt", "com1.tar.gz": "_com1.tar.gz", "console": "console",
		"a:b?.txt": "a_b_.txt", "end. . ": "end", "\xff.txt": "txt", "日本語.png": "日本語.png",
		strings.Repeat("ü", 200) + ".jpeg": strings.Repeat("ü", 72) + ".jpeg",
		"x." + strings.Repeat("y", 200):    "x." + strings.Repeat("y", 148),
	} {
		if got := safeName(name, ""); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := safeName("", "image/png"); got != "file.png" {
		t.Errorf("a picture without a name: %q", got)
	}
}

func TestFirstPath(t *testing.T) {
	dir, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	for text, want := range map[string][2]string{
		"a.png": {"a.png", ""}, "a.png two words": {"a.png", "two words"}, `"my plan.pdf" see`: {"my plan.pdf", "see"}, "'a b'": {"a b", ""}, "": {"", ""},
		"~/x y": {dir + "/x", "y"}, "~bob/x": {"~bob/x", ""},
	} {
		if path, rest := firstPath(text); path != want[0] || rest != want[1] {
			t.Errorf("%q: %q, %q", text, path, rest)
		}
	}
}

func TestCompletePath(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"plan.pdf", "plan b.pdf", ".hidden", "bad\x1bname"} {
		ok(t, os.WriteFile(name, nil, 0o600))
	}
	ok(t, os.MkdirAll("plans/old", 0o700))
	for text, want := range map[string]string{
		"/send ": `"plan b.pdf" plan.pdf plans/`, "/send plan.": "plan.pdf", "/send plans/": "plans/old/", "/send x": "", "/send nowhere/": "", `/send "plan b`: `"plan b.pdf"`,
		`/send "plan b.pdf" cap`: "", "/send plan.pdf pl": "", "/send .h": ".hidden",
	} {
		base, offers := complete(text, nil)
		var got []string
		for _, o := range offers {
			got = append(got, o.word)
		}
		if base != "/send " || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Nothing is written over, and what was not written whole is not there.
func TestNewFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.txt")
	for _, into := range []string{dir, dir + "/", path} {
		ok(t, os.WriteFile(path, []byte("mine"), 0o600))
		if f, err := newFile(into, "plan.txt", false); err == nil {
			t.Errorf("%s: wrote over %s", into, f.path)
		}
		for _, failed := range []error{os.ErrInvalid, nil} {
			f := must(newFile(into, "plan.txt", true))(t)
			if _, err := f.WriteString("theirs"); err != nil {
				t.Fatal(err)
			}
			if err := f.end(failed); err != failed {
				t.Errorf("ended with %v", err)
			}
			want := map[bool]string{true: "mine", false: "theirs"}[failed != nil]
			if got := must(os.ReadFile(path))(t); string(got) != want {
				t.Errorf("%s: %q, want %q", into, got, want)
			}
		}
	}
	ok(t, os.Symlink(path, filepath.Join(dir, "link")))
	ok(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "dangling")))
	for _, name := range []string{"link", "dangling"} {
		if _, err := newFile(filepath.Join(dir, name), "", false); err == nil {
			t.Errorf("followed %s", name)
		}
	}
	if _, err := newFile(filepath.Join(dir, "nowhere")+"/", "x", false); err == nil {
		t.Error("a directory that is not there")
	}
	f := must(newFile(filepath.Join(dir, "new"), "", false))(t)
	if err := f.end(os.ErrInvalid); err == nil {
		t.Error("it did not fail")
	}
	left := must(os.ReadDir(dir))(t)
	if len(left) != 3 {
		t.Errorf("there are %v", left)
	}
}

func TestSizes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 999: "999 B", 1000: "1.0 KB", 9949: "9.9 KB", 9950: "10 KB", 999_499: "999 KB", 999_999: "1.0 MB", 1 << 30: "1.1 GB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := wave([]int{0, 50, 100, 900}); got != "▁▄██" {
		t.Errorf("wave %s", got)
	}
	if got := wave(make([]int, 100)); got != strings.Repeat("▁", 20) {
		t.Errorf("wave %s", got)
	}
	if got := gauge(35); got != "███░░░░░░░" {
		t.Errorf("gauge %s", got)
	}
}

// Pictures, files and sound are shown by their names, kinds, sizes and durations: as the
// server tells them, whatever their sender says.
func TestShownMedia(t *testing.T) {
	const id = "AAAAAAAAAAAAAAAAAAAAAAAAAA"
	for want, m := range map[string]skein.Message{
		"📎 plan.pdf  (pdf, 1.2 MB)": {Type: "file", Text: `{"media":"` + id + `","name":"plan.pdf","mime":"application/pdf","bytes":1200000}`},
		"📎 see  plan.pdf  (pdf, 12 B)": {Type: "file", Text: `{"media":"` + id + `","name":"../nice.exe","caption":"see","mime":"x/y","bytes":5}`,
			Media: []*wire.Media{{Id: id, Name: "plan.pdf", Mime: "application/pdf", Bytes: 12}}},
		"🖼 image  (png, 400 × 300, 2.0 KB)":        {Type: "image", Text: `{}`, Media: []*wire.Media{{Mime: "image/png", Width: 400, Height: 300, Bytes: 2000}}},
		"🎤 voice  ▁█  (ogg, 9.0 KB, 1:05)":         {Type: "voice", Text: `{}`, Media: []*wire.Media{{Mime: "audio/ogg", Bytes: 9000, DurationMs: 64_600, Waveform: []byte{0, 100}}}},
		"look⏎🖼 a.png  (png, 5 B)⏎📎 b  (zip, 6 B)": {Type: "text", Text: "look", Media: []*wire.Media{{Name: "a.png", Mime: "image/png", Bytes: 5}, {Name: "b", Mime: "application/zip", Bytes: 6}}},
		"📎 plan.pdf  (pdf, 7 B)":                   {Type: "file", Text: `{"media":"` + id + `","name":"plan.pdf","mime":"application/pdf","bytes":7}`, Media: []*wire.Media{{Id: id}}},
	} {
		if got := content(&m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestQuietUntil(t *testing.T) {
	now := time.Unix(1e9, 0)
	for word, want := range map[string]time.Time{"8h": now.Add(8 * time.Hour), "7d": now.Add(7 * 24 * time.Hour), "off": {}, "0": {}, "ever": forEver} {
		if got, err := quietUntil(word, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", word, got, err)
		}
	}
	for _, word := range []string{"", "-1h", "x", "366d"} {
		if got, err := quietUntil(word, now); err == nil {
			t.Errorf("%q: %v", word, got)
		}
	}
	m := &wire.MyState{Pinned: true, MutedUntilMs: now.UnixMilli() + 1}
	if got := state(m, true, true, now); got != " {pinned, muted, hidden, marked unread}" {
		t.Errorf("state %q", got)
	}
	if got := state(m, false, false, now.Add(time.Second)); got != " {pinned}" {
		t.Errorf("state %q", got)
	}
}

// Lines are carried out in the order in which they were written, also when each is begun by
// a goroutine of its own; one that takes long lets those behind it go on.
func TestLinesInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(nil)
		first, second, third := w.line(), w.line(), w.line()
		var mu sync.Mutex
		var did []string
		does := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			did = append(did, what)
		}
		go third(t.Context(), func(context.Context) { does("third") })
		go second(t.Context(), func(ctx context.Context) {
			does("second begins")
			goOn(ctx)
			time.Sleep(time.Hour)
			does("second ends")
		})
		synctest.Wait()
		if len(did) > 0 {
			t.Errorf("before its turn: %q", did)
		}
		go first(t.Context(), func(context.Context) { time.Sleep(time.Minute); does("first") })
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := strings.Join(did, ", "); got != "first, second begins, third, second ends" {
			t.Error(got)
		}
	})
}

// picture is a PNG.
func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	ok(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))))
	return b.Bytes()
}

// printed is what a chat on pipes prints.
type printed struct{ bytes.Buffer }

func (p *printed) ReadLine() (string, error) { return "", os.ErrClosed }
func (p *printed) SetPrompt(string)          {}

// What is sent with /send is saved with /save, byte for byte, and never over something else.
func TestSendAndSave(t *testing.T) {
	url := serve(t)
	ann := join(t, url, "ann")
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "my plan.txt"), []byte("Tea at five."), 0o600))
	ok(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	out := &printed{}
	c := New(ann, out)
	says := func(line, want string) {
		t.Helper()
		out.Reset()
		c.command(t.Context(), line)
		if got := out.String(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	says("/send x", "! open a conversation first")
	says("/saved", "your notes")
	says("/send "+dir, "is no file")
	says("/send "+dir+"/empty", "is empty")
	says("/send "+dir+"/nothing", "no such file")
	says(`/send "`+dir+`/my plan.txt" the plan`, "")
	says("/history", "📎 the plan  my plan.txt  (plain, 12 B)  #1")
	says("/save 1 "+dir, "is there already")
	says("/save 1 "+dir+"/copy", "saved as "+dir+"/copy")
	if got := must(os.ReadFile(dir + "/copy"))(t); string(got) != "Tea at five." {
		t.Errorf("saved %q", got)
	}
	says("/save 1 --replace "+dir, "saved as "+dir+"/my plan.txt")
	says("/save 1 --small "+dir+"/s", "not_found")
	says("/save 1.2 "+dir+"/s", "#1 has 1 files")
	says("/save 7", "there is no #7")
	says("/save 1 --what x", "--what is none of")
	if _, err := os.Stat(dir + "/s"); err == nil {
		t.Error("what was not saved is there")
	}
	says("/mute 8h", "muted until")
	says("/pin", "on top of your list")
	says("/unread", "marked as unread")
	says("/hide", "hidden until")
	says("/list", "your notes {pinned, muted, hidden")
	says("/unhide", "in the list again")
	says("/mute ever", "until you end it")
	says("/mute off", "not muted")
	says("/unpin", "not on top")
	says("/mute x", "is no time like")
	says("/list", "your notes ")
	if strings.Contains(out.String(), "pinned") {
		t.Errorf("the list: %s", out)
	}
}
