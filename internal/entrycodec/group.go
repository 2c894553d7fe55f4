package entrycodec

import (
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// GroupChangeToWire translates a change of a group's settings; nil stays nil. The
// result shares what c points to.
func GroupChangeToWire(c *im.GroupChange) *wire.GroupChange {
	if c == nil {
		return nil
	}
	return &wire.GroupChange{
		Picture: c.Picture, Description: c.Description, Announcement: c.Announcement, Extra: c.Extra,
		WhoMayAdd: wire.GroupPower(c.Add), WhoMayPost: wire.GroupPower(c.Post), WhoMayMentionAll: wire.GroupPower(c.MentionAll), WhoMayPin: wire.GroupPower(c.Pin),
		Join: wire.JoinMode(c.Join), History: wire.GroupHistory(c.History), MutedAll: c.MutedAll, SlowModeS: c.SlowMode,
	}
}

// GroupChange translates it back. Values that no number below 256 stands for are
// unknown, and 0.
func GroupChange(w *wire.GroupChange) *im.GroupChange {
	if w == nil {
		return nil
	}
	return &im.GroupChange{
		Picture: w.Picture, Description: w.Description, Announcement: w.Announcement, Extra: w.GetExtra(),
		Add: enum[im.GroupPower](w.GetWhoMayAdd()), Post: enum[im.GroupPower](w.GetWhoMayPost()), MentionAll: enum[im.GroupPower](w.GetWhoMayMentionAll()), Pin: enum[im.GroupPower](w.GetWhoMayPin()),
		Join: enum[im.JoinMode](w.GetJoin()), History: enum[im.GroupHistory](w.GetHistory()), MutedAll: w.MutedAll, SlowMode: w.SlowModeS,
	}
}

func enum[T ~uint8, W ~int32](w W) T {
	if w < 0 || w > 255 {
		return 0
	}
	return T(w)
}
