package api

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/wire"
)

// maxMediaAsked is how many uploads are asked about at a time.
const maxMediaAsked = 100

// errNoMedia: the server keeps no media.
var errNoMedia = im.Errorf(im.CodeUnimplemented, "this server takes no uploads")

func (c *Calls) mediaRows() []row {
	return []row{
		newRow("MediaService/GetMedia", User, ClassRead, ids, c.getMedia),
		newRow("MediaService/LinkMedia", User, ClassRead, small, c.linkMedia),
		newRow("MediaService/DeleteMedia", User, ClassWrite, small, c.deleteMedia),
	}
}

// place is the message that is said to name an upload.
func place(p *wire.MediaPlace) (id string, at media.Place, err error) {
	if p.GetId() == "" {
		return "", at, im.Wrong("id", "is missing")
	}
	if !contract.ValidMedia(p.GetId()) {
		return "", at, im.Wrong("id", "must match [A-Z2-7]{26}")
	}
	switch {
	case p.GetConversation() == "" && p.GetSeq() == 0:
		return p.GetId(), at, nil
	case p.GetSeq() == 0:
		return "", at, im.Wrong("seq", "is missing")
	}
	at.Seq = p.GetSeq()
	at.Conversation, err = im.ParseConversationID(p.GetConversation())
	return p.GetId(), at, err
}

func (c *Calls) getMedia(ctx context.Context, actor im.Actor, r *wire.GetMediaRequest) (*wire.GetMediaResponse, error) {
	if n := len(r.GetMedia()); n > maxMediaAsked {
		return nil, im.TooLarge("media", "has %d uploads; at most %d are allowed", n, maxMediaAsked)
	}
	// Each is looked for as one that is fetched.
	if err := c.Limiter.more(ClassRead, actor, len(r.GetMedia())-1); err != nil {
		return nil, err
	}
	out := &wire.GetMediaResponse{}
	for i, p := range r.GetMedia() {
		id, at, err := place(p)
		if err != nil {
			return nil, im.In(fmt.Sprintf("media[%d]", i), err)
		}
		if c.Media == nil {
			return nil, errNoMedia
		}
		switch u, err := c.Media.Find(ctx, actor.User, id, at); {
		case err == nil && u.Ready:
			out.Media = append(out.Media, entrycodec.MediaToWire(&u))
		case err != nil && im.CodeOf(err) != im.CodeNotFound:
			return nil, err
		}
	}
	return out, nil
}

func (c *Calls) linkMedia(ctx context.Context, actor im.Actor, r *wire.LinkMediaRequest) (*wire.LinkMediaResponse, error) {
	id, at, err := place(r.GetMedia())
	if err != nil {
		return nil, im.In("media", err)
	}
	if c.Media == nil {
		return nil, errNoMedia
	}
	u, err := c.Media.Find(ctx, actor.User, id, at)
	if err == nil && (!u.Ready || r.GetThumbnail() && u.Thumbnail == "") {
		err = im.Errorf(im.CodeNotFound, "no such upload")
	}
	if err != nil {
		return nil, err
	}
	l := media.Link{User: actor.User, Media: id, Thumbnail: r.GetThumbnail(), At: at, Until: c.Now().Add(media.LinkTime)}
	return &wire.LinkMediaResponse{Path: linkPath(l, c.Media.Sign(l)), UntilMs: l.Until.UnixMilli()}, nil
}

// linkPath is a link as a path of this server.
func linkPath(l media.Link, signature string) string {
	q := url.Values{"user": {string(l.User)}, "until": {strconv.FormatInt(l.Until.UnixMilli(), 10)}, "signature": {signature}}
	if l.At.Conversation != "" {
		q.Set("conversation", string(l.At.Conversation))
		q.Set("seq", strconv.FormatUint(l.At.Seq, 10))
	}
	path := mediaPath + l.Media
	if l.Thumbnail {
		path += thumbnailPath
	}
	return path + "?" + q.Encode()
}

func (c *Calls) deleteMedia(ctx context.Context, actor im.Actor, r *wire.DeleteMediaRequest) (*wire.DeleteMediaResponse, error) {
	if !contract.ValidMedia(r.GetId()) {
		return nil, im.Wrong("id", "must match [A-Z2-7]{26}")
	}
	if c.Media == nil {
		return nil, errNoMedia
	}
	return &wire.DeleteMediaResponse{}, c.Media.Drop(ctx, actor.User, r.GetId())
}
