package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/export"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/media/blob"
	"github.com/skein-im/skein/internal/media/picture"
	"github.com/skein-im/skein/internal/media/scan"
	"github.com/skein-im/skein/internal/messaging"
	"github.com/skein-im/skein/internal/platform"
)

// openUploads is how many uploads of a user may be incomplete at a time.
const openUploads = 16

// mediaPlace is where uploads are kept, "" if none are taken: a directory of this process
// is of no use to other nodes.
func mediaPlace(c *config.Config) string {
	switch {
	case c.Media.Store == "off", c.Media.Store == "" && (c.Store != "" || !c.Is(config.RoleLogic)):
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

// mediaDir is the directory of uploads below a data directory, "" if they are elsewhere.
func mediaDir(c *config.Config, data string) string {
	place := mediaPlace(c)
	if place == "" || strings.Contains(place, "://") {
		return ""
	}
	if filepath.IsAbs(place) {
		var err error
		if data, err = filepath.Abs(data); err != nil {
			return ""
		}
		if place, err = filepath.Rel(data, place); err != nil {
			return ""
		}
	}
	if !filepath.IsLocal(place) {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(place))
}

// MediaDir is the directory below the data directory that has uploads, with slashes; "":
// they are elsewhere, or none are taken.
func MediaDir(c config.Config) string { return mediaDir(&c, c.Data) }

// mediaPath is the directory of uploads with that data directory, "" if they are in a bucket
// or none are taken.
func mediaPath(c *config.Config, data string) string {
	place := mediaPlace(c)
	switch {
	case place == "" || strings.Contains(place, "://"):
		return ""
	case filepath.IsAbs(place):
		return place
	}
	return filepath.Join(data, place)
}

// CheckMedia refuses a directory of uploads that is not there, or is empty, for a store that
// names some: a disk that is not mounted. It would be made on another disk, new uploads
// would go there, and those of before would be lost to users without a word.
func CheckMedia(c *config.Config, uploads bool) error {
	place := mediaPath(c, c.Data)
	if place == "" || !uploads {
		return nil
	}
	begun, err := blob.Begun(place)
	if err != nil {
		return fmt.Errorf("media.store: %w", err)
	}
	if !begun {
		return fmt.Errorf("media.store: %s is not there, or empty, and the store knows pictures and files that are kept in it: is its disk mounted? "+
			"Nothing was changed. If they are gone for good, begin an empty place with: mkdir -p %s", place, blob.Incoming(place))
	}
	return nil
}

// checkMediaParent refuses an absolute path whose parent is not there. What is below the
// data directory is made with it.
func checkMediaParent(c *config.Config) error {
	place := mediaPath(c, c.Data)
	if place == "" || MediaDir(*c) != "" {
		return nil
	}
	parent := filepath.Dir(place)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("media.store: %s cannot be made: %s is not there. Mount its disk, or make that directory", place, parent)
	}
	return nil
}

// OpenMediaToRead is OpenMedia for who only reads: no directory is made.
func OpenMediaToRead(c config.Config, data string) (blob.Store, error) {
	if place := mediaPath(&c, data); place != "" {
		return blob.OpenToRead(place, "")
	}
	return OpenMedia(c, data)
}

// HasBlob makes what tells whether a blob is in the directory of uploads, fs.ErrNotExist if
// not; nil if there is no such directory. It makes none, and reads nothing of the blob.
func HasBlob(c *config.Config) func(name string) error {
	place := mediaPath(c, c.Data)
	if place == "" {
		return nil
	}
	return func(name string) error { return blob.Has(place, name) }
}

// openMediaOf opens the place of the uploads that a store names.
func (a *App) openMediaOf(ctx context.Context) (blob.Store, error) {
	uploads, err := a.directory.HasUploads(ctx)
	if err != nil {
		return nil, err
	}
	if err := CheckMedia(&a.cfg, uploads); err != nil {
		return nil, err
	}
	return OpenMedia(a.cfg, a.cfg.Data)
}

// OpenMedia opens where a server with these settings, and that data directory, keeps
// uploads; nil: none are taken.
func OpenMedia(c config.Config, data string) (blob.Store, error) {
	place := mediaPlace(&c)
	if place == "" {
		return nil, nil
	}
	if dir := mediaPath(&c, data); dir != "" {
		place = dir
	}
	spool := filepath.Join(data, "spool")
	if strings.Contains(place, "://") {
		if err := platform.MkdirAll(spool); err != nil {
			return nil, fmt.Errorf("media.store: %w", err)
		}
	}
	store, err := blob.Open(place, spool)
	if err != nil {
		return nil, fmt.Errorf("media.store: %w", err)
	}
	return store, nil
}

// makeMedia makes what takes uploads, if the settings say where they are kept.
func (a *App) makeMedia(ctx context.Context, adminKey string) error {
	store, err := a.openMediaOf(ctx)
	if store == nil || err != nil {
		return err
	}
	o, err := a.mediaOptions(store, adminKey)
	if err != nil {
		return err
	}
	o.Uploads, o.Names, o.Waits, o.Left = guestUploads{a.directory}, a.directory, a.waits, a.left
	a.makeStickers()
	o.Shows = func(ctx context.Context, upload string) (bool, error) {
		shown, err := a.directory.ShowsSomebody(ctx, upload)
		if err != nil || shown {
			return shown, err
		}
		return a.stickers.Shows(ctx, upload)
	}
	a.media = media.New(o)
	return nil
}

func (a *App) mediaOptions(store media.Store, adminKey string) (media.Options, error) {
	// The admin key is what all nodes have, and nobody else.
	key := hmac.New(sha256.New, []byte(adminKey))
	key.Write([]byte("skein media links"))
	c := &a.cfg.Media
	scanning := media.Scanning{Time: time.Duration(c.ScanTime), AtOnce: c.ScanAtOnce, Open: c.ScanSilence == "open"}
	if c.Scanner != "" {
		var err error
		if scanning.Scan, err = scan.Parse(c.Scanner); err != nil {
			return media.Options{}, fmt.Errorf("media.scanner: %w", err)
		}
	}
	return media.Options{
		Scanning: scanning,
		Store:    store,
		Pictures: picture.NewMaker(picture.Options{MaxPixels: int64(c.MaxPixels), Memory: int64(c.PictureMemory)}),
		Quota:    im.MediaQuota{Bytes: int64(c.UserBytes), Open: openUploads, PerHour: c.UploadsPerHour},
		MaxBytes: int64(c.MaxBytes), UploadTime: time.Duration(c.UploadTime), MinFree: int64(a.cfg.Journal.MinFree),
		Key: key.Sum(nil), Now: a.now, Logger: a.log, Registerer: a.metrics,
	}, nil
}

// makeMediaApart makes what takes uploads on a node without the role logic: it keeps and
// reads bytes where those with it do, and asks them for everything else.
func (a *App) makeMediaApart() error {
	place := mediaPlace(&a.cfg)
	if place == "" || !a.cfg.Is(config.RoleAPI) {
		return nil
	}
	if !strings.Contains(place, "://") && !filepath.IsAbs(place) {
		return fmt.Errorf("media.store: %q is in this node's own data directory: without the role logic it must be what all nodes share, the absolute path of a directory or s3://BUCKET/PREFIX", place)
	}
	store, err := OpenMedia(a.cfg, a.cfg.Data)
	if err != nil {
		return err
	}
	o, err := a.mediaOptions(store, clusterKey(a.cfg.Node.Secret))
	if err != nil {
		return err
	}
	o.Elsewhere = &media.Elsewhere{Ask: a.node.Media}
	o.Uploads = o.Elsewhere
	a.media = media.New(o)
	return nil
}

// makeExports makes what gives users everything of theirs, if the settings say so. The
// admin key is what all nodes have, and nobody else.
func (a *App) makeExports(adminKey string) {
	if a.cfg.Accounts.Exports == 0 {
		return
	}
	key := hmac.New(sha256.New, []byte(adminKey))
	key.Write([]byte("skein exports"))
	o := export.Options{Logic: a.ask, Key: key.Sum(nil), AtOnce: a.cfg.Accounts.Exports, Now: a.now, Logger: a.log}
	if a.media != nil {
		o.Media = a.media
	}
	if store, ok := a.journal.(interface{ Damaged() []im.ConversationID }); ok {
		o.Damaged = store.Damaged
	}
	a.exports = export.New(o)
}

// left tells whether the account of a user was deleted.
func (a *App) left(ctx context.Context, u im.UserID) (bool, error) {
	users, err := a.directory.Users(ctx, []im.UserID{u})
	return err == nil && (len(users) == 0 || users[0].Deleted), err
}

// waits tells whether a message that names an upload is scheduled.
func (a *App) waits(ctx context.Context, n im.MediaName) (bool, error) {
	m, err := a.directory.Scheduled(ctx, n.Sender, n.ID)
	if im.CodeOf(err) == im.CodeNotFound {
		return false, nil
	}
	return err == nil && m.Message.Conversation == n.Conversation && slices.Contains(entrycodec.MediaIDs(m.Message.Body), n.Media), err
}

// newMessaging makes what carries messages, and what looks at their links; it and media
// ask each other.
func (a *App) newMessaging(o messaging.Options) *messaging.Service {
	if a.media != nil {
		o.Media, o.Stickers = a.media, a.stickers
	}
	s := messaging.New(o)
	if a.media != nil {
		a.media.Use(s)
	}
	a.makePreviews(s)
	return s
}

// startSweeping begins to throw away what is not kept any more, endSweeping ends it.
func (a *App) startSweeping() {
	if a.media != nil {
		a.media.Start()
	}
	if a.stickers != nil {
		a.stickers.Start()
	}
	if a.retention != nil {
		a.retention.Start()
	}
}

func (a *App) endSweeping() {
	if a.media != nil {
		a.media.Close()
	}
	if a.stickers != nil {
		a.stickers.Close()
	}
	if a.retention != nil {
		a.retention.Close()
	}
}
