package skein

import (
	"context"
	"encoding/json"

	"github.com/skein-im/skein/wire"
)

// Stickers are the packs of stickers and the custom emoji of the deployment (SPEC §4.35).
type Stickers struct {
	// Revision is another one after each change.
	Revision uint64
	Packs    []*wire.StickerPack
	Emoji    []*wire.CustomEmoji
}

// Stickers lists the stickers and custom emoji of the deployment. known is what was listed
// before, nil for the first time: it is returned as it is where nothing changed. Their
// pictures are fetched with Download, by their ids.
func (c *Client) Stickers(ctx context.Context, known *Stickers) (*Stickers, error) {
	req := &wire.ListStickersRequest{}
	if known != nil {
		req.Since = known.Revision
	}
	all := &Stickers{}
	for begun := false; ; begun = true {
		var resp wire.ListStickersResponse
		if err := c.Call(ctx, "skein.v1.MediaService/ListStickers", req, &resp); err != nil {
			return nil, err
		}
		switch {
		case known != nil && !begun && resp.Revision == known.Revision:
			return known, nil
		case begun && req.From != 0 && resp.Revision != all.Revision: // they changed meanwhile
			req.From, all = 0, &Stickers{}
			continue
		}
		all.Revision = resp.Revision
		all.add(&resp)
		if resp.Next == 0 {
			return all, nil
		}
		req.Since, req.From = 0, resp.Next
	}
}

// add takes a page over; a pack may go on from the page before.
func (s *Stickers) add(page *wire.ListStickersResponse) {
	for _, p := range page.Packs {
		if n := len(s.Packs); n > 0 && s.Packs[n-1].Name == p.Name {
			s.Packs[n-1].Stickers = append(s.Packs[n-1].Stickers, p.Stickers...)
			continue
		}
		s.Packs = append(s.Packs, p)
	}
	s.Emoji = append(s.Emoji, page.Emoji...)
}

// SendSticker sends a sticker of a pack. alt, what it shows, is for who does not see it.
// One that is not there, or was withdrawn, is refused with ErrNotFound.
func (v *Conversation) SendSticker(ctx context.Context, pack, name, alt string, opts ...SendOption) (*Message, error) {
	body, err := json.Marshal(map[string]string{"pack": pack, "name": name})
	if err != nil {
		return nil, err
	}
	return v.Send(ctx, string(body), append([]SendOption{ContentType("sticker"), Fallback(alt)}, opts...)...)
}
