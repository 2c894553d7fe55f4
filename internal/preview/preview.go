// Package preview finds out what the links of messages lead to (SPEC §4.34): it follows
// the journal, fetches the first link of a message, reads title, description and picture
// out of what comes, and has them added to the message.
//
// It must not know stores, sockets of clients, nor who may read a message: what a message
// wants tells Messages, which adds the preview as well; Pictures keeps a picture.
//
// What users write decides what the server fetches, and who runs the linked site decides
// what comes. So:
//
//   - an address is judged when it is connected to, after the name was looked up, each one
//     of each redirect: a name can mean nothing else between the two (internal/outward);
//   - all that comes is bounded: redirects, time, headers, bytes as they come and as they
//     are unpacked, tokens, pixels; and how often a host, and for a user, is fetched from
//     (fetch.go, page.go, rate.go);
//   - nothing is sent but the address asked for and who asks: no cookies, no credentials,
//     no referrer;
//   - what is told is plain text, without control and direction characters, and a picture
//     that the server wrote itself.
//
// Nobody waits for it. What fails is not tried again, and nobody is told: a message has no
// preview then. What the stores fail is tried again, as long as the message is young.
//
// Goroutines: at most parallel ones during a call of Handle. Locks: Service.mu around the
// caches, for a map operation.
package preview

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// Messages tells of messages, and gives them previews. internal/messaging does.
type Messages interface {
	// WantsPreview is the link of a message that is to have a preview; "" if none is. stored
	// is when the message was.
	WantsPreview(ctx context.Context, c im.ConversationID, seq uint64) (link string, stored time.Time, err error)
	// AddPreview gives the message that preview, if it wants it yet.
	AddPreview(ctx context.Context, c im.ConversationID, seq uint64, p *im.Preview) error
}

// Pictures keeps pictures. internal/media does.
type Pictures interface {
	// KeepSmall keeps a small form of a picture, and returns its id. An error: it is none, or
	// there is no room.
	KeepSmall(ctx context.Context, file []byte) (id string, err error)
}

// Options say what a Service needs.
type Options struct {
	Messages Messages
	Pictures Pictures // nil: previews have no pictures
	// Allow are networks that may be fetched from although they are private, Deny those that
	// may not although they are public.
	Allow, Deny []netip.Prefix
	Agent       string
	Now         func() time.Time // optional
	Logger      *slog.Logger     // optional
}

const (
	// parallel is how many links are fetched at a time, userParallel how many of one user's.
	parallel, userParallel = 8, 2
	// oldest is how old a message, or an edit, is at most whose link is looked at: what was
	// said before the server began, or while it was busy, has none.
	oldest = 10 * time.Minute
	// whole is how long all of a preview may take.
	whole = 15 * time.Second
	// What was found is kept for keepFound, that nothing was for keepNone; the last 2,000.
	keepFound, keepNone = time.Hour, 10 * time.Minute
	mostFound           = 2000
)

// Service finds previews. It is safe for concurrent use. Use New.
type Service struct {
	o     Options
	fetch *fetcher
	once  singleflight.Group

	mu    sync.Mutex
	found cache.Cache[string, found]
	users cache.Cache[im.UserID, *bucket]
}

// found is what a link leads to; no URL: to nothing that is shown.
type found struct {
	im.Preview
	until time.Time
}

// New makes a Service.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{
		o: o, fetch: newFetcher(o.Allow, o.Deny, o.Agent),
		found: cache.New[string, found](mostFound), users: cache.New[im.UserID, *bucket](mostBuckets),
	}
}

// place is a message that an entry is about.
type place struct {
	c   im.ConversationID
	seq uint64
}

// Handle looks at what was stored, in any order. An error is the stores': the same entries
// are to come again.
func (s *Service) Handle(ctx context.Context, entries []im.Entry) error {
	jobs := map[im.UserID]map[place]bool{}
	add := func(e *im.Entry, seq uint64) {
		if jobs[e.Sender] == nil {
			jobs[e.Sender] = map[place]bool{}
		}
		jobs[e.Sender][place{e.Conversation, seq}] = true
	}
	for i := range entries {
		e := &entries[i]
		if s.o.Now().Sub(e.Stored) > oldest {
			continue
		}
		switch {
		case e.Kind.Said() && !e.Recalled && bytes.Contains(e.Body, []byte("://")):
			add(e, e.Seq)
		case e.Kind == im.EntryEdit || e.Kind == im.EntryStream:
			add(e, e.Target)
		}
	}
	var all errgroup.Group
	all.SetLimit(parallel)
	for by, places := range jobs {
		next := make(chan place, len(places))
		for at := range places {
			next <- at
		}
		close(next)
		for range min(userParallel, len(places)) {
			all.Go(func() error {
				var failed error
				for at := range next {
					failed = cmp.Or(s.look(ctx, at, by), failed)
				}
				return failed
			})
		}
	}
	return all.Wait()
}

// look gives a message its preview. What comes from elsewhere may break what reads it: that
// is one preview less.
func (s *Service) look(ctx context.Context, at place, by im.UserID) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.o.Logger.Error("preview: a link made its reader panic", "conversation", at.c, "seq", at.seq, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	for again := false; ; again = true {
		link, _, err := s.o.Messages.WantsPreview(ctx, at.c, at.seq)
		if err != nil || link == "" {
			return s.later(ctx, err)
		}
		p := s.find(ctx, link, by)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if p == nil {
			return nil
		}
		err = s.o.Messages.AddPreview(ctx, at.c, at.seq, p)
		if !again && im.CodeOf(err) == im.CodeNotFound && p.Image != "" { // it was thrown away
			s.forget(link)
			continue
		}
		return s.later(ctx, err)
	}
}

// later is the error that is worth another try.
func (s *Service) later(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, im.ErrJournalDamaged): // who reads it is told; others' links do not wait for it
		return nil
	case im.ForNow(err) || im.CodeOf(err) == im.CodeUnknown || im.CodeOf(err) == im.CodeInternal:
		return err
	}
	return nil
}

// find is what a link leads to, nil for nothing that is shown, or that may be looked for
// now.
func (s *Service) find(ctx context.Context, link string, by im.UserID) *im.Preview {
	if f, ok := s.known(link); ok {
		return f.preview()
	}
	s.mu.Lock()
	may := bucketOf(&s.users, by).take(s.o.Now(), userRate, userBurst)
	s.mu.Unlock()
	if !may {
		return nil
	}
	began := s.o.Now()
	defer func() { s.charge(by, s.o.Now().Sub(began)) }()
	got, _, _ := s.once.Do(link, func() (f any, _ error) {
		defer func() {
			if r := recover(); r != nil { // singleflight would end the process
				s.o.Logger.Error("preview: a link made its reader panic", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
				f = s.keep(link, nil)
			}
		}()
		if f, ok := s.known(link); ok {
			return f, nil
		}
		p, err := s.read(ctx, link)
		if err != nil {
			s.o.Logger.Debug("preview: a link leads to nothing that is shown", "err", err)
			if ctx.Err() != nil {
				return found{}, nil
			}
		}
		return s.keep(link, p), nil
	})
	f := got.(found)
	return f.preview()
}

// charge has a user pay for the time that a link of theirs took: as much as for so many
// links a second. Who names sites that never answer soon has none left, and all others'
// links wait no longer.
func (s *Service) charge(by im.UserID, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := bucketOf(&s.users, by)
	b.used = min(userBurst, b.used+took.Seconds())
}

func (f *found) preview() *im.Preview {
	if f.URL == "" {
		return nil
	}
	p := f.Preview
	return &p
}

func (s *Service) known(link string) (found, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.found.Get(link)
	return f, ok && f.until.After(s.o.Now())
}

func (s *Service) keep(link string, p *im.Preview) found {
	f := found{until: s.o.Now().Add(keepNone)}
	if p != nil {
		f = found{*p, s.o.Now().Add(keepFound)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.Put(link, f)
	return f
}

func (s *Service) forget(link string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.Delete(link)
}

// read fetches what a link leads to, and its picture.
func (s *Service) read(ctx context.Context, link string) (*im.Preview, error) {
	ctx, cancel := context.WithTimeout(ctx, whole)
	defer cancel()
	got, err := s.fetch.get(ctx, link, "text/html,application/xhtml+xml,image/*;q=0.8")
	if err != nil {
		return nil, err
	}
	p := &im.Preview{URL: link}
	if got.picture {
		p.Image, err = s.picture(ctx, got.body)
		if p.Image == "" {
			return nil, err
		}
		return p, nil
	}
	page := readPage(got)
	p.Title, p.Description, p.Site = page.title, page.description, page.site
	if page.image != "" && s.o.Pictures != nil {
		if img, err := s.fetch.get(ctx, page.image, "image/*"); err == nil && img.picture {
			p.Image, _ = s.picture(ctx, img.body) // without one it is a preview, too
		}
	}
	if p.Title == "" && p.Image == "" {
		return nil, errNothing
	}
	return p, nil
}

func (s *Service) picture(ctx context.Context, file []byte) (string, error) {
	if s.o.Pictures == nil {
		return "", errNothing
	}
	return s.o.Pictures.KeepSmall(ctx, file)
}
