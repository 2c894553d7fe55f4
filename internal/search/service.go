package search

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search/token"
)

// Reader knows who may read what. internal/messaging is one.
type Reader interface {
	// Readable tells what the actor may read: of one conversation, not_found for
	// strangers, or of all, with "".
	Readable(ctx context.Context, from im.Actor, c im.ConversationID) ([]im.Readable, error)
	// Shown returns those of some messages of a conversation that the actor may read and
	// that are there to be shown, as they are told of them.
	Shown(ctx context.Context, from im.Actor, c im.ConversationID, seqs []uint64) ([]im.Entry, error)
}

// Question is what somebody looks for.
type Question struct {
	Query        string
	Conversation im.ConversationID // "": all
	Sender       im.UserID         // "": anybody
	Types        []string          // of content, or TypeLink; none: all
	From, To     time.Time         // stored in From ≤ t < To, zero for no bound
	Limit        int               // 0: DefaultLimit
	Cursor       string
}

// The bounds of a question.
const (
	MaxQuery     = 200 // characters
	MaxTypes     = 16
	MaxMatches   = 320 // places that are told of a message
	DefaultLimit = 20
	MaxLimit     = 50
)

// What one answer costs at most: so many messages that an index proposes are looked through,
// or so many bytes of them, with so many bytes of what is shown.
const (
	maxLooked = 500
	maxRead   = 2 << 20
	maxBytes  = 512 << 10
	// waitFor is how long an answer waits for what was stored before it was asked for.
	waitFor = 500 * time.Millisecond
	// A complete answer may leave out what was stored in so much time before.
	freshness = 15 * time.Second
)

// Match is where a text of a message has what was looked for, in UTF-16 code units.
type Match struct {
	Field      string
	Start, End uint32
}

// Found is a message that was looked for.
type Found struct {
	Entry   im.Entry
	Matches []Match
}

// Answer is a page of what was found, the newest first.
type Answer struct {
	Found []Found
	Next  string // the cursor of the next page, "": there is none
	// Complete: what was stored a few seconds ago and before is in it. Otherwise what was
	// stored up to Known is.
	Complete bool
	Known    time.Time
}

// Service answers questions.
type Service struct {
	index   Index
	indexer *Indexer
	reader  Reader
	now     func() time.Time
	seconds prometheus.Histogram
	failed  prometheus.Counter
}

// New makes one.
func New(index Index, indexer *Indexer, reader Reader, r prometheus.Registerer) *Service {
	p := promauto.With(r)
	return &Service{
		index: index, indexer: indexer, reader: reader, now: time.Now,
		seconds: p.NewHistogram(prometheus.HistogramOpts{Name: "skein_search_seconds", Help: "How long searches took that were answered.", Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 10)}),
		failed:  p.NewCounter(prometheus.CounterOpts{Name: "skein_search_unavailable_total", Help: "Searches that were refused because the index was not to be had."}),
	}
}

// asked is a question that was checked.
type asked struct {
	Question
	query  token.Query
	below  Place
	asks   int // how many messages the index was asked for last
	looked int
	read   int
	bytes  int
}

func (q *Question) check() (*asked, error) {
	a := &asked{Question: *q}
	if !utf8.ValidString(q.Query) {
		return nil, im.Wrong("query", "must be UTF-8")
	}
	if n := utf8.RuneCountInString(q.Query); n > MaxQuery {
		return nil, im.TooLarge("query", "has %d characters; at most %d are allowed", n, MaxQuery)
	}
	a.query = token.Parse(q.Query)
	if a.query.Empty() {
		if strings.TrimSpace(q.Query) != "" {
			return nil, im.Wrong("query", "has no letter, digit or symbol to look for")
		}
		if len(q.Types) == 0 {
			return nil, im.Wrong("query", "is missing: say what to look for, or in types which messages")
		}
	}
	if len(q.Types) > MaxTypes {
		return nil, im.TooLarge("types", "are %d; at most %d are allowed", len(q.Types), MaxTypes)
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		return nil, im.Wrong("beforeMs", "must be later than afterMs")
	}
	var ok bool
	if a.below, ok = parseCursor(q.Cursor); !ok {
		return nil, im.Wrong("cursor", "is none of this server's")
	}
	a.Limit = cmp.Or(q.Limit, DefaultLimit)
	return a, nil
}

// Search answers a question. It costs one look into the index for each conversation
// that is asked about, and what is found there.
func (s *Service) Search(ctx context.Context, from im.Actor, q Question) (_ Answer, err error) {
	a, err := q.check()
	if err != nil {
		return Answer{}, err
	}
	began := s.now()
	defer func() {
		if err == nil {
			s.seconds.Observe(time.Since(began).Seconds())
		}
	}()
	readable, err := s.reader.Readable(ctx, from, q.Conversation)
	if err != nil {
		return Answer{}, err
	}
	slices.SortFunc(readable, func(a, b im.Readable) int {
		return cmp.Or(cmp.Compare(b.Newest, a.Newest), cmp.Compare(a.Conversation, b.Conversation))
	})
	var newest uint64
	if len(readable) > 0 {
		newest = readable[0].Newest
	}
	state, err := s.indexer.State(ctx, newest, waitFor)
	if err != nil {
		return Answer{}, s.away(ctx, err)
	}
	out := Answer{Known: state.Known, Complete: state.Place.Pos >= newest || began.Sub(state.Known) < freshness}
	if out.Complete {
		out.Known = began
	}
	for a.looked < maxLooked && a.read < maxRead {
		more, err := s.page(ctx, from, a, readable, &out)
		if err != nil {
			return Answer{}, err
		}
		if !more {
			return out, nil
		}
		if len(out.Found) >= a.Limit || a.bytes >= maxBytes {
			break
		}
	}
	out.Next = a.below.cursor()
	return out, nil
}

// page looks through the next messages that the index proposes, and notes in a how far
// it came; more tells that it may propose others.
func (s *Service) page(ctx context.Context, from im.Actor, a *asked, readable []im.Readable, out *Answer) (more bool, err error) {
	// Each question to the index costs all that it has to look through, however few it is to
	// propose: where what it proposes is not shown it is asked for more at a time.
	limit := max(a.Limit-len(out.Found)+1, min(2*a.asks, MaxLimit+1))
	a.asks = limit
	hits, err := s.propose(ctx, a, readable, limit)
	if err != nil {
		return false, s.away(ctx, err)
	}
	shown, err := s.shown(ctx, from, readable, hits)
	if err != nil {
		return false, err
	}
	for i, h := range hits {
		if len(out.Found) >= a.Limit || a.bytes >= maxBytes || a.read >= maxRead {
			return true, nil
		}
		a.below, a.looked = Place{h.Pos, h.Conversation, h.Seq}, a.looked+1
		e := shown[i]
		if e == nil {
			continue
		}
		a.read += len(e.Body)
		if f, ok := a.means(e); ok {
			out.Found = append(out.Found, f)
			a.bytes += len(e.Body)
		}
	}
	return len(hits) >= limit, nil
}

// propose asks the index for the newest messages below a.below that may be meant: first
// where something was stored last, and no further than where nothing newer can be.
func (s *Service) propose(ctx context.Context, a *asked, readable []im.Readable, limit int) ([]Hit, error) {
	q := Find{Terms: a.query.Terms(), From: a.From, To: a.To, Below: a.below, Limit: limit}
	if a.Sender != "" {
		q.Terms = append(q.Terms, prefixed(senderTerm(a.Sender)))
	}
	for _, t := range a.Types {
		q.Any = append(q.Any, typeTerm(t))
	}
	var hits []Hit
	for rest := readable; len(rest) > 0; {
		if len(hits) >= limit && hits[len(hits)-1].Pos > rest[0].Newest {
			break
		}
		n := min(len(rest), MaxAsked)
		q.Conversations = q.Conversations[:0]
		for _, r := range rest[:n] {
			q.Conversations = append(q.Conversations, r.Conversation)
		}
		rest = rest[n:]
		found, err := s.index.Find(ctx, q)
		if err != nil {
			return nil, err
		}
		hits = append(hits, found...)
		slices.SortFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Order, a.Order) })
		hits = hits[:min(len(hits), limit)]
	}
	return hits, nil
}

// shown reads what is proposed, as far as the actor may: nil for what is not theirs.
func (s *Service) shown(ctx context.Context, from im.Actor, readable []im.Readable, hits []Hit) ([]*im.Entry, error) {
	out := make([]*im.Entry, len(hits))
	of := map[im.ConversationID][]uint64{}
	for _, h := range hits {
		i := slices.IndexFunc(readable, func(r im.Readable) bool { return r.Conversation == h.Conversation })
		if i >= 0 && slices.ContainsFunc(readable[i].Windows, func(w im.Window) bool { return w.First <= h.Seq && h.Seq <= w.Until }) {
			of[h.Conversation] = append(of[h.Conversation], h.Seq)
		}
	}
	for c, seqs := range of {
		entries, err := s.reader.Shown(ctx, from, c, seqs)
		if im.CodeOf(err) == im.CodeNotFound {
			continue // they were removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		for k := range entries {
			for i, h := range hits {
				if h.Conversation == c && h.Seq == entries[k].Seq {
					out[i] = &entries[k]
				}
			}
		}
	}
	return out, nil
}

// means reports whether a message is what is looked for, and where it says it.
func (a *asked) means(e *im.Entry) (Found, bool) {
	s, ok := saidBy(e)
	if !ok || a.Sender != "" && e.Sender != a.Sender || !a.From.IsZero() && e.Stored.Before(a.From) || !a.To.IsZero() && !e.Stored.Before(a.To) {
		return Found{}, false
	}
	if len(a.Types) > 0 && !slices.ContainsFunc(a.Types, s.is) {
		return Found{}, false
	}
	m := a.query.Match()
	for _, f := range s.fields {
		m.In(f.text)
	}
	if !m.All() {
		return Found{}, false
	}
	f := Found{Entry: *e}
	for i, ranges := range m.Ranges() {
		f.Matches = appendUTF16(f.Matches, s.fields[i], ranges[:min(len(ranges), MaxMatches-len(f.Matches))])
	}
	return f, true
}

// appendUTF16 adds ranges of a text, which ascend, in UTF-16 code units.
func appendUTF16(out []Match, f field, ranges []token.Range) []Match {
	at, units := 0, 0
	upTo := func(end int) uint32 {
		for at < end {
			r, n := utf8.DecodeRuneInString(f.text[at:])
			at += n
			if units++; r >= 0x10000 {
				units++
			}
		}
		return uint32(units)
	}
	for _, r := range ranges {
		start := upTo(r.Start)
		out = append(out, Match{f.name, start, upTo(r.End)})
	}
	return out
}

// away is what is answered while the index is not to be had.
func (s *Service) away(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *im.Error
	if errors.As(err, &known) {
		return err
	}
	s.failed.Inc()
	e := im.Wrap(err, im.CodeUnavailable, "the search is not to be had now")
	e.RetryAfter = 5 * time.Second
	return e
}

// cursor is how a client is told where a page ends.
func (p Place) cursor() string {
	return strconv.FormatUint(p.Pos, 36) + "." + strconv.FormatUint(p.Seq, 36) + "." + string(p.Conversation)
}

// parseCursor reads what cursor wrote; without one everything comes behind.
func parseCursor(s string) (p Place, ok bool) {
	if s == "" {
		return Place{}, true
	}
	parts := strings.SplitN(s, ".", 3)
	if len(parts) != 3 {
		return p, false
	}
	var err1, err2, err3 error
	p.Pos, err1 = strconv.ParseUint(parts[0], 36, 64)
	p.Seq, err2 = strconv.ParseUint(parts[1], 36, 64)
	p.Conversation, err3 = im.ParseConversationID(parts[2])
	return p, err1 == nil && err2 == nil && err3 == nil && p.Seq > 0
}
