// Package sticker has the stickers and custom emoji of a deployment (SPEC §4.35): what
// administrators set, what everybody lists, and what a message or a reaction may name.
//
// It owns what a node knows of them: all, in memory, as of a revision. It must not know
// messages, media's bytes, or how anything is stored.
//
// Nodes learn of each other's changes by the revision, one row that each asks for every two
// seconds: nothing that is lost between them counts. What a node does not know it looks for
// at once, so a pack that was made is there for all; one that was withdrawn elsewhere may be
// named for two seconds more.
//
// Goroutines: one, from Start to Close, that asks. Locks: reading, around what reads the
// store.
package sticker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// Store keeps stickers. internal/directory is one; its comments say more.
type Store interface {
	StickerRevision(ctx context.Context) (uint64, error)
	Stickers(ctx context.Context) (im.Stickers, error)
	SetStickerPack(ctx context.Context, p im.StickerPack, now, unnamed time.Time) (revision uint64, err error)
	SetCustomEmoji(ctx context.Context, name, picture string, now, unnamed time.Time) (revision uint64, err error)
	Upload(ctx context.Context, id string) (im.Upload, error)
}

const (
	// lookEvery is how often the revision is asked for.
	lookEvery = 2 * time.Second
	// lookTime bounds a look.
	lookTime = 5 * time.Second
	// unnamedTime is how long a picture stays that nothing names any more.
	unnamedTime = 24 * time.Hour
)

// Options say what a Service needs.
type Options struct {
	Store  Store
	Now    func() time.Time // optional
	Logger *slog.Logger     // optional
}

// known is what a node knows; it is never changed.
type known struct {
	im.Stickers
	stickers map[[2]string]*im.Sticker // by pack and name
	emoji    map[string]bool
	pictures map[string]bool
}

// Service has them. It is safe for concurrent use.
type Service struct {
	o       Options
	known   atomic.Pointer[known]
	reading sync.Mutex
	life    context.Context
	end     context.CancelFunc
	done    sync.WaitGroup
}

// New makes a Service; Start begins to ask. What it knows before is nothing, and is looked
// for when somebody asks.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o}
	s.life, s.end = context.WithCancel(context.Background())
	s.known.Store(&known{})
	return s
}

// Start begins to ask for changes of other nodes.
func (s *Service) Start() {
	s.done.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for failed := false; ; {
			ctx, cancel := context.WithTimeout(s.life, lookTime)
			_, err := s.look(ctx)
			cancel()
			if s.life.Err() != nil {
				return
			}
			if err != nil && !failed {
				s.o.Logger.Warn("the stickers of the deployment cannot be read, trying again", "err", err)
			}
			failed = err != nil
			select {
			case <-s.life.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// Close ends that.
func (s *Service) Close() {
	s.end()
	s.done.Wait()
}

// Revision is that of what this node knows.
func (s *Service) Revision() uint64 { return s.known.Load().Revision }

// look reads what changed, if anything did, and returns what is known then.
func (s *Service) look(ctx context.Context) (*known, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	k := s.known.Load()
	r, err := s.o.Store.StickerRevision(ctx)
	if err != nil || r == k.Revision {
		return k, err
	}
	all, err := s.o.Store.Stickers(ctx)
	if err != nil {
		return k, err
	}
	k = index(all)
	s.known.Store(k)
	return k, nil
}

func index(all im.Stickers) *known {
	k := &known{Stickers: all, stickers: map[[2]string]*im.Sticker{}, emoji: map[string]bool{}, pictures: map[string]bool{}}
	for i := range all.Packs {
		p := &all.Packs[i]
		for j := range p.Stickers {
			k.stickers[[2]string{p.Name, p.Stickers[j].Name}] = &p.Stickers[j]
			k.pictures[p.Stickers[j].Picture.ID] = true
		}
	}
	for i := range all.Emoji {
		k.emoji[all.Emoji[i].Name] = true
		k.pictures[all.Emoji[i].Picture.ID] = true
	}
	return k
}

// find asks what is known, and, if it is not there, what is stored.
func (s *Service) find(ctx context.Context, in func(*known) bool) (bool, error) {
	if in(s.known.Load()) {
		return true, nil
	}
	k, err := s.look(ctx)
	return err == nil && in(k), err
}

// Sticker returns the picture of a sticker. not_found names what is not there.
func (s *Service) Sticker(ctx context.Context, pack, name string) (picture string, err error) {
	ok, err := s.find(ctx, func(k *known) bool {
		at := k.stickers[[2]string{pack, name}]
		if at != nil {
			picture = at.Picture.ID
		}
		return at != nil
	})
	if err == nil && !ok {
		e := im.Errorf(im.CodeNotFound, "there is no sticker %s in a pack %s, or it was withdrawn", name, pack)
		e.Field = "content.text"
		err = e
	}
	return picture, err
}

// Emoji tells whether there is a custom emoji.
func (s *Service) Emoji(ctx context.Context, name string) error {
	ok, err := s.find(ctx, func(k *known) bool { return k.emoji[name] })
	if err == nil && !ok {
		e := im.Errorf(im.CodeNotFound, "there is no custom emoji %s, or it was withdrawn", name)
		e.Field = "reaction"
		err = e
	}
	return err
}

// Shows tells whether an upload is the picture of a sticker or an emoji: everybody who is
// signed in may have it.
func (s *Service) Shows(ctx context.Context, upload string) (bool, error) {
	return s.find(ctx, func(k *known) bool { return k.pictures[upload] })
}

// All returns all of them, as they are stored now. Nobody changes what is returned.
func (s *Service) All(ctx context.Context) (im.Stickers, error) {
	k, err := s.look(ctx)
	return k.Stickers, err
}

// SetPack makes a pack, or puts it in the place of the one of its name; without stickers it
// is withdrawn.
func (s *Service) SetPack(ctx context.Context, p im.StickerPack) (uint64, error) {
	if err := checkPack(&p); err != nil {
		return 0, err
	}
	for i := range p.Stickers {
		if err := s.picture(ctx, p.Stickers[i].Picture.ID, im.MaxStickerBytes); err != nil {
			return 0, im.In(fmt.Sprintf("stickers[%d]", i), err)
		}
	}
	now := s.o.Now()
	return s.changed(ctx)(s.o.Store.SetStickerPack(ctx, p, now, now.Add(unnamedTime)))
}

// SetEmoji makes an emoji, or gives it another picture; "" withdraws it.
func (s *Service) SetEmoji(ctx context.Context, name, picture string) (uint64, error) {
	if err := checkName("name", name); err != nil {
		return 0, err
	}
	if picture != "" {
		if err := s.picture(ctx, picture, im.MaxEmojiBytes); err != nil {
			return 0, err
		}
	}
	now := s.o.Now()
	return s.changed(ctx)(s.o.Store.SetCustomEmoji(ctx, name, picture, now, now.Add(unnamedTime)))
}

// changed has this node know of a change before it is answered.
func (s *Service) changed(ctx context.Context) func(uint64, error) (uint64, error) {
	return func(revision uint64, err error) (uint64, error) {
		if err == nil {
			if _, err := s.look(ctx); err != nil { // it is stored; the next look tells
				s.o.Logger.Warn("the stickers of the deployment cannot be read, trying again", "err", err)
			}
		}
		return revision, err
	}
}

// picture tells whether an upload can be the picture of a sticker. A complete upload stays
// as it is.
func (s *Service) picture(ctx context.Context, id string, most int64) error {
	u, err := s.o.Store.Upload(ctx, id)
	if im.CodeOf(err) == im.CodeNotFound || err == nil && !u.Ready {
		e := im.Errorf(im.CodeNotFound, "no such upload, or it is not complete")
		e.Field = "media"
		return e
	}
	switch {
	case err != nil:
		return err
	case u.MIME != "image/png" && u.MIME != "image/webp" && u.MIME != "image/gif":
		return im.Wrong("media", "must be PNG, WebP or GIF")
	case u.Size > most:
		return im.TooLarge("media", "has %d bytes; at most %d are allowed", u.Size, most)
	case u.Width > im.MaxStickerPixels || u.Height > im.MaxStickerPixels:
		return im.TooLarge("media", "is %d × %d pixels; at most %d a side are allowed", u.Width, u.Height, im.MaxStickerPixels)
	}
	return nil
}

func checkName(field, name string) error {
	if !im.ValidStickerName(name) {
		return im.Wrong(field, "must match [a-z0-9_+-]{1,32}")
	}
	return nil
}

func checkPack(p *im.StickerPack) error {
	if err := checkName("name", p.Name); err != nil {
		return err
	}
	if n := len(p.Stickers); n > im.MaxStickers {
		return im.TooLarge("stickers", "has %d stickers; at most %d are allowed", n, im.MaxStickers)
	}
	if len(p.Stickers) == 0 {
		if p.Title != "" {
			return im.Wrong("title", "is for a pack with stickers")
		}
		return nil
	}
	if err := im.CheckName("title", p.Title, 1, im.MaxStickerTitle); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range p.Stickers {
		if err := checkSticker(&p.Stickers[i], seen); err != nil {
			return im.In(fmt.Sprintf("stickers[%d]", i), err)
		}
	}
	return nil
}

func checkSticker(s *im.Sticker, seen map[string]bool) error {
	if err := checkName("name", s.Name); err != nil {
		return err
	}
	if seen[s.Name] {
		return im.Wrong("name", "stands there twice")
	}
	seen[s.Name] = true
	if err := im.CheckName("alt", s.Alt, 1, im.MaxStickerAlt); err != nil {
		return err
	}
	if n := len(s.Emoji); n > im.MaxStickerHints {
		return im.TooLarge("emoji", "has %d; at most %d are allowed", n, im.MaxStickerHints)
	}
	for i, e := range s.Emoji {
		if e == "" || len(e) > im.MaxStickerHintBytes || !utf8.ValidString(e) || strings.ContainsFunc(e, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
			return im.Wrong(fmt.Sprintf("emoji[%d]", i), "must have 1 to %d bytes of UTF-8 without spaces", im.MaxStickerHintBytes)
		}
	}
	return nil
}
