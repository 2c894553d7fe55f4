package sticker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// shelf is a store with one pack, or none.
type shelf struct {
	mu    sync.Mutex
	all   im.Stickers
	err   error
	reads int
}

// with changes the store, as another node does.
func (s *shelf) with(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *shelf) StickerRevision(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Revision, s.err
}
func (s *shelf) Stickers(context.Context) (im.Stickers, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.all, s.err
}
func (s *shelf) SetStickerPack(context.Context, im.StickerPack, time.Time, time.Time) (uint64, error) {
	return 0, errors.ErrUnsupported
}
func (s *shelf) SetCustomEmoji(_ context.Context, name, picture string, _, _ time.Time) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = im.Stickers{Revision: s.all.Revision + 1, Emoji: []im.CustomEmoji{{Name: name, Picture: im.Upload{ID: picture}}}}
	return s.all.Revision, nil
}
func (s *shelf) Upload(context.Context, string) (im.Upload, error) {
	return im.Upload{Ready: true, Size: 1, MediaFacts: im.MediaFacts{MIME: "image/gif"}}, nil
}

// What another node made is found at once, what it withdrew is gone two seconds later; and
// where nothing changed nothing is read.
func TestOtherNodesLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		s := New(Options{Store: store})
		s.Start()
		defer s.Close()
		synctest.Wait()
		if _, err := s.Sticker(t.Context(), "cats", "wave"); im.CodeOf(err) != im.CodeNotFound || im.Public(err).Field != "content.text" {
			t.Fatal(err)
		}
		store.with(func() {
			store.all = im.Stickers{Revision: 5, Packs: []im.StickerPack{{Name: "cats", Stickers: []im.Sticker{{Name: "wave", Picture: im.Upload{ID: "P"}}}}}}
		})
		if id, err := s.Sticker(t.Context(), "cats", "wave"); id != "P" || err != nil || s.Revision() != 5 {
			t.Fatal(id, err, s.Revision())
		}
		if shows, err := s.Shows(t.Context(), "P"); !shows || err != nil {
			t.Error(shows, err)
		}
		time.Sleep(time.Minute)
		store.with(func() {
			if store.reads != 1 {
				t.Errorf("read %d times", store.reads)
			}
			store.all = im.Stickers{Revision: 6}
		})
		time.Sleep(lookEvery + time.Millisecond)
		synctest.Wait()
		if s.Revision() != 6 {
			t.Error("another node's change is not known:", s.Revision())
		}
		if _, err := s.Sticker(t.Context(), "cats", "wave"); im.CodeOf(err) != im.CodeNotFound {
			t.Error("withdrawn:", err)
		}
		// A store that is away keeps what is known.
		store.with(func() { store.err = errors.New("away") })
		time.Sleep(time.Minute)
		if s.Revision() != 6 {
			t.Error(s.Revision())
		}
		if err := s.Emoji(t.Context(), "party"); err == nil || im.CodeOf(err) == im.CodeNotFound {
			t.Error("a store that is away:", err)
		}
		store.with(func() { store.err = nil })
		// Who changed something knows it.
		if _, err := s.SetEmoji(t.Context(), "party", "Q"); err != nil || s.Revision() != 7 {
			t.Error(err, s.Revision())
		}
		if err := s.Emoji(t.Context(), "party"); err != nil {
			t.Error(err)
		}
	})
}
