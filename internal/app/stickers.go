package app

import (
	"github.com/skein-im/skein/internal/api"
	"github.com/skein-im/skein/internal/sticker"
)

// makeStickers makes what has the deployment's stickers.
func (a *App) makeStickers() {
	a.stickers = sticker.New(sticker.Options{Store: a.directory, Now: a.now, Logger: a.log})
	a.stickersKnown.Store(a.stickers)
}

// stickersRevision is the revision of the stickers, 0 where this process has none: the
// gateway is made before the logic, and may be alone.
func (a *App) stickersRevision() uint64 {
	if s := a.stickersKnown.Load(); s != nil {
		return s.Revision()
	}
	return 0
}

// stickersForCalls is nil, and not an interface with a nil in it, without stickers.
func (a *App) stickersForCalls() api.Stickers {
	if a.stickers == nil {
		return nil
	}
	return a.stickers
}
