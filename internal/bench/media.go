package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// MediaReport is what uploads cost a server, and direct chats beside them.
type MediaReport struct {
	// Store is media.store; empty: the directory of the server.
	Store    string         `json:"store,omitempty"`
	Upload   MediaUpload    `json:"upload"`
	Pictures MediaPicturing `json:"pictures"`
}

// MediaUpload is one long upload that is cut and gone on with, and fetched.
type MediaUpload struct {
	Bytes int64 `json:"bytes"`
	Cuts  int   `json:"cuts"`
	// Resumed is at which offsets it went on, as the server told. Again is how many bytes
	// were sent twice for that.
	Resumed []int64 `json:"resumed"`
	Again   int64   `json:"sent_again_bytes"`
	// Seconds of all that is sent, Completed of the last answer's wait for it, Fetched of
	// reading it back.
	Seconds   float64 `json:"seconds"`
	Fetched   float64 `json:"fetched_s"`
	MBPerS    float64 `json:"mb_per_s"`
	RSSBefore int64   `json:"rss_before_bytes"`
	RSSPeak   int64   `json:"rss_peak_bytes"`
	RSSAfter  int64   `json:"rss_after_bytes"`
	// Same: what was fetched is what was sent, byte for byte.
	Same bool `json:"same"`
}

// MediaPicturing is many pictures that are uploaded at the same time.
type MediaPicturing struct {
	Pictures int   `json:"pictures"`
	Width    int   `json:"width"`
	Height   int   `json:"height"`
	Bytes    int64 `json:"bytes_each"`
	// Seconds until all have their thumbnails; Each is how long one took, from its request
	// to its answer.
	Seconds   float64 `json:"seconds"`
	Each      float64 `json:"slowest_s"`
	RSSBefore int64   `json:"rss_before_bytes"`
	RSSPeak   int64   `json:"rss_peak_bytes"`
	// Alone are the acks of direct chats without them, Beside with them, P99Ratio the
	// second's p99 by the first's.
	Alone    Latency `json:"alone_ms"`
	Beside   Latency `json:"beside_ms"`
	P99Ratio float64 `json:"p99_ratio"`
}

// MediaOptions are those of Media beside Options.
type MediaOptions struct {
	// Store is media.store; empty: the directory of the server.
	Store string
	// Bytes of the long upload, cut so often.
	Bytes int64
	Cuts  int
	// Pictures at a time, of Width × Height.
	Pictures, Width, Height int
	// Memory is media.picture_memory; empty: the default.
	Memory string
}

// Media uploads something long that is cut and resumed, fetches it, and then many pictures
// at a time under direct chats of o.Rate.
func Media(ctx context.Context, o Options, m MediaOptions, start Starter) (*Report, error) {
	o.Scenario, o.Friends = ScenarioMedia, 1
	o.Connections &^= 1
	set := []string{"media.max_bytes=" + strconv.FormatInt(max(m.Bytes, 100<<20), 10), "media.user_bytes=0", "media.uploads_per_hour=0"}
	if m.Store != "" {
		set = append(set, "media.store="+m.Store)
	}
	if m.Memory != "" {
		set = append(set, "media.picture_memory="+m.Memory)
	}
	begin := func(ctx context.Context, more ...string) (*Server, error) { return start(ctx, append(set, more...)...) }
	return withServer(ctx, &o, begin, func(r *run) error {
		users, err := r.s.register(ctx, r.o, r.o.Connections)
		if err != nil {
			return err
		}
		if err := r.connect(ctx, users, nil, nil); err != nil {
			return err
		}
		b := &uploads{run: r, users: users, m: m, x: &MediaReport{Store: m.Store}}
		r.r.Media = b.x
		if err := b.long(ctx); err != nil {
			return err
		}
		return b.pictures(ctx)
	})
}

type uploads struct {
	*run
	users []userPlan
	m     MediaOptions
	x     *MediaReport
	named []string // uploads of the first user's that messages name
}

// pattern is content of any length, different everywhere: a block of noise whose first
// bytes are its number. It ends at end, or with err at cut.
type pattern struct {
	block        []byte
	at, end, cut int64
}

var errCut = errors.New("cut")

func newPattern(from, end, cut int64) *pattern {
	p := &pattern{block: make([]byte, 1<<20), at: from, end: end, cut: cut}
	rand.NewChaCha8([32]byte{1}).Read(p.block)
	return p
}

func (p *pattern) Read(b []byte) (n int, err error) {
	if p.at >= p.end {
		return 0, io.EOF
	}
	if p.at >= p.cut {
		return 0, errCut
	}
	size := int64(len(p.block))
	binary.BigEndian.PutUint64(p.block, uint64(p.at/size))
	n = copy(b[:min(int64(len(b)), p.end-p.at, p.cut-p.at)], p.block[p.at%size:])
	p.at += int64(n)
	return n, nil
}

// ask makes one request of a user's. Its answer's body is the caller's to close.
func (b *uploads) ask(ctx context.Context, user int, method, path string, body io.Reader, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.s.api+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+b.users[user].Token)
	req.Header.Set("Tus-Resumable", "1.0.0")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil && resp.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		_ = resp.Body.Close()
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, said)
	}
	return resp, err
}

func (b *uploads) header(ctx context.Context, name, method, path string, body io.Reader, header ...string) (string, error) {
	resp, err := b.ask(ctx, 0, method, path, body, header...)
	if err != nil {
		return "", err
	}
	return resp.Header.Get(name), resp.Body.Close()
}

// watched runs f, and tells the server's memory before it and its peak meanwhile.
func (b *uploads) watched(ctx context.Context, f func() error) (before, peak int64, err error) {
	from, err := b.s.usage(ctx)
	if err != nil {
		return 0, 0, err
	}
	peak = from.rss
	end, over := make(chan struct{}), make(chan error, 1)
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				over <- nil
				return
			case <-ticker.C:
				now, err := b.s.usage(ctx)
				if err != nil {
					over <- err
					return
				}
				peak = max(peak, now.rss)
			}
		}
	}()
	err = f()
	close(end)
	return from.rss, peak, errors.Join(err, <-over)
}

// long uploads, cut and resumed, and reads it back.
func (b *uploads) long(ctx context.Context) (err error) {
	x := &b.x.Upload
	x.Bytes, x.Cuts = b.m.Bytes, b.m.Cuts
	b.o.progress("an upload of %d MB, cut %d times", x.Bytes>>20, x.Cuts)
	at := ""
	x.RSSBefore, x.RSSPeak, err = b.watched(ctx, func() error {
		begin := time.Now()
		if at, err = b.header(ctx, "Location", "POST", "/media/uploads", nil, "Upload-Length", strconv.FormatInt(x.Bytes, 10)); err != nil {
			return err
		}
		if err := b.resumed(ctx, at); err != nil {
			return err
		}
		x.Seconds = time.Since(begin).Seconds()
		x.MBPerS = float64(x.Bytes) / (1 << 20) / x.Seconds
		begin = time.Now()
		x.Same, err = b.same(ctx, "/media/"+at[len("/media/uploads/"):])
		x.Fetched = time.Since(begin).Seconds()
		return err
	})
	if err != nil {
		return err
	}
	if !x.Same {
		return errors.New("what was fetched is not what was uploaded")
	}
	if err := b.pause(ctx, 5*time.Second, false); err != nil {
		return err
	}
	now, err := b.s.usage(ctx)
	x.RSSAfter = now.rss
	return err
}

// resumed sends an upload in pieces that are cut, each at an even share.
func (b *uploads) resumed(ctx context.Context, path string) error {
	x := &b.x.Upload
	offset := int64(0)
	for n := 1; ; n++ {
		body := newPattern(offset, x.Bytes, x.Bytes)
		if n <= x.Cuts {
			body.cut = max(offset, x.Bytes*int64(n)/int64(x.Cuts+1))
		}
		told, err := b.header(ctx, "Upload-Offset", "PATCH", path, body, "Upload-Offset", strconv.FormatInt(offset, 10), "Content-Type", "application/offset+octet-stream")
		switch {
		case err == nil:
			if told != strconv.FormatInt(x.Bytes, 10) {
				return fmt.Errorf("the upload is at %s", told)
			}
			return nil
		case !errors.Is(err, errCut):
			return err
		}
		sent := body.at
		if offset, err = b.settled(ctx, path); err != nil {
			return err
		}
		if offset > sent {
			return fmt.Errorf("the server tells %d of %d bytes", offset, sent)
		}
		x.Resumed = append(x.Resumed, offset)
		x.Again += sent - offset
	}
}

// settled is the offset of an upload when the request that was cut has ended there.
func (b *uploads) settled(ctx context.Context, path string) (int64, error) {
	last := int64(-1)
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		told, err := b.header(ctx, "Upload-Offset", "HEAD", path, nil)
		if err != nil {
			return 0, err
		}
		now, err := strconv.ParseInt(told, 10, 64)
		if err != nil || now == last {
			return now, err
		}
		last = now
		if err := b.pause(ctx, 500*time.Millisecond, false); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("an upload that was cut goes on")
}

// same tells whether an upload is the pattern.
func (b *uploads) same(ctx context.Context, path string) (bool, error) {
	resp, err := b.ask(ctx, 0, "GET", path, nil)
	if err != nil {
		return false, err
	}
	got, want := sha256.New(), sha256.New()
	n, err := io.Copy(got, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return false, err
	}
	if _, err := io.Copy(want, newPattern(0, b.m.Bytes, b.m.Bytes)); err != nil {
		return false, err
	}
	return n == b.m.Bytes && bytes.Equal(got.Sum(nil), want.Sum(nil)), nil
}

// pictures uploads many at the same time, beside direct chats.
func (b *uploads) pictures(ctx context.Context) error {
	x := &b.x.Pictures
	x.Pictures, x.Width, x.Height = b.m.Pictures, b.m.Width, b.m.Height
	files, err := photos(x.Width, x.Height)
	if err != nil {
		return err
	}
	x.Bytes = int64(len(files[0]))
	before, after, err := b.phase(ctx, fmt.Sprintf("%g msg/s", b.o.Rate), b.o.Rate, b.o.Warmup, b.o.Duration)
	if err != nil {
		return err
	}
	x.Alone = between(before, after)
	from, err := b.s.usage(ctx)
	if err != nil {
		return err
	}
	first := after
	b.o.progress("%d pictures of %d × %d, %d KB each", x.Pictures, x.Width, x.Height, x.Bytes>>10)
	begin := time.Now()
	x.RSSBefore, x.RSSPeak, err = b.watched(ctx, func() error { return b.atOnce(ctx, files, begin) })
	if err != nil {
		return err
	}
	x.Seconds = time.Since(begin).Seconds()
	if after, err = b.totals(ctx, command{Do: doStats}); err != nil {
		return err
	}
	x.Beside = between(first, after)
	if x.Alone.P99 > 0 { // JSON has no other numbers
		x.P99Ratio = x.Beside.P99 / x.Alone.P99
	}
	to, err := b.s.usage(ctx)
	if err != nil {
		return err
	}
	b.measured(from, to, first, after)
	b.r.Ack, b.r.Delivery = x.Beside, Latency{}
	return b.account(ctx)
}

func (b *uploads) atOnce(ctx context.Context, files [][]byte, begin time.Time) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for i := range b.x.Pictures.Pictures {
		all.Go(func() {
			file := files[i%len(files)]
			resp, err := b.ask(ctx, i%len(b.users), "POST", "/media/uploads", bytes.NewReader(file), "Upload-Length", strconv.Itoa(len(file)), "Content-Type", "application/offset+octet-stream")
			if err == nil {
				err = resp.Body.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			b.x.Pictures.Each = max(b.x.Pictures.Each, time.Since(begin).Seconds())
			errs = append(errs, err)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// photos are a few different pictures as cameras make them.
func photos(width, height int) (files [][]byte, err error) {
	for n := range 4 {
		img := image.NewRGBA(image.Rect(0, 0, width, height))
		r := rand.New(rand.NewPCG(uint64(n), 1))
		for y := range height {
			for x := range width {
				grain := uint8(r.Uint32() & 15)
				img.SetRGBA(x, y, color.RGBA{uint8(x*200/width) + grain, uint8(y*200/height) + grain, uint8((x+y)>>4) + grain, 255})
			}
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 85}); err != nil {
			return nil, err
		}
		files = append(files, b.Bytes())
	}
	return files, nil
}

// uploaded are the lines of uploads.
func (r *Report) uploaded(line func(name, format string, args ...any)) {
	x := r.Media
	if x == nil {
		return
	}
	const mb = 1 << 20
	u, p := &x.Upload, &x.Pictures
	line("an upload", "%10d MB, cut %d times, in %.1f s (%.0f MB/s), %d MB of it sent again; fetched in %.1f s, the same: %t", u.Bytes>>20, u.Cuts, u.Seconds, u.MBPerS, u.Again>>20, u.Fetched, u.Same)
	line("memory", "%10d MB before, %d at most, %d after", u.RSSBefore/mb, u.RSSPeak/mb, u.RSSAfter/mb)
	line("pictures", "%10d at once of %d × %d (%d KB) in %.1f s; memory %d MB before, %d at most", p.Pictures, p.Width, p.Height, p.Bytes>>10, p.Seconds, p.RSSBefore/mb, p.RSSPeak/mb)
	line("acks beside them", "%10.2f / %.2f ms p50/p99, without %.2f / %.2f; the p99 is %.2f of that", p.Beside.P50, p.Beside.P99, p.Alone.P50, p.Alone.P99, p.P99Ratio)
}
