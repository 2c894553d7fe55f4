package directorytest

import (
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// picture is a complete upload.
func (p *people) picture(id string) string {
	p.Helper()
	return p.ready(id, "ann", 1, "hash of "+id).ID
}

// stickers: packs and emoji are as they were set last, in their order; their pictures stay
// as long as one of them has them; each change has a revision of its own.
func stickers(p *people) {
	all := func() im.Stickers {
		p.Helper()
		got, err := p.db.Stickers(p.ctx)
		p.ok(err)
		r, err := p.db.StickerRevision(p.ctx)
		p.ok(err)
		equal(p, "revision", got.Revision, r)
		return got
	}
	equal(p, "none", fmt.Sprint(all()), fmt.Sprint(im.Stickers{}))
	hi, bye, party := p.picture("hi"), p.picture("bye"), p.picture("party")
	unnamed := at.Add(time.Minute)
	sticker := func(name, picture string, emoji ...string) im.Sticker {
		return im.Sticker{Name: name, Picture: im.Upload{ID: picture}, Alt: "a " + name, Emoji: emoji}
	}
	last := uint64(0)
	changed := func(r uint64, err error) {
		p.Helper()
		p.ok(err)
		if r <= last {
			p.Fatalf("revision %d after %d", r, last)
		}
		last = r
	}
	pack := func(name string, order uint32, s ...im.Sticker) {
		p.Helper()
		title := "T"
		changed(p.db.SetStickerPack(p.ctx, im.StickerPack{Name: name, Title: title, Order: order, Stickers: s}, at, unnamed))
	}
	due := func(want ...string) {
		p.Helper()
		got, err := p.db.DueUploads(p.ctx, at.Add(100*time.Hour), 9)
		p.ok(err)
		equal(p, "thrown away", fmt.Sprint(got), fmt.Sprint(want))
	}
	pack("later", 2, sticker("z", hi, "👋", "😺"), sticker("a", bye))
	pack("b", 1, sticker("z", hi))
	changed(p.db.SetCustomEmoji(p.ctx, "party", party, at, unnamed))
	changed(p.db.SetCustomEmoji(p.ctx, "again", hi, at, unnamed))
	got := all()
	equal(p, "revision", got.Revision, last)
	equal(p, "packs", len(got.Packs), 2)
	equal(p, "first", got.Packs[0].Name, "b")
	equal(p, "second", got.Packs[1].Title, "T")
	equal(p, "its order", got.Packs[1].Order, 2)
	equal(p, "stickers as they were given", got.Packs[1].Stickers[0].Name, "z")
	equal(p, "and the next", got.Packs[1].Stickers[1].Name, "a")
	equal(p, "hints", fmt.Sprint(got.Packs[1].Stickers[0].Emoji), "[👋 😺]")
	equal(p, "no hints", len(got.Packs[1].Stickers[1].Emoji), 0)
	equal(p, "picture", got.Packs[1].Stickers[1].Picture.MIME, "text/plain")
	equal(p, "emoji", fmt.Sprint(got.Emoji[0].Name, got.Emoji[1].Name, got.Emoji[1].Picture.ID), "againpartyparty")
	due()
	changed(p.db.SetCustomEmoji(p.ctx, "again", "", at, unnamed)) // stickers have it still
	due()
	changed(p.db.SetCustomEmoji(p.ctx, "again", hi, at, unnamed))
	// What is not there changes nothing.
	_, err := p.db.SetStickerPack(p.ctx, im.StickerPack{Name: "later", Title: "T", Stickers: []im.Sticker{sticker("z", hi), sticker("x", "none")}}, at, unnamed)
	equal(p, "no such upload", im.CodeOf(err), im.CodeNotFound)
	equal(p, "its field", im.Public(err).Field, "stickers[1].media")
	_, err = p.db.SetCustomEmoji(p.ctx, "party", "none", at, unnamed)
	equal(p, "no such upload", im.Public(err).Field, "media")
	equal(p, "unchanged", all().Revision, last)
	equal(p, "unchanged", len(all().Packs[1].Stickers), 2)
	// A picture goes with the last that has it.
	pack("later", 2, sticker("a", hi))
	due(bye)
	pack("later", 0)
	pack("b", 0)
	due(bye)
	changed(p.db.SetCustomEmoji(p.ctx, "again", "", at, unnamed))
	changed(p.db.SetCustomEmoji(p.ctx, "party", bye, at, unnamed))
	due(hi, party)
	equal(p, "left", fmt.Sprint(len(all().Packs), len(all().Emoji)), "0 1")
	// Nobody asks the journal about those.
	names, err := p.db.DueNames(p.ctx, at.Add(200*365*24*time.Hour), 9)
	p.ok(err)
	equal(p, "asked about", len(names), 0)
}

// mostPacks: there is a bound of packs, and one that is there can be set anew at it.
func mostPacks(p *people) {
	one := []im.Sticker{{Name: "a", Picture: im.Upload{ID: p.picture("hi")}, Alt: "a"}}
	for i := range im.MaxStickerPacks {
		_, err := p.db.SetStickerPack(p.ctx, im.StickerPack{Name: fmt.Sprint("p", i), Title: "T", Stickers: one}, at, at)
		p.ok(err)
	}
	_, err := p.db.SetStickerPack(p.ctx, im.StickerPack{Name: "more", Title: "T", Stickers: one}, at, at)
	equal(p, "one more", im.CodeOf(err), im.CodeTooLarge)
	equal(p, "its field", im.Public(err).Field, "name")
	_, err = p.db.SetStickerPack(p.ctx, im.StickerPack{Name: "p0", Title: "U", Stickers: one}, at, at)
	p.ok(err)
}
