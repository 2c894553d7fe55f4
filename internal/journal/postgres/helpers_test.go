package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func message(c im.ConversationID, sender im.UserID, n int) im.Append {
	var random [10]byte
	binary.BigEndian.PutUint64(random[2:], uint64(n))
	body := fmt.Appendf(nil, "%s says %d", sender, n)
	h := fnv.New64a()
	fmt.Fprint(h, c, sender, n)
	return im.Append{
		Entry: im.Entry{Conversation: c, ID: im.NewMessageID(time.UnixMilli(1_700_000_000_000+int64(n/8)), random), Sender: sender, Kind: im.EntryMessage, Body: body},
		Hash:  h.Sum64(),
	}
}

func store(t testing.TB, j *Journal, batch ...im.Append) []im.Appended {
	t.Helper()
	out := make([]im.Appended, len(batch))
	if err := j.Append(t.Context(), batch, out); err != nil {
		t.Fatalf("Append: %v", err)
	}
	return out
}

// all reads a conversation and requires its seqs to have no gap.
func all(t testing.TB, j *Journal, c im.ConversationID) []im.Entry {
	t.Helper()
	var entries []im.Entry
	for {
		page, err := j.Read(t.Context(), c, uint64(len(entries))+1, false, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return entries
		}
		for i := range page {
			if page[i].Seq != uint64(len(entries)+i)+1 {
				t.Fatalf("%s: seq %d where %d belongs", c, page[i].Seq, len(entries)+i+1)
			}
		}
		entries = append(entries, page...)
	}
}

// once requires every (sender, id) to be there once.
func once(t testing.TB, entries []im.Entry) map[string]uint64 {
	t.Helper()
	seqs := map[string]uint64{}
	for i := range entries {
		k := fmt.Sprint(entries[i].Sender, entries[i].ID)
		if seqs[k] != 0 {
			t.Fatalf("%s is at seq %d and %d", k, seqs[k], entries[i].Seq)
		}
		seqs[k] = entries[i].Seq
	}
	return seqs
}

// proxy stands between an engine and its server, and fails as networks do.
type proxy struct {
	url      string
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	thawed *sync.Cond
	// requests and replies are how many more bytes are passed on; then the proxy
	// keeps what it has.
	requests, replies int
	// cut closes a connection instead of passing a reply on.
	cut   bool
	conns []net.Conn
	ended bool
}

const endless = 1 << 40

func newProxy(t testing.TB, database string) *proxy {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	target := u.Host
	p := &proxy{requests: endless, replies: endless}
	p.thawed = sync.NewCond(&p.mu)
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	p.url = u.String()
	p.wg.Go(func() {
		for {
			c, err := p.listener.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", target)
			if err != nil {
				_ = c.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, c, s)
			p.mu.Unlock()
			p.wg.Go(func() { p.pass(c, s, &p.requests, false) })
			p.wg.Go(func() { p.pass(s, c, &p.replies, true) })
		}
	})
	t.Cleanup(func() {
		p.set(func() { p.ended = true })
		_ = p.listener.Close()
		p.close()
		p.wg.Wait()
	})
	return p
}

// close cuts all connections.
func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// set changes the proxy's mood.
func (p *proxy) set(f func()) {
	p.mu.Lock()
	f()
	p.mu.Unlock()
	p.thawed.Broadcast()
}

func (p *proxy) pass(from, to net.Conn, budget *int, reply bool) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		for b := buf[:n]; len(b) > 0; {
			p.mu.Lock()
			for *budget == 0 && !p.ended {
				p.thawed.Wait()
			}
			now := min(len(b), *budget)
			*budget -= now
			stop := p.ended || reply && p.cut
			p.mu.Unlock()
			if stop {
				return
			}
			if _, err := to.Write(b[:now]); err != nil {
				return
			}
			b = b[now:]
		}
		if err != nil {
			return
		}
	}
}

// told is the place that Position tells.
func (j *Journal) told(ctx context.Context) (im.Place, error) {
	p, err := j.Position(ctx)
	at, _ := p.One()
	return at, err
}

func (j *Journal) holds(ctx context.Context, p im.Place) (bool, error) {
	return j.Holds(ctx, im.PositionAt(p))
}
