package bench

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// A call is asked again when its rate sends it away, and its answer alone is measured;
// what is refused ends the run and says why.
func TestTimedCalls(t *testing.T) {
	var bodies []string
	away := 2
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer mine" || r.URL.Path != "/api/skein.v1.MessageService/SendMessage" {
			t.Errorf("%s: %v", r.URL, err)
		}
		bodies = append(bodies, string(raw))
		if away--; away >= 0 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		if len(bodies) > 3 {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "not you")
			return
		}
		out, _ := proto.Marshal(&wire.SendMessageResponse{Seq: 7})
		_, _ = w.Write(out)
	}))
	defer api.Close()
	r := &run{s: &Server{api: api.URL}}
	var resp wire.SendMessageResponse
	one := func(int) (answered, error) {
		return r.s.timed(t.Context(), "mine", "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "grp:g"}, &resp)
	}
	x, err := r.each(context.Background(), 1, one)
	if err != nil || resp.Seq != 7 || x.Calls != 1 || x.MS.Count != 1 || x.Bytes != 2 || len(bodies) != 3 || bodies[0] != bodies[2] {
		t.Errorf("%+v, %v, %d requests", x, err, len(bodies))
	}
	if _, err := r.each(context.Background(), 1, one); err == nil || !strings.Contains(err.Error(), "not you") {
		t.Errorf("a refusal: %v", err)
	}
}
