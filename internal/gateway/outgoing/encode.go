package outgoing

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/skein-im/skein/wire"
)

// maxKinds is how many (codec, framing) pairs share encoded frames; further
// ones encode for each session.
const maxKinds = 8

// Kind is a (codec, framing) pair; connections of one kind share framed bytes.
type Kind struct {
	Codec   wire.Codec
	framing string
	index   int
	// longest is the most bytes a frame may have; deflates: framing compresses.
	longest  int
	deflates bool
}

// frameNames are the oneof's names, for the metrics.
var frameNames = [frameTypes]string{
	frameNone: "none", frameWelcome: "welcome", frameSendAck: "send_ack", frameSendError: "send_error",
	framePush: "push", frameReceipt: "receipt", frameSyncDelta: "sync_delta", frameRange: "range",
	frameTyping: "typing", framePresence: "presence", frameResult: "result", framePong: "pong",
	framePing: "ping", frameHeads: "heads", frameResync: "resync", frameKick: "kick",
	frameGoAway: "go_away", frameError: "error", frameMyState: "my_state", frameRenewed: "renewed",
	frameSignal: "signal", frameFloor: "floor", frameAnnouncements: "announcements",
}

// frameType is a server frame's place in the metrics.
type frameType uint8

const (
	frameNone frameType = iota
	frameWelcome
	frameSendAck
	frameSendError
	framePush
	frameReceipt
	frameSyncDelta
	frameRange
	frameTyping
	framePresence
	frameResult
	framePong
	framePing
	frameHeads
	frameResync
	frameKick
	frameGoAway
	frameError
	frameMyState
	frameRenewed
	frameSignal
	frameFloor
	frameAnnouncements
	frameTypes
)

func serverFrameType(f *wire.ServerFrame) frameType {
	switch f.Frame.(type) {
	case *wire.ServerFrame_Welcome:
		return frameWelcome
	case *wire.ServerFrame_SendAck:
		return frameSendAck
	case *wire.ServerFrame_SendError:
		return frameSendError
	case *wire.ServerFrame_Push:
		return framePush
	case *wire.ServerFrame_Receipt:
		return frameReceipt
	case *wire.ServerFrame_SyncDelta:
		return frameSyncDelta
	case *wire.ServerFrame_Range:
		return frameRange
	case *wire.ServerFrame_Typing:
		return frameTyping
	case *wire.ServerFrame_Presence:
		return framePresence
	case *wire.ServerFrame_Result:
		return frameResult
	case *wire.ServerFrame_Pong:
		return framePong
	case *wire.ServerFrame_Ping:
		return framePing
	case *wire.ServerFrame_Heads:
		return frameHeads
	case *wire.ServerFrame_Resync:
		return frameResync
	case *wire.ServerFrame_Kick:
		return frameKick
	case *wire.ServerFrame_GoAway:
		return frameGoAway
	case *wire.ServerFrame_Error:
		return frameError
	case *wire.ServerFrame_MyState:
		return frameMyState
	case *wire.ServerFrame_Renewed:
		return frameRenewed
	case *wire.ServerFrame_Signal:
		return frameSignal
	case *wire.ServerFrame_Floor:
		return frameFloor
	case *wire.ServerFrame_Announcements:
		return frameAnnouncements
	}
	return frameNone
}

// KindOf returns the one kind of a codec and framing.
func (sh *Queues) KindOf(info wire.ConnInfo) *Kind {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, k := range sh.kinds {
		if k.Codec.Name() == info.Codec && k.framing == info.Framing {
			return k
		}
	}
	codec := sh.codecs[info.Codec]
	if codec == nil {
		return nil
	}
	k := &Kind{Codec: codec, framing: info.Framing, index: len(sh.kinds), longest: cmp.Or(sh.o.FrameBytes, math.MaxInt), deflates: info.Deflate}
	if k.index < maxKinds {
		sh.kinds = append(sh.kinds, k)
	}
	return k
}

// errTooLong is a frame beyond Options.FrameBytes.
var errTooLong = errors.New("the frame is longer than frames may be")

// encode encodes a frame for this session into a buffer of the pool, which the
// caller gives back. A codec that fails or panics yields nil and ends the
// session, not the process.
func (o *Queue) encode(f *wire.ServerFrame) *[]byte {
	buf, err := o.tryEncode(f)
	if err != nil {
		o.cannotEncode(f, err)
		return nil
	}
	return buf
}

// cannotEncode ends the session for a frame of its own that could not be encoded.
func (o *Queue) cannotEncode(f *wire.ServerFrame, err error) {
	o.owner.Log().Error("gateway: encode frame", "frame", frameNames[serverFrameType(f)], "codec", o.Kind.Codec.Name(), "err", err)
	o.Abort("internal", "internal")
}

func (o *Queue) tryEncode(f *wire.ServerFrame) (*[]byte, error) {
	buf := o.sh.pools.getBuf()
	out, err := o.Kind.append((*buf)[:0], f)
	if err != nil {
		o.sh.pools.putBuf(buf)
		return nil, err
	}
	*buf = out
	return buf, nil
}

// append is Codec.Append with panics as errors: codecs may come from outside. No
// frame leaves that is longer than Limits.server_frame_bytes (SPEC §1.5).
func (k *Kind) append(dst []byte, f *wire.ServerFrame) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("codec %s panicked: %v", k.Codec.Name(), r)
		}
	}()
	out, err = k.Codec.Append(dst, f)
	if err == nil && len(out)-len(dst) > k.longest {
		return nil, errTooLong
	}
	return out, err
}

// framed returns f encoded and framed in memory of its own.
func (k *Kind) framed(o *Queue, f *wire.ServerFrame) ([]byte, error) {
	payload := o.sh.pools.getBuf()
	defer o.sh.pools.putBuf(payload)
	out, err := k.append((*payload)[:0], f)
	if err != nil {
		o.sh.o.Logger.Error("gateway: encode frame", "frame", frameNames[serverFrameType(f)], "codec", k.Codec.Name(), "err", err)
		return nil, err
	}
	*payload = out
	return o.Conn.AppendMessage(make([]byte, 0, len(out)+16), out), nil
}

// SendWithin is Send for an answer that may be longer than frames may be: then it
// reports false and queues nothing.
func (o *Queue) SendWithin(f *wire.ServerFrame) bool {
	payload, err := o.tryEncode(f)
	if errors.Is(err, errTooLong) {
		return false
	}
	if err != nil {
		o.cannotEncode(f, err)
		return true
	}
	o.put(serverFrameType(f), *payload)
	o.sh.pools.putBuf(payload)
	return true
}

// Send queues a frame of the session's own: never dropped, written by the next flush.
func (o *Queue) Send(f *wire.ServerFrame) {
	payload := o.encode(f)
	if payload == nil {
		return
	}
	o.put(serverFrameType(f), *payload)
	o.sh.pools.putBuf(payload)
}

// shareFrom is the number of recipients from which a frame's bytes are shared
// between the queues instead of copied.
const shareFrom = 16

// Fanout is one frame on its way to many sessions: encoded at most once per kind.
type Fanout struct {
	sh    *Queues
	frame *wire.ServerFrame
	typ   frameType
	// share keeps the bytes in the queues instead of copying them there.
	share bool
	done  [maxKinds][]byte
	bufs  [maxKinds]*[]byte
	// long: in this kind the frame is longer than frames may be.
	long [maxKinds]bool
}

// To queues the frame for a connection.
func (f *Fanout) To(o *Queue) {
	i := o.Kind.index
	if i >= maxKinds {
		if b, err := o.Kind.framed(o, f.frame); err == nil {
			o.push(f.typ, b, true)
		} else {
			o.skips(errors.Is(err, errTooLong))
		}
		return
	}
	if f.done[i] == nil {
		f.done[i] = f.encode(o)
	}
	if len(f.done[i]) > 0 {
		o.push(f.typ, f.done[i], f.share)
	} else {
		o.skips(f.long[i])
	}
}

// skips notes that a push was not queued. Of one that is too long the client is told,
// as of one that does not fit into the queue: it gets the entries by a Sync.
func (o *Queue) skips(long bool) {
	if long {
		o.Compare()
	} else {
		o.Misses()
	}
}

// encode returns the frame for the session's kind, empty if the codec fails
// (then those sessions miss it and their clients pull).
func (f *Fanout) encode(o *Queue) []byte {
	if f.share {
		b, err := o.Kind.framed(o, f.frame)
		if err != nil {
			f.long[o.Kind.index] = errors.Is(err, errTooLong)
			return []byte{}
		}
		return b
	}
	payload := o.sh.pools.getBuf()
	defer o.sh.pools.putBuf(payload)
	out, err := o.Kind.append((*payload)[:0], f.frame)
	if err != nil {
		f.long[o.Kind.index] = errors.Is(err, errTooLong)
		o.sh.o.Logger.Error("gateway: encode frame", "frame", frameNames[f.typ], "codec", o.Kind.Codec.Name(), "err", err)
		return []byte{}
	}
	*payload = out
	framed := o.sh.pools.getBuf()
	*framed = o.Conn.AppendMessage((*framed)[:0], out)
	f.bufs[o.Kind.index] = framed
	return *framed
}

// End gives the buffers back.
func (f *Fanout) End() {
	for i, b := range f.bufs {
		if b != nil {
			f.sh.pools.putBuf(b)
			f.bufs[i] = nil
		}
	}
}
