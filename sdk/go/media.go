package skein

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// Upload is a picture, a file, a voice message: bytes that a message is to name.
type Upload struct {
	// Body is what is uploaded; it is read at any offset, also several times, and must not
	// change meanwhile. An *os.File, *bytes.Reader or *strings.Reader is one.
	Body io.ReaderAt
	// Size is how long Body is: 1 byte to Limits.media_bytes of the Welcome.
	Size int64
	// Name is a file's name, one line of at most 255 bytes; a path before it is cut off. It
	// may be empty.
	Name string
	// Duration of audio and video, to the millisecond, less than 49 days. Zero: not known.
	Duration time.Duration
	// Width and Height are used for what the server does not measure itself, a video: at
	// most 65,536 each. Zero: not known.
	Width, Height int
	// Waveform are up to 100 loudnesses, 0 to 100, of a voice message. Bars makes them.
	Waveform []byte

	// Progress, if set, is called with how many bytes have left, at the end with Size. After
	// a cut it goes back to what the server has. It is called by the goroutine of the upload
	// or one that it waits for, never by two at once, and should not take long.
	Progress func(done int64)
	// Resume is the state of an upload that was begun before, perhaps by another process;
	// nil: it is a new one. If the server has it no more it is begun anew.
	Resume *UploadState
	// Save, if set, is called with the state once the server has begun the upload: a program
	// that keeps it may give it as Resume later. An error of it ends the upload.
	Save func(UploadState) error
}

// UploadState is what a program keeps of an upload to go on with it later. It is JSON.
type UploadState struct {
	// ID is the upload's: 26 characters, as messages name it.
	ID   string `json:"id"`
	Size int64  `json:"size"`
	// Sum tells another content from this one, by its length and its first and last 64 KiB:
	// with another one the upload is not gone on with (ErrOtherContent).
	Sum string `json:"sum"`
}

// Upload brings bytes to the server, and returns what it knows of them then; a message may
// name them with Attach for a day, otherwise they are thrown away. What was cut off goes
// on where the server has it, until ctx ends: also while there is no server. Each
// part is checked by its SHA-256. Cancelled, it stays with the server for a day, to be
// gone on with (Upload.Resume), or to be thrown away (DeleteMedia).
//
// An *Error is the server's refusal: ErrTooLarge (longer than Limits.media_bytes, more than
// the user may keep, 16 uploads that are not complete), ErrInvalidArgument (with the
// field; or a picture that is broken: `media`), wire.CodeUnimplemented (a server
// that takes no uploads). ErrShortContent: Body ended before Size.
//
// The server's address is that of the connection. A client on tcp:// or tls:// needs
// WithBaseURL, and is refused with ErrNoBaseURL otherwise.
func (c *Client) Upload(ctx context.Context, u *Upload) (*wire.Media, error) {
	if err := u.check(); err != nil {
		return nil, err
	}
	ctx, end := c.web.begin(c, ctx)
	defer end()
	return (&uploading{c: c, u: u, part: firstPart}).run(ctx)
}

// SendFile uploads, and then sends a message that names the upload: of the type image,
// voice (audio with a Waveform), video (with its sizes and duration) or file, by what the
// server found it to be (SPEC §11.2). The caption may be empty; of a voice message it is not
// told. It returns once the message is stored. Before the upload is complete nothing is in
// the outbox; from then on the message is sent as one of Send is. So that a program which is
// killed between the two, and goes on with both, sends one message, it gives
// the message an id with WithID and keeps that with the upload's state.
func (v *Conversation) SendFile(ctx context.Context, u *Upload, caption string, opts ...SendOption) (*Message, error) {
	if k := kindOf(v.id); k == KindInvalid || k == KindMe {
		return nil, invalid("%q takes no messages", v.id)
	}
	m, err := v.c.Upload(ctx, u)
	if err != nil {
		return nil, err
	}
	content := MediaContent(m, caption)
	all := append([]SendOption{Attach(m.Id), func(s *wire.Send) { s.Content = content }}, opts...)
	return v.Send(ctx, content.GetText(), all...)
}

// Attach names uploads of the user's own that the message has, at most Limits.media (10),
// each once. One that was thrown away, or is not complete, is refused with ErrNotFound and
// the field (`media[1]`).
func Attach(ids ...string) SendOption {
	return func(s *wire.Send) { s.Media = append(s.Media, ids...) }
}

// MediaContent is the content of a message that shows one upload, by what it is.
func MediaContent(m *wire.Media, caption string) *wire.Content {
	kind, _, _ := strings.Cut(m.Mime, "/")
	body := map[string]any{"media": m.Id, "mime": m.Mime, "bytes": m.Bytes}
	name := m.Name
	switch {
	case kind == "image":
		body["width"], body["height"] = m.Width, m.Height
		if m.Blurhash != "" {
			body["blurhash"] = m.Blurhash
		}
	case (kind == "audio" || m.Mime == "application/ogg") && m.DurationMs > 0 && len(m.Waveform) > 0:
		kind, caption = "voice", ""
		bars := make([]int, len(m.Waveform))
		for i, b := range m.Waveform {
			bars[i] = int(b)
		}
		body["duration_ms"], body["waveform"] = m.DurationMs, bars
	case kind == "video" && m.Width > 0 && m.Height > 0 && m.DurationMs > 0:
		body["width"], body["height"], body["duration_ms"] = m.Width, m.Height, m.DurationMs
	default:
		if name == "" {
			name = "file" + extension(m.Mime)
		}
		kind, body["name"] = "file", name
	}
	if caption != "" {
		body["caption"] = caption
	}
	text, _ := json.Marshal(body) // texts and numbers
	fallback := name
	if fallback == "" {
		fallback = kind
	}
	return &wire.Content{Type: kind, Body: &wire.Content_Text{Text: string(text)}, Fallback: fallback}
}

func extension(kind string) string {
	if all, err := mime.ExtensionsByType(kind); err == nil && len(all) > 0 {
		return all[0]
	}
	return ""
}

// Bars makes a Waveform of samples of sound, -1 to 1: at most 100 loudnesses, each the
// loudest sample of its part, of 100.
func Bars(samples []float64) []byte {
	n := min(len(samples), 100)
	out := make([]byte, n)
	for i := range out {
		loudest := 0.0
		for _, s := range samples[i*len(samples)/n : (i+1)*len(samples)/n] {
			loudest = max(loudest, s, -s)
		}
		out[i] = byte(100 * min(loudest, 1))
	}
	return out
}

// MediaPlace names an upload of this message, as Download and MediaLink want it: with it
// the server need not look for a message that the user may read.
func (m *Message) MediaPlace(i int) *wire.MediaPlace {
	p := &wire.MediaPlace{Id: m.Media[i].GetId()}
	if m.Seq > 0 {
		p.Conversation, p.Seq = m.Conversation, m.Seq
	}
	return p
}

// Media tells what the server knows of at most 100 uploads, in their order, without those
// that are not the user's to read, are not complete, or are gone.
func (c *Client) Media(ctx context.Context, places ...*wire.MediaPlace) ([]*wire.Media, error) {
	var resp wire.GetMediaResponse
	err := c.Call(ctx, "skein.v1.MediaService/GetMedia", &wire.GetMediaRequest{Media: places}, &resp)
	return resp.Media, err
}

// MediaLink is an address by which somebody who shows a page, or a player, fetches an
// upload, or its small picture, without a header. It holds for some minutes, until the time
// that is told, and as long as the user may fetch the upload. ErrNotFound: it is not the
// user's to read, or there is no small picture of it.
func (c *Client) MediaLink(ctx context.Context, place *wire.MediaPlace, thumbnail bool) (address string, until time.Time, err error) {
	base, err := c.baseURL()
	if err != nil {
		return "", time.Time{}, err
	}
	var resp wire.LinkMediaResponse
	req := &wire.LinkMediaRequest{Media: place, Thumbnail: thumbnail}
	if err := c.Call(ctx, "skein.v1.MediaService/LinkMedia", req, &resp); err != nil {
		return "", time.Time{}, err
	}
	return base + resp.Path, time.UnixMilli(resp.UntilMs), nil
}

// DeleteMedia throws away an upload of the user's own that no message names, complete or
// not. ErrNotFound: there is none, or it is another one's; ErrPermission: a message names it,
// or one that is to be sent later.
func (c *Client) DeleteMedia(ctx context.Context, id string) error {
	return c.Call(ctx, "skein.v1.MediaService/DeleteMedia", &wire.DeleteMediaRequest{Id: id}, new(wire.DeleteMediaResponse))
}
