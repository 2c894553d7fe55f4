package media

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media/scan"
	"github.com/skein-im/skein/internal/media/scan/scantest"
)

// scanner is a fake clamd, and a service that shows it what it takes.
func (w *world) scanner(change ...func(*Options)) (*scantest.Clamd, *Service) {
	w.Helper()
	fake, err := scantest.New("tcp", "127.0.0.1:0")
	w.ok(err)
	w.Cleanup(fake.Close)
	o := w.options()
	o.Registerer = prometheus.NewRegistry()
	o.Scanning = Scanning{Time: time.Minute, AtOnce: 2}
	o.Scanning.Scan, err = scan.Parse(fake.URL())
	w.ok(err)
	for _, c := range change {
		c(&o)
	}
	return fake, New(o)
}

// send uploads something whole, and returns what the answer to its last byte is.
func (w *world) send(s *Service, content []byte) (string, error) {
	w.Helper()
	u, err := s.Begin(w.Context(), "ann", int64(len(content)), im.MediaFacts{Name: "file"})
	w.ok(err)
	_, err = s.Write(w.Context(), "ann", u.ID, 0, bytes.NewReader(content), nil)
	return u.ID, err
}

func (w *world) scans(s *Service, clean, infected, failed float64) {
	w.Helper()
	all := w.metrics(s.o.Registerer.(*prometheus.Registry))
	for verdict, want := range map[string]float64{scanClean: clean, scanInfected: infected, scanFailed: failed} {
		if got := all["skein_media_scans_total "+verdict]; got != want {
			w.Errorf("%v %s, want %v", got, verdict, want)
		}
	}
}

// The scanner is shown all bytes as they were sent, also of a picture that is written anew;
// what it finds something in is nobody's, and its bytes go.
func TestScanned(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	fake, s := w.scanner(func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, content := range [][]byte{pattern(pieceBytes + 300_000), somePicture(t), {'x'}} {
		u := w.up(s, "ann", content)
		if seen := fake.Seen(); !bytes.Equal(seen[len(seen)-1], content) {
			t.Errorf("of %d bytes it saw %d", len(content), len(seen[len(seen)-1]))
		}
		w.ok(s.Drop(t.Context(), "ann", u.ID))
	}
	picture := append(somePicture(t), scantest.EICAR...)
	far := append(pattern(pieceBytes), scantest.EICAR...)
	for _, content := range [][]byte{[]byte(scantest.EICAR), picture, far} {
		id, err := w.send(s, content)
		w.code("EICAR", err, im.CodeInfected)
		_, err = s.Of(t.Context(), "ann", id)
		w.code("what was infected", err, im.CodeNotFound)
		_, err = s.Name(t.Context(), im.MediaName{Conversation: "dm:ann:bob", Sender: "ann", ID: im.MessageID{1}}, []string{id}, false)
		w.code("naming it", err, im.CodeNotFound)
	}
	w.scans(s, 3, 3, 0)
	if text := log.String(); strings.Count(text, "is infected") != 3 || !strings.Contains(text, "Eicar-Test-Signature") || !strings.Contains(text, "user=ann") {
		t.Errorf("the log is %s", text)
	}
	w.now = w.now.Add(trashTime + time.Minute)
	w.ok(s.Sweep(t.Context()))
	if left := w.blobs(); len(left) != 0 {
		t.Errorf("what is left: %q", left)
	}
}

// While an upload waits for its verdict nobody has it: it is not ready, and cannot be named
// or fetched. After a crash there it is looked at before it is anything.
func TestNobodyHasItBeforeTheVerdict(t *testing.T) {
	w := newWorld(t)
	fake, s := w.scanner()
	hold := make(chan struct{})
	fake.Behave(scantest.Behaviour{Hold: hold})
	u, err := s.Begin(t.Context(), "ann", int64(len(scantest.EICAR)), im.MediaFacts{})
	w.ok(err)
	answered := make(chan error, 1)
	go func() {
		_, err := s.Write(t.Context(), "ann", u.ID, 0, strings.NewReader(scantest.EICAR), nil)
		answered <- err
	}()
	<-fake.Arrived()
	now, err := s.Of(t.Context(), "ann", u.ID)
	if w.ok(err); now.Ready || now.Received != now.Size {
		t.Errorf("while it waits it is %+v", now)
	}
	_, err = s.Name(t.Context(), im.MediaName{Conversation: "dm:ann:bob", Sender: "ann", ID: im.MessageID{1}}, []string{u.ID}, false)
	w.code("naming it", err, im.CodeNotFound)
	_, err = s.Find(t.Context(), "bob", u.ID, Place{})
	w.code("fetching it", err, im.CodeNotFound)

	// Another process, as after a crash: it asks the scanner itself.
	fake.Behave(scantest.Behaviour{})
	o := w.options()
	o.Scanning = s.o.Scanning
	_, err = New(o).Of(t.Context(), "ann", u.ID)
	w.code("looked at again", err, im.CodeInfected)
	close(hold)
	w.code("the first answer", <-answered, im.CodeInfected)
}

// What has no verdict is not ready and stays, and is looked at when it is asked for again;
// or it is taken, where the deployment says so. What cannot ever have one is refused.
func TestScannerSilent(t *testing.T) {
	w := newWorld(t)
	bad := map[string]scantest.Behaviour{
		"broken": {HangsUp: 1}, "talking": {Says: "hello ERROR\x00"}, "deaf": {Silent: true},
	}
	for name, how := range bad {
		fake, closed := w.scanner(func(o *Options) { o.Scanning.Time = 200 * time.Millisecond })
		fake.Behave(how)
		content := pattern(1 << 20)
		id, err := w.send(closed, content)
		if w.code(name, err, im.CodeUnavailable); im.Public(err).RetryAfter == 0 {
			t.Errorf("%s: when to come again is not told", name)
		}
		_, err = closed.Of(t.Context(), "ann", id)
		w.code(name+", asked again", err, im.CodeUnavailable)
		w.scans(closed, 0, 0, 2)
		fake.Behave(scantest.Behaviour{})
		u, err := closed.Write(t.Context(), "ann", id, int64(len(content)), strings.NewReader(""), nil)
		if w.ok(err); !u.Ready || !bytes.Equal(w.content(closed, u), content) {
			t.Errorf("%s, then well: %+v", name, u)
		}

		fake, open := w.scanner(func(o *Options) { o.Scanning.Open, o.Scanning.Time = true, 200*time.Millisecond })
		fake.Behave(how)
		_, err = w.send(open, content)
		w.code(name+", open", err, "")
		w.scans(open, 0, 0, 1)
	}
	fake, s := w.scanner()
	fake.Close()
	_, err := w.send(s, []byte("x"))
	w.code("down", err, im.CodeUnavailable)
	fake, s = w.scanner()
	fake.Behave(scantest.Behaviour{Longest: 1000})
	id, err := w.send(s, pattern(1001))
	w.code("too long for the scanner", err, im.CodeTooLarge)
	_, err = s.Of(t.Context(), "ann", id)
	w.code("what was too long", err, im.CodeNotFound)
}

// So many are shown to the scanner at a time as may be. Who waits for long is told to come
// again, also where a silent scanner lets through: nobody gets a file past it by a crowd.
func TestScansAtOnce(t *testing.T) {
	w := newWorld(t)
	fake, s := w.scanner(func(o *Options) { o.Scanning.Open, o.Quota.Open = true, 99 })
	hold := make(chan struct{})
	fake.Behave(scantest.Behaviour{Hold: hold})
	answers := make(chan error, 8)
	for range 8 {
		go func() {
			_, err := w.send(s, []byte("x"))
			answers <- err
		}()
	}
	<-fake.Arrived()
	<-fake.Arrived()
	_, late := w.scanner(func(o *Options) { o.Scanning = s.o.Scanning; o.Scanning.Time = time.Millisecond })
	late.scans = s.scans // both places are taken
	_, err := w.send(late, []byte(scantest.EICAR))
	w.code("behind a crowd", err, im.CodeOverloaded)
	close(hold)
	for range 8 {
		w.ok(<-answers)
	}
	if fake.Most() != 2 {
		t.Errorf("%d at a time, want 2", fake.Most())
	}
}

// A place of uploads that fails while the scanner is shown one is no verdict, and nothing
// that lets through.
func TestScanOfWhatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	_, s := w.scanner(func(o *Options) { o.Scanning.Open = true })
	u, err := s.Begin(t.Context(), "ann", 4, im.MediaFacts{})
	w.ok(err)
	w.ok(w.db.DiscardBlobs(t.Context(), []string{"piece-lost"}, w.now.Add(trashTime)))
	w.ok(w.db.AddPiece(t.Context(), u.ID, im.MediaPiece{Start: 0, Size: 4, Blob: "piece-lost"}))
	_, err = s.Of(t.Context(), "ann", u.ID)
	w.code("a piece that is lost", err, im.CodeNotFound)
	w.scans(s, 0, 0, 0)
}
