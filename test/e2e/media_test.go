package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// scissors opens connections to a node, and cuts the next ones of HTTP: each after so many
// bytes up, or down.
type scissors struct {
	w World

	mu   sync.Mutex
	cuts []cut
	made int
	live []*cutLine
}

// cut is after how many bytes a connection ends; -1: it does not.
type cut struct{ up, down int }

// next are the cuts of the connections to come. Those of HTTP that there are end.
func (c *scissors) next(cuts ...cut) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cuts, c.made = cuts, 0
	for _, line := range c.live {
		_ = line.Conn.Close()
	}
	c.live = nil
}

// left is how many of the cuts were not made.
func (c *scissors) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.cuts) + c.made
}

func (c *scissors) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	nc, err := c.w.Dial(ctx, "ws")
	if err != nil {
		return nil, err
	}
	return &cutLine{Conn: nc, c: c}, nil
}

// cutLine is a connection that may be cut.
type cutLine struct {
	net.Conn
	c *scissors

	mu   sync.Mutex
	at   *cut
	up   int
	down int
	over bool
}

var errCut = errors.New("the line was cut")

// Write passes on what is before the cut. What begins with an upgrade is not cut.
func (c *cutLine) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = &cut{-1, -1}
		c.c.mu.Lock()
		if !bytes.HasPrefix(p, []byte("GET /ws")) {
			c.c.live = append(c.c.live, c)
			if len(c.c.cuts) > 0 {
				*c.at, c.c.cuts = c.c.cuts[0], c.c.cuts[1:]
				c.c.made++
			}
		}
		c.c.mu.Unlock()
	}
	if c.over {
		return 0, errCut
	}
	if c.at.up >= 0 && c.up+len(p) > c.at.up {
		n, _ := c.Conn.Write(p[:c.at.up-c.up])
		return n, c.end()
	}
	n, err := c.Conn.Write(p)
	c.up += n
	return n, err
}

func (c *cutLine) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return 0, errCut
	}
	if c.at != nil && c.at.down >= 0 && c.down+n > c.at.down {
		return c.at.down - c.down, c.end()
	}
	c.down += n
	return n, err
}

// end cuts the line; c.mu is held.
func (c *cutLine) end() error {
	c.over = true
	_ = c.Conn.Close()
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	c.c.made--
	return errCut
}

// content is bytes that are of no kind.
func content(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), 1})
	_, _ = r.Read(b) // it never fails
	b[0] = 0x01      // not the beginning of anything that is known
	return b
}

func mediaNode(t *testing.T, more map[string]string) World {
	all := map[string]string{"media.uploads_per_hour": "0", "http.listen": "127.0.0.1:0"}
	for k, v := range more {
		all[k] = v
	}
	return oneNode(t, terms{settings: all})
}

// TestUploadCut: whatever is cut, and wherever, what is sent is one message that names one
// upload with all of its bytes, and what is fetched are these bytes.
func TestUploadCut(t *testing.T) {
	w := mediaNode(t, nil)
	const size = 300_000
	ups := []int{0, 1, 90, 180, 250, 400, 600, 5_000, 70_000, 150_000, 299_000, 300_100, 300_500}
	downs := []int{0, 1, 150, 300, 400}
	for n, c := range append(cutsOf(ups, true), cutsOf(downs, false)...) {
		t.Run(fmt.Sprintf("%d up, %d down", c.up, c.down), func(t *testing.T) {
			t.Parallel()
			k := &scissors{w: w}
			user := fmt.Sprint("ann", n)
			ann := connect(t, w, newDevice(t, w, user, wire.DeviceClass_DEVICE_CLASS_PHONE, 1+n%2), skein.WithDialer(k.Dial))
			body := content(size, uint64(n))
			k.next(c, c, c)
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			last := int64(0)
			m, err := ann.Saved().SendFile(ctx, &skein.Upload{Body: bytes.NewReader(body), Size: size, Name: `C:\x\plan.bin`, Progress: func(done int64) { last = done }}, "see")
			if err != nil {
				t.Fatal(err)
			}
			if k.left() != 0 {
				t.Errorf("%d of the cuts were not made", k.left())
			}
			ms := must(ann.Saved().History(ctx, 0, 10))(t)
			if len(ms) != 1 || len(ms[0].Media) != 1 || ms[0].Type != "file" || ms[0].Fallback != "plan.bin" || last != size {
				t.Errorf("%d messages, %+v; told of %d bytes", len(ms), ms, last)
			}
			known := must(ann.Media(ctx, m.MediaPlace(0)))(t)
			if len(known) != 1 || known[0].Bytes != size || known[0].Name != "plan.bin" {
				t.Errorf("%v", known)
			}
			k.next(cut{-1, 100_000}, cut{-1, 150_000}, cut{-1, 500})
			var got bytes.Buffer
			wrote, err := ann.Download(ctx, ms[0].MediaPlace(0), &got)
			if k.left() != 0 {
				t.Errorf("%d of the cuts of the download were not made", k.left())
			}
			if err != nil || wrote != size || sha256.Sum256(got.Bytes()) != sha256.Sum256(body) {
				t.Errorf("%d bytes, %v", wrote, err)
			}
		})
	}
}

func cutsOf(at []int, up bool) (all []cut) {
	for _, n := range at {
		c := cut{n, -1}
		if !up {
			c = cut{-1, n}
		}
		all = append(all, c)
	}
	return all
}

// TestUploadGoesOn: what one process began another one ends, with the state that the first
// one kept: the same upload, and one message.
func TestUploadGoesOn(t *testing.T) {
	t.Parallel()
	w := mediaNode(t, nil)
	phone := newDevice(t, w, "ann", wire.DeviceClass_DEVICE_CLASS_PHONE, 1)
	ann := connect(t, w, phone)
	const size = 3 << 20
	body := content(size, 7)
	var kept []byte
	ctx, cancel := context.WithCancel(t.Context())
	_, err := ann.Upload(ctx, &skein.Upload{
		Body: bytes.NewReader(body), Size: size,
		Save: func(s skein.UploadState) (err error) { kept, err = json.Marshal(s); return err },
		Progress: func(done int64) {
			if done > 2<<20 {
				cancel()
			}
		},
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	ann.leave()
	ann = connect(t, w, phone)
	var state skein.UploadState
	if err := json.Unmarshal(kept, &state); err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(body)
	changed[0]++
	if _, err := ann.Upload(t.Context(), &skein.Upload{Body: bytes.NewReader(changed), Size: size, Resume: &state}); !errors.Is(err, skein.ErrOtherContent) {
		t.Errorf("another content: %v", err)
	}
	id := skein.NewMessageID()
	first := int64(-1)
	again := func() *skein.Message {
		ctx, cancel := context.WithTimeout(t.Context(), patience/2)
		defer cancel()
		m, err := ann.Saved().SendFile(ctx, &skein.Upload{Body: bytes.NewReader(body), Size: size, Resume: &state, Progress: func(done int64) {
			if first < 0 {
				first = done
			}
		}}, "", skein.WithID(id))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	one, two := again(), again() // the first was killed before it noted that it had sent
	if first < 1<<20 {
		t.Errorf("it went on from %d", first)
	}
	if one.Seq != two.Seq || one.ID != id || len(one.Media) != 1 || one.Media[0].Id != state.ID {
		t.Errorf("%+v\n%+v", one, two)
	}
	if ms := must(ann.Saved().History(t.Context(), 0, 10))(t); len(ms) != 1 {
		t.Errorf("%d messages", len(ms))
	}
	if _, err := ann.Saved().Send(t.Context(), "other words", skein.WithID(id)); !isCode(err, wire.CodeIdConflict) {
		t.Errorf("other contents with the same id: %v", err)
	}
	var got bytes.Buffer
	if n, err := ann.Download(t.Context(), one.MediaPlace(0), &got); err != nil || !bytes.Equal(got.Bytes(), body) {
		t.Errorf("%d bytes, %v", n, err)
	}
	// What the server has no more is begun anew.
	state.ID = "AAAAAAAAAAAAAAAAAAAAAAAAAA"
	m, err := ann.Upload(t.Context(), &skein.Upload{Body: bytes.NewReader(body), Size: size, Resume: &state})
	if err != nil || m.Id == state.ID || m.Bytes != size {
		t.Errorf("%v, %v", m, err)
	}
}

// TestFetching: parts, the small picture, a link, and who may.
func TestFetching(t *testing.T) {
	t.Parallel()
	w := mediaNode(t, nil)
	ann, bob, cem := join(t, w, "ann", 1), join(t, w, "bob", 2), join(t, w, "cem", 0, skein.WithBaseURL(w.HTTP()), skein.WithDialer(func(ctx context.Context, _, address string) (net.Conn, error) {
		if address == "chat.example:1" {
			return w.Dial(ctx, "tcp")
		}
		return w.Dial(ctx, "ws")
	}))
	befriend(t, ann, bob)
	ctx := deadline(t)
	dm := ann.Conversation(ann.DM("bob").ID())
	body := content(100_000, 3)
	file := must(dm.SendFile(ctx, &skein.Upload{Body: bytes.NewReader(body), Size: int64(len(body)), Name: "plan.bin"}, ""))(t)
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 400, 300))); err != nil {
		t.Fatal(err)
	}
	sent := must(dm.SendFile(ctx, &skein.Upload{Body: bytes.NewReader(drawn.Bytes()), Size: int64(drawn.Len())}, "grey"))(t)
	bob.reaches(dm.ID(), sent.Seq)
	ms := must(bob.Conversation(dm.ID()).History(ctx, 0, 2))(t)
	picture := ms[1]
	if picture.Type != "image" || picture.Media[0].Width != 400 || !picture.Media[0].Thumbnail {
		t.Fatalf("%+v", picture)
	}
	for _, p := range []struct{ at, n, want int64 }{{0, 10, 10}, {5, 0, 99_995}, {99_990, 20, 10}, {100_000, 5, 0}, {200_000, 0, 0}} {
		var got bytes.Buffer
		total := int64(0)
		n, err := bob.Download(ctx, ms[0].MediaPlace(0), &got, skein.Part(p.at, p.n), skein.OnProgress(func(_, all int64) { total = all }))
		if err != nil || n != p.want || !bytes.Equal(got.Bytes(), body[min(p.at, 100_000):min(p.at, 100_000)+p.want]) || p.want > 0 && total != 100_000 {
			t.Errorf("%+v: %d bytes of %d, %v", p, n, total, err)
		}
	}
	var small bytes.Buffer
	if _, err := bob.Download(ctx, picture.MediaPlace(0), &small, skein.Thumbnail()); err != nil || !bytes.HasPrefix(small.Bytes(), []byte{0xff, 0xd8}) {
		t.Errorf("the small picture: %v, %x", err, small.Bytes()[:min(4, small.Len())])
	}
	if _, err := bob.Download(ctx, ms[0].MediaPlace(0), io.Discard, skein.Thumbnail()); !errors.Is(err, skein.ErrNotFound) {
		t.Errorf("the small picture of a file: %v", err)
	}
	link, until, err := bobLink(ctx, bob, ms[0].MediaPlace(0), w)
	if err != nil || time.Until(until) < time.Minute || !bytes.Equal(link, body) {
		t.Errorf("%d bytes by a link until %v, %v", len(link), until, err)
	}
	if _, err := join(t, w, "dan", 0).Upload(ctx, &skein.Upload{Body: bytes.NewReader(body), Size: 9}); !errors.Is(err, skein.ErrNoBaseURL) {
		t.Errorf("an upload to nowhere: %v", err)
	}
	if _, err := cem.Download(ctx, &wire.MediaPlace{Id: file.Media[0].Id}, io.Discard); !errors.Is(err, skein.ErrNotFound) {
		t.Errorf("a stranger fetches: %v", err)
	}
	soon := must(ann.Upload(ctx, &skein.Upload{Body: bytes.NewReader(body), Size: 50}))(t)
	must(dm.SendLater(ctx, time.Now().Add(300*time.Millisecond), "later", skein.Attach(soon.Id)))(t)
	if m := bob.hears("later"); len(m.Media) != 1 || m.Media[0].Bytes != 50 {
		t.Errorf("sent later: %+v", m)
	} else if n, err := bob.Download(ctx, m.MediaPlace(0), io.Discard); n != 50 || err != nil {
		t.Errorf("sent later: %d bytes, %v", n, err)
	}
	full := errors.New("no room")
	if _, err := bob.Download(ctx, ms[0].MediaPlace(0), failing{full}); !errors.Is(err, full) {
		t.Errorf("a writer that fails: %v", err)
	}
	if err := dm.Recall(ctx, file.Seq); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Download(ctx, ms[0].MediaPlace(0), io.Discard); !errors.Is(err, skein.ErrNotFound) {
		t.Errorf("what was taken back: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// bobLink fetches by a link, without a header. Links are of the address that the client
// was told.
func bobLink(ctx context.Context, p *person, place *wire.MediaPlace, w World) (body []byte, until time.Time, err error) {
	link, until, err := p.MediaLink(ctx, place, false)
	if err != nil {
		return nil, until, err
	}
	const base = "http://chat.example"
	if len(link) < len(base) || link[:len(base)] != base {
		return nil, until, fmt.Errorf("the link is %s", link)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.HTTP()+link[len(base):], nil)
	if err != nil {
		return nil, until, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, until, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return body, until, err
}

// TestUploadRefused: what the server does not take is an error of the SDK's, with the field.
func TestUploadRefused(t *testing.T) {
	t.Parallel()
	w := mediaNode(t, map[string]string{"media.max_bytes": "1MiB", "media.user_bytes": "2MiB"})
	ann := join(t, w, "ann", 1)
	ctx := deadline(t)
	broken := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01"), make([]byte, 100)...)
	long := make([]byte, 1<<20+1)
	for _, c := range []struct {
		name  string
		u     skein.Upload
		code  wire.Code
		field string
	}{
		{"too long", skein.Upload{Body: bytes.NewReader(long), Size: 1<<20 + 1}, wire.CodeTooLarge, "size"},
		{"a broken picture", skein.Upload{Body: bytes.NewReader(broken), Size: int64(len(broken))}, wire.CodeInvalidArgument, "media"},
		{"a name with a line", skein.Upload{Body: bytes.NewReader(broken), Size: 3, Name: "a\nb"}, wire.CodeInvalidArgument, "Upload-Metadata.filename"},
	} {
		_, err := ann.Upload(ctx, &c.u)
		var e *skein.Error
		if !errors.As(err, &e) || e.Code != c.code || e.Field != c.field {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A voice message: what its client knows of it is told with it.
	voice := append([]byte("OggS\x00\x02"), make([]byte, 100)...)
	m := must(ann.Saved().SendFile(ctx, &skein.Upload{Body: bytes.NewReader(voice), Size: int64(len(voice)), Name: "v.ogg", Duration: 1500 * time.Millisecond, Waveform: skein.Bars([]float64{0, -1, .5})}, ""))(t)
	known := must(ann.Media(ctx, m.MediaPlace(0)))(t)
	if m.Type != "voice" || known[0].DurationMs != 1500 || !bytes.Equal(known[0].Waveform, []byte{0, 100, 50}) {
		t.Errorf("%s %s: %v", m.Type, m.Text, known)
	}
	if _, err := ann.Saved().Send(ctx, "x", skein.Attach("AAAAAAAAAAAAAAAAAAAAAAAAAA")); !errors.Is(err, skein.ErrNotFound) {
		t.Errorf("names what is not there: %v", err)
	}
	spare := must(ann.Upload(ctx, &skein.Upload{Body: bytes.NewReader(voice), Size: 50}))(t)
	if err := ann.DeleteMedia(ctx, spare.Id); err != nil {
		t.Error(err)
	}
	if err := ann.DeleteMedia(ctx, spare.Id); !errors.Is(err, skein.ErrNotFound) {
		t.Errorf("thrown away twice: %v", err)
	}
}
