package entrycodec

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// The fields of wire.Entry, and of wire.Media, that uploads are found by.
const (
	fieldForward = 26
	fieldMedia   = 31
	fieldMediaID = 1
)

// named are uploads of which only the ids are known: what a Send says.
func named(ids []string) []*wire.Media {
	var all []*wire.Media
	for _, id := range ids {
		all = append(all, &wire.Media{Id: id})
	}
	return all
}

// MediaIDs are the ids of the uploads that a body names, in their order, and behind them
// the picture of its preview.
func MediaIDs(body []byte) (ids []string) {
	add := func(m []byte) {
		eachField(m, fieldMediaID, func(id []byte) { ids = append(ids, string(id)) })
	}
	eachField(body, fieldMedia, add)
	eachField(body, fieldPreview, func(p []byte) { eachField(p, fieldPreviewImage, add) })
	return ids
}

// eachField calls f with every field of bytes that has a number, up to what cannot be read.
func eachField(b []byte, number protowire.Number, f func([]byte)) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		m := protowire.ConsumeFieldValue(num, typ, b)
		if m < 0 {
			return
		}
		if num == number && typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(b)
			f(v)
		}
		b = b[m:]
	}
}

// WithMedia is the body of a message that is about to be stored, with what is known of the
// uploads that it names.
func WithMedia(body []byte, uploads []im.Upload) ([]byte, error) {
	var w wire.Entry
	if err := Decode(body, &w); err != nil {
		return nil, err
	}
	w.Media = w.Media[:0]
	for i := range uploads {
		w.Media = append(w.Media, MediaToWire(&uploads[i]))
	}
	return Encode(&w), nil
}

// MediaToWire is what is told of an upload.
func MediaToWire(u *im.Upload) *wire.Media {
	return &wire.Media{
		Id: u.ID, Mime: u.MIME, Bytes: uint64(u.Size), Name: u.Name, Width: u.Width, Height: u.Height, Blurhash: u.Blurhash,
		DurationMs: uint32(u.Duration.Milliseconds()), Waveform: u.Waveform, Thumbnail: u.Thumbnail != "",
	}
}
