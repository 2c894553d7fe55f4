package wire

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire/netio"
)

// Codec turns frames into bytes and back. Implementations are stateless values.
type Codec interface {
	// Name is how a client asks for it: the WebSocket sub-protocol, or the first
	// message on a stream, e.g. `skein.v1.json`.
	Name() string
	// Binary tells whether its messages are binary or UTF-8 text.
	Binary() bool
	// Append appends the encoding of a *ClientFrame or *ServerFrame to dst.
	Append(dst []byte, frame proto.Message) ([]byte, error)
	// Decode fills frame, which is empty. Unknown fields and frames are no error.
	// Invalid UTF-8 in a string is. The frame does not keep data.
	Decode(data []byte, frame proto.Message) error
}

// Transport opens listeners for the URLs of one scheme.
type Transport interface {
	Listen(ctx context.Context, u *url.URL, o ListenOptions) (Listener, error)
}

// ListenOptions is what every transport must honour.
type ListenOptions struct {
	// TLS is set for wss:// and tls://.
	TLS *tls.Config
	// Codecs are the names the server knows, in its order of preference. A
	// connection that asks for another is refused with `codec_unsupported`.
	Codecs []string
	// TextCodecs are those of Codecs whose messages are UTF-8 text, for transports
	// that tell text from binary. `skein.v1.json` need not be named.
	TextCodecs []string
	// HandshakeTimeout bounds the time until the codec is known. 0 is 5 s.
	HandshakeTimeout time.Duration
	// Origins a browser may connect from, as patterns of OriginMatches; a request
	// without an Origin header and one from the listener's own host are always allowed.
	Origins []string
	// Deflate lets clients of a transport that can ask for compressed messages, e.g.
	// permessage-deflate of WebSocket (SPEC §1.8).
	Deflate bool
	// Poller lets connections park (see Parker) where sockets can. Nil: they wait in
	// a goroutine each.
	Poller *netio.Poller
	// Log is told of what cannot be returned, e.g. that accepting fails for want of
	// file descriptors. Nil is the default logger.
	Log *slog.Logger
}

// WithCodecs sets Codecs and TextCodecs.
func (o ListenOptions) WithCodecs(codecs ...Codec) ListenOptions {
	o.Codecs, o.TextCodecs = nil, nil
	for _, c := range codecs {
		o.Codecs = append(o.Codecs, c.Name())
		if !c.Binary() {
			o.TextCodecs = append(o.TextCodecs, c.Name())
		}
	}
	return o
}

// Binary reports whether messages of the codec are binary.
func (o ListenOptions) Binary(codec string) bool {
	return codec != JSONName && !slices.Contains(o.TextCodecs, codec)
}

// Timeout is HandshakeTimeout or its default.
func (o ListenOptions) Timeout() time.Duration {
	if o.HandshakeTimeout > 0 {
		return o.HandshakeTimeout
	}
	return 5 * time.Second
}

// Listener accepts connections of one URL.
type Listener interface {
	// Serve calls serve for each connection whose handshake is done, in a goroutine
	// of its own, until Close. serve returns when the connection is over or parked:
	// the Conn is serve's from the call on, and its return means nothing.
	Serve(serve func(Conn)) error
	Addr() net.Addr
	// Close stops accepting; connections that were served go on.
	Close() error
}

// ConnInfo is what is known of a connection after its handshake.
type ConnInfo struct {
	// Codec is the name the client chose.
	Codec string
	// Framing names how messages are framed, e.g. `ws` or `len32`. Connections of
	// the same codec and framing can share framed bytes.
	Framing string
	// RemoteAddr is the peer's address, without port.
	RemoteAddr string
	// Deflate tells that AppendMessage compresses: it takes its time, and is better
	// not called with a lock.
	Deflate bool
}

// Conn carries whole messages (encoded frames) in both directions. Reading
// belongs to one goroutine, writing to one at a time; Close may come from any.
type Conn interface {
	Info() ConnInfo
	// ReadMessage waits for the next message. The bytes are valid until the next
	// call. A message longer than the limit is a *CloseError with frame_too_long,
	// found before memory for it is taken; a peer that breaks the framing is one
	// with protocol_error; io.EOF is an orderly end. While it waits, an idle
	// connection holds no read buffer.
	ReadMessage() ([]byte, error)
	// Buffered reports whether the next message has arrived already.
	Buffered() bool
	// SetReadLimit bounds the length of messages from now on; 16 KiB at first. It
	// belongs to the reader.
	SetReadLimit(bytes int)
	// AppendMessage appends payload in the transport's framing to dst. It depends
	// on ConnInfo only.
	AppendMessage(dst, payload []byte) []byte
	// TryWrite writes as much framed data as the peer takes without waiting and
	// returns how much that was. A transport that cannot returns 0, nil.
	TryWrite(p []byte) (int, error)
	// Write writes all framed data, waiting until the deadline at most.
	Write(p []byte, deadline time.Time) error
	// Close ends the connection, telling the peer code and reason where the
	// transport can (without waiting for it), and unblocks ReadMessage.
	Close(code Code, reason string) error
}

// ByteCounter is implemented by a Conn that counts the bytes that arrive, whole
// messages or not, so that a slow upload and a ping of the transport count as
// life (SPEC §9.2). Received may be called by any goroutine.
type ByteCounter interface {
	Received() uint64
}

// Parker is implemented by a Conn that can wait for its peer without a
// goroutine: a waiting one costs more memory than all else of a connection, and
// most connections are silent most of the time.
type Parker interface {
	// Park is for the reader, between two messages. If it returns true, the reader
	// must not touch the Conn any more, and resume is called once, in a goroutine of
	// its own that is the reader from then on: when something has arrived, the peer
	// has ended, the Conn is closed, or for nothing. If it returns false nothing has
	// changed: something has arrived already, or this Conn cannot park.
	Park(resume func()) bool
	// Nudge makes a ReadMessage that waits between two messages return ErrNudged, so
	// that the reader can park; one that does not wait returns it when it would. It
	// loses nothing, and means nothing to a Conn that is parked or cannot park. Any
	// goroutine may call it.
	Nudge()
}

// ErrNudged is what ReadMessage returns after Nudge. The Conn is as it was.
var ErrNudged = netio.ErrNudged

// CloseError is why ReadMessage ended the connection.
type CloseError struct {
	Code   Code
	Reason string
}

func (e *CloseError) Error() string { return string(e.Code) + ": " + e.Reason }
