package api

import (
	"context"
	"fmt"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// stickersPage is how many stickers and emoji a page of ListStickers has.
const stickersPage = 500

// Stickers are those of the deployment.
type Stickers interface {
	All(ctx context.Context) (im.Stickers, error)
	SetPack(ctx context.Context, p im.StickerPack) (revision uint64, err error)
	SetEmoji(ctx context.Context, name, picture string) (revision uint64, err error)
}

var errNoStickers = im.Errorf(im.CodeUnimplemented, "this server takes no uploads, so it has no stickers")

func (c *Calls) stickerRows() []row {
	return []row{
		newRow("MediaService/ListStickers", User, ClassRead, small, c.listStickers),
		newRow("AdminService/SetStickerPack", Admins, ClassAdmin, entry, c.setStickerPack),
		newRow("AdminService/SetCustomEmoji", Admins, ClassAdmin, small, c.setCustomEmoji),
	}
}

func (c *Calls) listStickers(ctx context.Context, _ im.Actor, r *wire.ListStickersRequest) (*wire.ListStickersResponse, error) {
	if r.GetSince() != 0 && r.GetFrom() != 0 {
		return nil, im.Wrong("from", "is set without since only")
	}
	if c.Stickers == nil {
		return nil, errNoStickers
	}
	all, err := c.Stickers.All(ctx)
	if err != nil {
		return nil, err
	}
	if all.Revision == r.GetSince() {
		return &wire.ListStickersResponse{Revision: all.Revision}, nil
	}
	return pageOfStickers(&all, int(r.GetFrom())), nil
}

// pageOfStickers is a page that leaves out as many stickers and emoji as from.
func pageOfStickers(all *im.Stickers, from int) *wire.ListStickersResponse {
	out := &wire.ListStickersResponse{Revision: all.Revision}
	left, skip := stickersPage, from
	take := func(n int) (begin, end int) {
		begin = min(skip, n)
		skip -= begin
		end = min(n, begin+left)
		left -= end - begin
		return begin, end
	}
	total := len(all.Emoji)
	for i := range all.Packs {
		p := &all.Packs[i]
		total += len(p.Stickers)
		begin, end := take(len(p.Stickers))
		if begin == end {
			continue
		}
		told := &wire.StickerPack{Name: p.Name, Title: p.Title, Order: p.Order}
		for j := begin; j < end; j++ {
			s := &p.Stickers[j]
			told.Stickers = append(told.Stickers, &wire.Sticker{Name: s.Name, Media: entrycodec.MediaToWire(&s.Picture), Alt: s.Alt, Emoji: s.Emoji})
		}
		out.Packs = append(out.Packs, told)
	}
	begin, end := take(len(all.Emoji))
	for i := begin; i < end; i++ {
		e := &all.Emoji[i]
		out.Emoji = append(out.Emoji, &wire.CustomEmoji{Name: e.Name, Media: entrycodec.MediaToWire(&e.Picture)})
	}
	if next := from + stickersPage; next < total {
		out.Next = uint32(next)
	}
	return out
}

func (c *Calls) setStickerPack(ctx context.Context, _ im.Actor, r *wire.SetStickerPackRequest) (*wire.SetStickerPackResponse, error) {
	if c.Stickers == nil {
		return nil, errNoStickers
	}
	p := im.StickerPack{Name: r.GetName(), Title: r.GetTitle(), Order: r.GetOrder()}
	for i, s := range r.GetStickers() {
		if err := checkPicture(s.GetMedia()); err != nil {
			return nil, im.In(fmt.Sprintf("stickers[%d]", i), err)
		}
		p.Stickers = append(p.Stickers, im.Sticker{Name: s.GetName(), Picture: im.Upload{ID: s.GetMedia()}, Alt: s.GetAlt(), Emoji: s.GetEmoji()})
	}
	revision, err := c.Stickers.SetPack(ctx, p)
	return &wire.SetStickerPackResponse{Revision: revision}, err
}

func checkPicture(id string) error {
	if !contract.ValidMedia(id) {
		return im.Wrong("media", "must match [A-Z2-7]{26}")
	}
	return nil
}

func (c *Calls) setCustomEmoji(ctx context.Context, _ im.Actor, r *wire.SetCustomEmojiRequest) (*wire.SetCustomEmojiResponse, error) {
	if c.Stickers == nil {
		return nil, errNoStickers
	}
	if r.GetMedia() != "" {
		if err := checkPicture(r.GetMedia()); err != nil {
			return nil, err
		}
	}
	revision, err := c.Stickers.SetEmoji(ctx, r.GetName(), r.GetMedia())
	return &wire.SetCustomEmojiResponse{Revision: revision}, err
}
