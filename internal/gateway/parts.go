package gateway

import (
	"google.golang.org/protobuf/proto"

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
