package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// ExportReport is what it takes to give a user everything of theirs, and what others pay.
type ExportReport struct {
	// Of the export, as its manifest says; it was verified.
	Conversations int   `json:"conversations"`
	Entries       int   `json:"entries"`
	Files         int   `json:"files"`
	Bytes         int64 `json:"bytes"`
	ZipBytes      int64 `json:"zip_bytes"`
	// Seconds from the request to the last byte.
	Seconds   float64 `json:"seconds"`
	RSSBefore int64   `json:"rss_before_bytes"`
	RSSPeak   int64   `json:"rss_peak_bytes"`
	// CPUs that the server uses without the export, and meanwhile.
	CPUAlone  float64 `json:"cpus_alone"`
	CPUBeside float64 `json:"cpus_beside"`
	// Acks of the direct chats of everybody, without and beside it.
	Alone    Latency `json:"alone_ms"`
	Beside   Latency `json:"beside_ms"`
	P50Ratio float64 `json:"p50_ratio"`
	P99Ratio float64 `json:"p99_ratio"`
}

// ExportOptions are those of Export beside Options.
type ExportOptions struct {
	// Messages that the user has, about; Files of FileBytes each that messages name.
	Messages, Files, FileBytes int
	// Erase has the user erased then, and looks what remains.
	Erase bool
}

// Export gives one of many users messages and files, and has everything of theirs exported
// under direct chats of o.Rate.
func Export(ctx context.Context, o Options, x ExportOptions, start Starter) (*Report, error) {
	o.Scenario, o.Friends, o.Corpus = ScenarioExport, 15, true
	o.Connections &^= 15
	if o.Connections < 16 || o.Rate <= 0 || x.Messages < 1 || x.Files < 0 || x.FileBytes < 1 {
		return nil, errors.New("export needs 16 users, a rate and messages")
	}
	begin := func(ctx context.Context, more ...string) (*Server, error) {
		return start(ctx, append([]string{"media.user_bytes=0", "media.uploads_per_hour=0"}, more...)...)
	}
	return withServer(ctx, &o, begin, func(r *run) error {
		users, err := r.s.register(ctx, r.o, r.o.Connections)
		if err != nil {
			return err
		}
		if err := r.connect(ctx, users, nil, nil); err != nil {
			return err
		}
		r.r.Export = &ExportReport{}
		b := &uploads{run: r, users: users}
		if err := b.shown(ctx, x.Files, x.FileBytes); err != nil {
			return err
		}
		// Each message is one of two users'.
		if _, err := r.fill(ctx, uint64(x.Messages)*uint64(r.o.Connections)/2); err != nil {
			return err
		}
		if err := b.exported(ctx, r.r.Export); err != nil || !x.Erase {
			return err
		}
		r.r.Erase = &EraseReport{}
		return b.erased(ctx, r.r.Erase)
	})
}

// shown uploads files of the first user's, each named by a message.
func (b *uploads) shown(ctx context.Context, files, size int) error {
	b.o.progress("%d files of %d KB", files, size>>10)
	b.named = make([]string, files)
	to := "dm:" + b.users[0].ID + ":" + b.users[1].ID
	return each(ctx, files, 4, func(i int) error {
		content := make([]byte, size)
		if _, err := newPattern(int64(i)<<20, 1<<62, 1<<62).Read(content); err != nil {
			return err
		}
		var at string
		for {
			resp, err := b.ask(ctx, 0, http.MethodPost, "/media/uploads", bytes.NewReader(content), "Upload-Length", strconv.Itoa(size), "Content-Type", "application/offset+octet-stream",
				"Upload-Metadata", "filename ZmlsZS5iaW4=")
			if resp != nil && resp.StatusCode == http.StatusTooManyRequests { // its turn comes
				if err := b.wait(ctx, 200*time.Millisecond); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			at = resp.Header.Get("Location")
			if err := resp.Body.Close(); err != nil {
				return err
			}
			break
		}
		b.named[i] = at[len("/media/uploads/"):]
		return b.s.call(ctx, b.users[0].Token, "skein.v1.MessageService/SendMessage", &wire.SendMessageRequest{
			Conversation: to, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "a file"}}, Media: []string{b.named[i]},
		}, &wire.SendMessageResponse{})
	})
}

// exported measures an export beside direct chats, and the chats before it.
func (b *uploads) exported(ctx context.Context, x *ExportReport) error {
	from, err := b.s.usage(ctx)
	if err != nil {
		return err
	}
	before, after, err := b.phase(ctx, fmt.Sprintf("%g msg/s", b.o.Rate), b.o.Rate, b.o.Warmup, b.o.Duration)
	if err != nil {
		return err
	}
	x.Alone = between(before, after)
	begun, err := b.s.usage(ctx)
	if err != nil {
		return err
	}
	x.CPUAlone = (begun.cpu - from.cpu).Seconds() / begun.at.Sub(from.at).Seconds()
	var zip pieces // a file would be written beside the journal, and its fsyncs wait for it
	b.o.progress("an export")
	started := time.Now()
	x.RSSBefore, x.RSSPeak, err = b.watched(ctx, func() error {
		var path wire.BeginExportResponse
		if err := b.s.call(ctx, b.users[0].Token, "skein.v1.AccountService/BeginExport", &wire.BeginExportRequest{}, &path); err != nil {
			return err
		}
		x.ZipBytes, err = skein.DownloadExport(ctx, b.s.api, path.Path, &zip)
		return err
	})
	if err != nil {
		return err
	}
	x.Seconds = time.Since(started).Seconds()
	to, err := b.s.usage(ctx)
	if err != nil {
		return err
	}
	meanwhile, err := b.totals(ctx, command{Do: doStats})
	if err != nil {
		return err
	}
	x.CPUBeside = (to.cpu - begun.cpu).Seconds() / to.at.Sub(begun.at).Seconds()
	x.Beside = between(after, meanwhile)
	if x.Alone.P99 > 0 { // JSON has no other numbers
		x.P50Ratio, x.P99Ratio = x.Beside.P50/x.Alone.P50, x.Beside.P99/x.Alone.P99
	}
	m, err := skein.VerifyExport(&zip, x.ZipBytes)
	if err != nil {
		return err
	}
	if !m.Complete || len(m.LeftOut) > 0 {
		return fmt.Errorf("the export lacks %v", m.LeftOut)
	}
	x.Conversations, x.Entries, x.Files, x.Bytes = m.Conversations, m.Entries, m.Media, m.Bytes
	b.measured(begun, to, after, meanwhile)
	b.r.Ack, b.r.Delivery = x.Beside, Latency{}
	return b.account(ctx)
}

// pieces keep what is written in pieces of one length. A buffer that grows is copied as a
// whole, a hundred megabytes at once, and the load generator's clients stand still
// meanwhile: their acks would tell of that.
type pieces struct {
	full [][]byte
	last []byte
}

const pieceBytes = 1 << 20

func (p *pieces) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		if p.last == nil {
			p.last = make([]byte, 0, pieceBytes)
		}
		n := min(len(rest), pieceBytes-len(p.last))
		if p.last, rest = append(p.last, rest[:n]...), rest[n:]; len(p.last) == pieceBytes {
			p.full, p.last = append(p.full, p.last), nil
		}
	}
	return len(b), nil
}

func (p *pieces) ReadAt(b []byte, at int64) (n int, err error) {
	for n < len(b) {
		i, from := int((at+int64(n))/pieceBytes), int((at+int64(n))%pieceBytes)
		piece := p.last
		if i < len(p.full) {
			piece = p.full[i]
		}
		if i > len(p.full) || from >= len(piece) {
			return n, io.EOF
		}
		n += copy(b[n:], piece[from:])
	}
	return n, nil
}

// exportedAll are the lines of an export.
func (r *Report) exportedAll(line func(name, format string, args ...any)) {
	x := r.Export
	if x == nil {
		return
	}
	const mb = 1 << 20
	line("an export", "%10.1f s: %d conversations, %d entries, %d files, %d MB, as a zip %d MB", x.Seconds, x.Conversations, x.Entries, x.Files, x.Bytes/mb, x.ZipBytes/mb)
	line("memory", "%10d MB before, %d at most; %.2f CPUs before, %.2f meanwhile", x.RSSBefore/mb, x.RSSPeak/mb, x.CPUAlone, x.CPUBeside)
	line("acks beside it", "%10.2f / %.2f ms p50/p99, without %.2f / %.2f: %.2f and %.2f of that", x.Beside.P50, x.Beside.P99, x.Alone.P50, x.Alone.P99, x.P50Ratio, x.P99Ratio)
}
