package app

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/media/blob"
	"github.com/skein-im/skein/internal/media/picture"
	"github.com/skein-im/skein/internal/messaging"
	"github.com/skein-im/skein/internal/platform"
)

// openUploads is how many uploads of a user may be incomplete at a time.
const openUploads = 16

// mediaPlace is where uploads are kept, "" if none are taken: a directory of this process
// is of no use to other nodes.
func mediaPlace(c *config.Config) string {
	switch {
	case c.Media.Store == "off", c.Media.Store == "" && c.Store != "":
		return ""
	case c.Media.Store == "":
		return "media"
	}
	return c.Media.Store
}

// mediaBytes is the longest upload, 0 if none are taken.
func mediaBytes(c *config.Config) int64 {
	if mediaPlace(c) == "" {
		return 0
	}
	return int64(c.Media.MaxBytes)
}

// makeMedia makes what takes uploads, if the settings say where they are kept.
func (a *App) makeMedia(adminKey string) error {
	place, c := mediaPlace(&a.cfg), &a.cfg.Media
	if place == "" {
		return nil
	}
	if !strings.Contains(place, "://") && !filepath.IsAbs(place) {
		place = a.data.file(place)
	}
	spool := a.data.file("spool")
	if err := platform.MkdirAll(spool); err != nil {
		return fmt.Errorf("media.store: %w", err)
	}
	store, err := blob.Open(place, spool)
	if err != nil {
		return fmt.Errorf("media.store: %w", err)
	}
	// The admin key is what all nodes have, and nobody else.
	key := hmac.New(sha256.New, []byte(adminKey))
	key.Write([]byte("skein media links"))
	a.media = media.New(media.Options{
		Uploads: a.directory, Names: a.directory, Store: store,
		Pictures: picture.NewMaker(picture.Options{MaxPixels: int64(c.MaxPixels), Memory: int64(c.PictureMemory)}),
		Quota:    im.MediaQuota{Bytes: int64(c.UserBytes), Open: openUploads, PerHour: c.UploadsPerHour},
		MaxBytes: int64(c.MaxBytes), UploadTime: time.Duration(c.UploadTime), MinFree: int64(a.cfg.Journal.MinFree),
		Key: key.Sum(nil), Now: a.now, Logger: a.log,
	})
	return nil
}

// newMessaging makes what carries messages; it and media ask each other.
func (a *App) newMessaging(o messaging.Options) *messaging.Service {
	if a.media == nil {
		return messaging.New(o)
	}
	o.Media = a.media
	s := messaging.New(o)
	a.media.Use(s)
	return s
}

// startSweeping begins to throw away what is not kept any more, endSweeping ends it.
func (a *App) startSweeping() {
	if a.media != nil {
		a.media.Start()
	}
	if a.retention != nil {
		a.retention.Start()
	}
}

func (a *App) endSweeping() {
	if a.media != nil {
		a.media.Close()
	}
	if a.retention != nil {
		a.retention.Close()
	}
}
