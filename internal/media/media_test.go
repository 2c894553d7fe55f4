package media

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media/blob"
	"github.com/skein-im/skein/internal/media/picture"
)

// world is a directory, a place for blobs, messages and a clock.
type world struct {
	*testing.T
	db    *directory.DB
	root  string
	store Store
	said  *said
	now   time.Time
	quota im.MediaQuota
}

// said are the messages that a test's journal has.
type said struct {
	mu       sync.Mutex
	messages map[im.MessageID]message
	damaged  im.ConversationID
}

type message struct {
	c      im.ConversationID
	seq    uint64
	media  []string
	reader []im.UserID
}

func (s *said) MediaOf(_ context.Context, u im.UserID, c im.ConversationID, seq uint64) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.c == c && m.seq == seq && slices.Contains(m.reader, u) {
			return m.media, nil
		}
	}
	return nil, im.Errorf(im.CodeNotFound, "no such message")
}

func (s *said) NamesMedia(_ context.Context, n im.MediaName) (bool, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.Conversation == s.damaged {
		return false, 0, fmt.Errorf("read: %w", im.ErrJournalDamaged)
	}
	m, ok := s.messages[n.ID]
	return ok && m.c == n.Conversation && slices.Contains(m.media, n.Media), m.seq, nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, db: db, root: t.TempDir(), said: &said{messages: map[im.MessageID]message{}}, now: time.UnixMilli(1_700_000_000_000), quota: im.MediaQuota{Bytes: 100 << 20, Open: 9}}
	if w.store, err = blob.Open(w.root, ""); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) options() Options {
	return Options{
		Uploads: w.db, Names: w.db, Store: w.store, Messages: w.said, Pictures: picture.NewMaker(picture.Options{}), Quota: w.quota, MaxBytes: 64 << 20,
		Key: []byte("a secret"), Now: func() time.Time { return w.now },
	}
}

func (w *world) service() *Service { return New(w.options()) }

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) code(what string, err error, want im.Code) {
	w.Helper()
	if im.CodeOf(err) != want {
		w.Errorf("%s: %v, %s wanted", what, err, want)
	}
}

// blobs are the names of all that is in the store.
func (w *world) blobs() (names []string) {
	w.Helper()
	w.ok(filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, d.Name())
		}
		return err
	}))
	return names
}

// up uploads something whole.
func (w *world) up(s *Service, owner im.UserID, content []byte) im.Upload {
	w.Helper()
	u, err := s.Begin(w.Context(), owner, int64(len(content)), im.MediaFacts{Name: "file"})
	w.ok(err)
	u, err = s.Write(w.Context(), owner, u.ID, 0, bytes.NewReader(content), nil)
	w.ok(err)
	if !u.Ready {
		w.Fatalf("%+v", u)
	}
	return u
}

func (w *world) content(s *Service, u im.Upload) []byte {
	w.Helper()
	r, err := s.Open(w.Context(), u, false, 0)
	w.ok(err)
	b, err := io.ReadAll(r)
	w.ok(errors.Join(err, r.Close()))
	return b
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 8)
	}
	return b
}

func somePicture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is sent in parts comes out whole; each part goes on where the last one ended.
func TestInParts(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	content := pattern(pieceBytes + 300_000)
	u, err := s.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{Name: "a.bin"})
	w.ok(err)
	for _, to := range []int64{100_000, pieceBytes + 100_000, int64(len(content))} {
		at := u.Received
		_, err := s.Write(t.Context(), "ann", u.ID, at+1, bytes.NewReader(content), nil)
		w.code("a gap", err, im.CodeConflict)
		u, err = s.Write(t.Context(), "ann", u.ID, at, bytes.NewReader(content[at:to]), nil)
		w.ok(err)
		if u.Received != to {
			t.Fatalf("%d received, not %d", u.Received, to)
		}
		seen, err := s.Of(t.Context(), "ann", u.ID)
		w.ok(err)
		if seen.Received != to || seen.Ready != (to == int64(len(content))) {
			t.Fatalf("%+v", seen)
		}
		_, err = s.Of(t.Context(), "bob", u.ID)
		w.code("another one's", err, im.CodeNotFound)
	}
	if !bytes.Equal(w.content(s, u), content) || u.MIME != picture.Unknown || !strings.HasPrefix(u.Blob, u.Hash) {
		t.Errorf("%+v", u)
	}
	_, err = s.Write(t.Context(), "ann", u.ID, 0, bytes.NewReader(content), nil)
	w.code("again", err, im.CodeConflict)
	if again, err := s.Write(t.Context(), "ann", u.ID, u.Size, strings.NewReader(""), nil); err != nil || !again.Ready {
		t.Error("the last answer, asked for again:", err)
	}
}

// cutOff gives n bytes and fails.
type cutOff struct {
	r io.Reader
	n int
}

var errCut = errors.New("connection reset")

func (c *cutOff) Read(p []byte) (int, error) {
	if c.n == 0 {
		return 0, errCut
	}
	n, err := c.r.Read(p[:min(len(p), c.n)])
	c.n -= n
	return n, err
}

// A request that is cut off anywhere keeps what came, as far as it is worth it, and nothing
// that did not come; the next one goes on.
func TestCutOff(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	content := pattern(2*pieceBytes + 5)
	for _, n := range []int{0, 1, leastPiece - 1, leastPiece, leastPiece + 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 2 * pieceBytes, len(content) - 1, len(content)} {
		u, err := s.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{})
		w.ok(err)
		u, err = s.Write(t.Context(), "ann", u.ID, 0, &cutOff{bytes.NewReader(content), n}, nil)
		w.code("cut off", err, im.CodeInvalidArgument)
		if u.Received > int64(n) || u.Received < int64(n-leastPiece) {
			t.Errorf("of %d bytes %d are kept", n, u.Received)
		}
		seen, err := s.Of(t.Context(), "ann", u.ID)
		w.ok(err)
		if seen.Received != u.Received {
			t.Errorf("told %d, kept %d", u.Received, seen.Received)
		}
		u, err = s.Write(t.Context(), "ann", u.ID, seen.Received, bytes.NewReader(content[seen.Received:]), nil)
		w.ok(err)
		if !u.Ready || !bytes.Equal(w.content(s, u), content) {
			t.Fatalf("cut at %d: another content", n)
		}
		w.ok(s.Drop(t.Context(), "ann", u.ID))
	}
	w.now = w.now.Add(3 * trashTime)
	w.ok(s.Sweep(t.Context()))
	if left := w.blobs(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A request brings so much that nobody fills a disk with files of a byte; the last one may
// be as short as what is missing.
func TestSmallRequests(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	content := pattern(leastPiece + 3)
	u, err := s.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{})
	w.ok(err)
	_, err = s.Write(t.Context(), "ann", u.ID, 0, bytes.NewReader(content[:leastPiece-1]), nil)
	w.code("too short", err, im.CodeInvalidArgument)
	u, err = s.Write(t.Context(), "ann", u.ID, 0, bytes.NewReader(nil), nil)
	if err != nil || u.Received != 0 {
		t.Error("nothing:", err, u.Received)
	}
	u, err = s.Write(t.Context(), "ann", u.ID, 0, bytes.NewReader(content[:leastPiece]), nil)
	w.ok(err)
	u, err = s.Write(t.Context(), "ann", u.ID, u.Received, bytes.NewReader(content[leastPiece:]), nil)
	if err != nil || !u.Ready {
		t.Errorf("%v, %+v", err, u)
	}
}

// A request brings at least that much as a whole: where its last piece begins is nothing to
// who sends it.
func TestRequestsAreCountedAsWholes(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	content := pattern(2*pieceBytes + 100_000)
	for _, checked := range []bool{false, true} {
		u, err := s.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{})
		w.ok(err)
		for _, n := range []int{pieceBytes + 5, pieceBytes + leastPiece - 1, len(content)} {
			part := content[u.Received:min(len(content), int(u.Received)+n)]
			var sum *Sum
			if checked {
				want := sha1.Sum(part)
				sum = &Sum{Hash: sha1.New(), Want: want[:]}
			}
			at := u.Received
			u, err = s.Write(t.Context(), "ann", u.ID, at, bytes.NewReader(part), sum)
			w.ok(err)
			if u.Received != at+int64(len(part)) {
				t.Fatalf("of %d bytes at %d %d are kept", len(part), at, u.Received-at)
			}
		}
		if !u.Ready || !bytes.Equal(w.content(s, u), content) {
			t.Error("another content")
		}
	}
}

// narrow is a place with room for so much.
type narrow struct {
	Store
	free uint64
}

func (n *narrow) Free(context.Context) (uint64, error) { return n.free, nil }

// Uploads that were begun while there was room fill nothing that is to stay free: each part
// is taken when there is room for it, and goes on when there is again.
func TestRoomIsLookedForAgain(t *testing.T) {
	w := newWorld(t)
	place := &narrow{Store: w.store, free: 1 << 40}
	w.store = place
	o := w.options()
	o.MinFree = 1 << 20
	s := New(o)
	for what, content := range map[string][]byte{"bytes": pattern(pieceBytes + 300_000), "picture": somePicture(t)} {
		place.free = 1 << 40
		u, err := s.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{})
		w.ok(err)
		send := func(free uint64) error {
			place.free = free
			u, err = s.Write(t.Context(), "ann", u.ID, u.Received, bytes.NewReader(content[u.Received:]), nil)
			return err
		}
		first := min(u.Size, pieceBytes)
		w.code(what+": no room for a piece", send(uint64(o.MinFree+first-1)), im.CodeStorageFull)
		if u.Received != 0 {
			t.Errorf("%s: %d bytes are kept", what, u.Received)
		}
		for range 2 { // the second time all of it was received
			w.code(what+": no room for all of it", send(uint64(o.MinFree+first)), im.CodeStorageFull)
		}
		w.ok(send(1 << 40))
		if !u.Ready {
			t.Errorf("%s: %+v", what, u)
		}
	}
}

// With a checksum a request counts as a whole or not at all.
func TestChecksum(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	content := pattern(pieceBytes + 100)
	sum := sha1.Sum(content)
	u, err := s.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{})
	w.ok(err)
	try := func(r io.Reader, want []byte) error {
		u, err = s.Write(t.Context(), "ann", u.ID, 0, r, &Sum{Hash: sha1.New(), Want: want})
		return err
	}
	if err := try(bytes.NewReader(content), make([]byte, 20)); !errors.Is(err, ErrChecksum) || u.Received != 0 {
		t.Fatal(err, u.Received)
	}
	if err := try(&cutOff{bytes.NewReader(content), pieceBytes + 50}, sum[:]); err == nil || u.Received != 0 {
		t.Fatal(err, u.Received)
	}
	w.ok(try(bytes.NewReader(content), sum[:]))
	if !u.Ready {
		t.Errorf("%+v", u)
	}
}

// Whatever lies about its size, or is no picture behind its first bytes, is refused with
// what is wrong; what says that it is a picture and is not is what it is.
func TestLies(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	for size, want := range map[int64]im.Code{0: im.CodeInvalidArgument, -5: im.CodeInvalidArgument, 64<<20 + 1: im.CodeTooLarge, 1 << 62: im.CodeTooLarge} {
		_, err := s.Begin(t.Context(), "ann", size, im.MediaFacts{})
		w.code("size", err, want)
	}
	u, err := s.Begin(t.Context(), "ann", 10, im.MediaFacts{})
	w.ok(err)
	u, err = s.Write(t.Context(), "ann", u.ID, 0, strings.NewReader("eleven byte"), nil)
	w.code("more than said", err, im.CodeTooLarge)
	if u.Received != 0 {
		t.Errorf("%d kept", u.Received)
	}
	for content, want := range map[string]im.Code{
		"\x89PNG\r\n\x1a\n and no picture":   im.CodeInvalidArgument,
		"GIF89a\xff\xff\xff\xff\x00\x00\x00": im.CodeTooLarge,
	} {
		u, err := s.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{})
		w.ok(err)
		_, err = s.Write(t.Context(), "ann", u.ID, 0, strings.NewReader(content), nil)
		w.code("no picture", err, want)
		_, err = s.Of(t.Context(), "ann", u.ID)
		w.code("what was refused", err, im.CodeNotFound)
	}
	if u := w.up(s, "ann", []byte("<html><script>")); u.MIME != picture.Unknown || u.Thumbnail != "" {
		t.Errorf("%+v", u)
	}
	u = w.up(s, "ann", somePicture(t))
	if u.MIME != "image/png" || u.Width != 30 || u.Height != 20 || u.Blurhash == "" || u.Thumbnail == "" || u.Size != int64(len(w.content(s, u))) {
		t.Errorf("%+v", u)
	}
	r, err := s.Open(t.Context(), u, true, 0)
	w.ok(err)
	small, kind, err := image.Decode(r)
	w.ok(errors.Join(err, r.Close()))
	if kind != "jpeg" || small.Bounds().Dx() != 30 {
		t.Error(kind, small.Bounds())
	}
}

// A store without room takes no upload, and says so.
func TestNoRoom(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.MinFree = 1 << 60
	_, err := New(o).Begin(t.Context(), "ann", 5, im.MediaFacts{})
	w.code("no room", err, im.CodeStorageFull)
}

// Two uploads of the same content at once share what is kept of it, and each is whole until
// the last of them is thrown away.
func TestSameContentAtOnce(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	content := pattern(50_000)
	uploads := make([]im.Upload, 6)
	var all sync.WaitGroup
	for i := range uploads {
		all.Go(func() { uploads[i] = w.up(s, im.UserID([]string{"ann", "bob"}[i%2]), content) })
	}
	all.Wait()
	w.now = w.now.Add(trashTime)
	w.ok(s.Sweep(t.Context()))
	if left := w.blobs(); len(left) != 1 {
		t.Errorf("kept: %v", left)
	}
	for i, u := range uploads {
		if !bytes.Equal(w.content(s, u), content) {
			t.Errorf("%d: another content", i)
		}
		w.ok(s.Drop(t.Context(), u.Owner, u.ID))
		w.ok(s.Sweep(t.Context()))
	}
	if left := w.blobs(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// Two who write to an upload at once do not mix: what is kept is what one of them sent.
func TestTwoWriters(t *testing.T) {
	w := newWorld(t)
	first, second := w.service(), w.service() // two processes
	content := pattern(400_000)
	u, err := first.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{})
	w.ok(err)
	var all sync.WaitGroup
	for range 4 {
		for _, s := range []*Service{first, second} {
			all.Go(func() {
				for at, tries := int64(0), 0; at < u.Size && tries < 100; tries++ {
					got, err := s.Write(t.Context(), "ann", u.ID, at, bytes.NewReader(content[at:min(u.Size, at+50_000)]), nil)
					if c := im.CodeOf(err); c != "" && c != im.CodeConflict && c != im.CodeNotFound {
						t.Error(err)
					}
					if at = got.Received; im.CodeOf(err) == im.CodeConflict || im.CodeOf(err) == im.CodeNotFound {
						seen, err := s.Of(t.Context(), "ann", u.ID)
						if err != nil {
							t.Error(err)
						}
						at = seen.Received
					}
				}
			})
		}
	}
	all.Wait()
	u, err = first.Of(t.Context(), "ann", u.ID)
	w.ok(err)
	if !u.Ready || !bytes.Equal(w.content(first, u), content) {
		t.Errorf("%+v", u)
	}
}

// An upload that nobody completes goes, with what was received of it.
func TestGivenUp(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	u, err := s.Begin(t.Context(), "ann", 100_000, im.MediaFacts{})
	w.ok(err)
	_, err = s.Write(t.Context(), "ann", u.ID, 0, bytes.NewReader(pattern(50_000)), nil)
	w.ok(err)
	w.now = w.now.Add(24 * time.Hour)
	_, err = s.Of(t.Context(), "ann", u.ID)
	w.code("its time is over", err, im.CodeNotFound)
	w.ok(s.Sweep(t.Context()))
	if left := w.blobs(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A link is for one user, upload, place and form, and holds for a while.
func TestLinks(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	l := Link{User: "ann", Media: "M", At: Place{"grp:g", 3}, Until: w.now.Add(LinkTime)}
	sig := s.Sign(l)
	if !s.Check(l, sig) {
		t.Error("a link of its own")
	}
	for i, change := range []func(*Link){
		func(l *Link) { l.User = "bob" }, func(l *Link) { l.Media = "N" }, func(l *Link) { l.Thumbnail = true }, func(l *Link) { l.At.Seq++ },
		func(l *Link) { l.At.Conversation = "grp:h" }, func(l *Link) { l.Until = l.Until.Add(time.Millisecond) },
	} {
		x := l
		if change(&x); s.Check(x, sig) {
			t.Errorf("change %d", i)
		}
	}
	if s.Check(l, "") || s.Check(l, sig[:20]) {
		t.Error("a part of a signature")
	}
	w.now = l.Until
	if s.Check(l, sig) {
		t.Error("its time is over")
	}
}

// What was received of an upload and is not there any more, as after a restore, is told,
// and nothing else of it happens; also where it was complete.
func TestLostPieces(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	u, err := s.Begin(t.Context(), "ann", 40<<10, im.MediaFacts{})
	w.ok(err)
	_, err = s.Write(t.Context(), "ann", u.ID, 0, strings.NewReader(strings.Repeat("x", 20<<10)), nil)
	w.ok(err)
	for _, name := range w.blobs() {
		w.ok(w.store.Delete(t.Context(), name))
	}
	_, err = s.Write(t.Context(), "ann", u.ID, 20<<10, strings.NewReader(strings.Repeat("x", 20<<10)), nil)
	w.code("the rest", err, im.CodeNotFound)
	_, err = s.Of(t.Context(), "ann", u.ID)
	w.code("how far", err, im.CodeNotFound)
	w.now = w.now.Add(25 * time.Hour)
	w.ok(s.Sweep(t.Context()))
	if left := w.blobs(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// The story: an upload lay there twice, as its pieces and as what was made of them, until a
// process had lived for a minute: 270 MB took 516.
func TestPiecesGoAtOnce(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	s.Start()
	defer s.Close()
	w.up(s, "alice", pattern(3*leastPiece))
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		all := w.blobs()
		if !slices.ContainsFunc(all, func(b string) bool { return strings.HasPrefix(b, "piece-") }) && len(all) == 1 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("kept are %v", all)
		}
	}
}
