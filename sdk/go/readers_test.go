package skein

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// Who has read a message of a group is asked for by its seq; a refusal is told as it came.
func TestReadBy(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.onCall = func(m *wire.Call) *wire.Result {
			var q wire.ListReadersRequest
			_ = proto.Unmarshal(m.GetBody(), &q)
			if m.Method != "skein.v1.MessageService/ListReaders" || q.Seq != 7 {
				return &wire.Result{Response: &wire.Result_Error{Error: &wire.Error{Code: "too_large", Message: "too many members"}}}
			}
			b, _ := proto.Marshal(&wire.ListReadersResponse{Read: []string{"bob", q.Conversation}, Received: []string{"carol"}})
			return &wire.Result{Response: &wire.Result_Body{Body: b}}
		}
		read, received, err := c.Conversation("grp:tea").ReadBy(bg, 7)
		eq(t, "read by", fmt.Sprint(read, received, err), "[bob grp:tea] [carol] <nil>")
		var refused *Error
		if _, _, err := c.Conversation("grp:tea").ReadBy(bg, 8); !errors.As(err, &refused) || refused.Code != "too_large" {
			t.Errorf("a large group: %v", err)
		}
	})
}
