package gateway

import (
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// partFrame is the frame that tells the next part of a streamed message. One that cannot
// be read, of a node of another version, tells nothing: the entry that comes does.
func partFrame(s *im.CustomSignal) *wire.ServerFrame {
	p := &wire.Part{}
	if proto.Unmarshal(s.Data, p) != nil {
		p.Reset()
	}
	p.Conversation, p.User = string(s.Conversation), string(s.User)
	return wire.NewServerFrame(p)
}

// partTo tells the next part of a streamed message to those of a group who may read the
// message, whatever is held of it: who hears it before the message waits for what is
// durable. Of whom it is not known they are not told either. Caller holds the group's lock.
func (g *Gateway) partTo(grp *here.Group, s *im.CustomSignal) {
	frame := partFrame(s)
	seq := frame.GetPart().GetSeq()
	f := g.out.Fanout(frame, len(grp.Members))
	for m, at := range grp.Members {
		if at.From != 0 && at.From <= seq {
			f.To(&m.Queue)
		}
	}
	f.End()
}
