// Package logs makes the server's log: lines of text or JSON, whose level can be changed
// while the server runs, and of which nobody can make very many.
//
// It owns the form of the lines and their bound. It knows nothing of what they say, but for
// one attribute: address, by which lines of one kind are told apart.
//
// Invariants:
//   - of warnings and errors with one message from one address the first Burst are written
//     at once, then one each Every; of one message from all addresses together AllBurst, then
//     AllPerSecond. Whoever makes the server complain cannot fill a disk with that;
//   - what is left out is counted, and told by a line a minute later (LeftOut);
//   - lines below a warning are not bounded: no request of a client makes one.
//
// Goroutines: none but the timers that tell what was left out. Locks: table.mu, nothing is
// called under it.
package logs

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// The bounds of lines that are warnings or worse.
const (
	// Burst lines with one message and address come at once, then one each Every.
	Burst = 20
	Every = 3 * time.Second
	// AllBurst lines with one message come at once, then AllPerSecond, from all addresses.
	AllBurst     = 200
	AllPerSecond = 20
)

// LeftOut is the message of the line that tells how many lines were left out: of says
// whose message they had, address where they came from ("" for anywhere), lines how many.
const LeftOut = "log lines were left out"

const (
	// tellAfter is how long after the first line that was left out their number is told.
	tellAfter = time.Minute
	// maxKinds bounds the kinds of lines that are told apart; others share what they have in
	// common, their message.
	maxKinds = 4096
)

// Options of a logger.
type Options struct {
	// Text writes key=value, otherwise JSON.
	Text bool
	// Level is the least level that is written; it may change at any time. nil: info.
	Level slog.Leveler
}

// New makes the log of a server.
func New(w io.Writer, o Options) *slog.Logger {
	var h slog.Handler = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: o.Level, ReplaceAttr: readable})
	if o.Text {
		h = slog.NewTextHandler(w, &slog.HandlerOptions{Level: o.Level})
	}
	return slog.New(Bound(h))
}

// readable has JSON say how long something took as text does, "1.5s", not as a number of nanoseconds.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// Bound makes a handler that writes no more than the bounds allow.
func Bound(h slog.Handler) slog.Handler {
	return &bounded{next: h, table: &table{kinds: map[kind]*bucket{}, last: h}}
}

// bounded is a handler with the table that all which are derived of it share.
type bounded struct {
	next    slog.Handler
	table   *table
	address string // of the attributes that were given before
}

const addressKey = "address"

func (b *bounded) Enabled(ctx context.Context, l slog.Level) bool { return b.next.Enabled(ctx, l) }

func (b *bounded) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return b.next.Handle(ctx, r)
	}
	address := b.address
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == addressKey {
			address = a.Value.String()
		}
		return a.Key != addressKey
	})
	if !b.table.take(kind{r.Message, address}, r.Time) {
		return nil
	}
	return b.next.Handle(ctx, r)
}

func (b *bounded) WithAttrs(as []slog.Attr) slog.Handler {
	c := *b
	for _, a := range as {
		if a.Key == addressKey {
			c.address = a.Value.String()
		}
	}
	c.next = b.next.WithAttrs(as)
	return &c
}

func (b *bounded) WithGroup(name string) slog.Handler {
	c := *b
	c.next = b.next.WithGroup(name)
	return &c
}

// kind is what lines have in common that are counted together.
type kind struct{ message, address string }

// everywhere is the address of the count over all addresses; no address has a star.
const everywhere = "*"

// bucket counts the lines of a kind: it is full again at full (GCRA).
type bucket struct {
	full time.Time
	left int // out, and not told
}

type table struct {
	last slog.Handler // to tell what was left out

	mu    sync.Mutex
	kinds map[kind]*bucket
}

// take reports whether a line of a kind may be written now.
func (t *table) take(k kind, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.bucket(&k, now)
	all := t.bucket(&kind{k.message, everywhere}, now)
	if own.has(now, Burst, Every) && all.has(now, AllBurst, time.Second/AllPerSecond) {
		own.spend(now, Every)
		all.spend(now, time.Second/AllPerSecond)
		return true
	}
	if own.left++; own.left == 1 {
		time.AfterFunc(tellAfter, func() { t.tell(k) })
	}
	return false
}

// bucket finds or makes the bucket of a kind. With too many kinds k becomes one without an
// address. Caller holds mu.
func (t *table) bucket(k *kind, now time.Time) *bucket {
	if b := t.kinds[*k]; b != nil {
		return b
	}
	if len(t.kinds) >= maxKinds {
		for other, b := range t.kinds {
			if b.left == 0 && !b.full.After(now) {
				delete(t.kinds, other)
			}
		}
	}
	if len(t.kinds) >= maxKinds && k.address != everywhere {
		k.address = ""
		if b := t.kinds[*k]; b != nil {
			return b
		}
	}
	b := new(bucket)
	t.kinds[*k] = b
	return b
}

func (b *bucket) has(now time.Time, burst int, every time.Duration) bool {
	return b.full.Add(every).Sub(now) <= time.Duration(burst)*every
}

func (b *bucket) spend(now time.Time, every time.Duration) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(every)
}

// tell writes how many lines of a kind were left out.
func (t *table) tell(k kind) {
	t.mu.Lock()
	b := t.kinds[k]
	n := 0
	if b != nil {
		n, b.left = b.left, 0
	}
	t.mu.Unlock()
	if n == 0 || !t.last.Enabled(context.Background(), slog.LevelWarn) {
		return
	}
	r := slog.NewRecord(time.Now(), slog.LevelWarn, LeftOut, 0)
	r.AddAttrs(slog.String("of", k.message), slog.String(addressKey, k.address), slog.Int("lines", n))
	_ = t.last.Handle(context.Background(), r) // as a logger does
}
