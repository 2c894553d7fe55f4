package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// A server that is killed while it looks at a link, and again when it has told of it, has
// given the message one preview in the end, told by one entry.
func TestKilledWhileLooking(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]string{"embedded": "", "postgresql": pgtest.Database(t)} {
		t.Run(name, func(t *testing.T) { killedWhileLooking(t, store) })
	}
}

func killedWhileLooking(t *testing.T, store string) {
	asked, wait := make(chan struct{}, 10), make(chan struct{})
	var first atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		if !first.Swap(true) {
			select {
			case <-wait:
			case <-r.Context().Done():
			}
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, "<title>Tea</title>")
	}))
	defer site.Close()
	defer close(wait)
	p := oneProcess(t, terms{settings: map[string]string{"previews.fetch": "on", "previews.allow": "127.0.0.1/32", "store": store}}).(*process)
	ann, bob := join(t, p, "ann", 0), join(t, p, "bob", 1)
	befriend(t, ann, bob)
	chat := skein.DM(ann.User(), bob.User())
	said := ann.says(chat, site.URL)
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatal("nobody asks the site")
	}
	p.kill(t)
	p.Start(t)
	ann.previewOf(chat, said.Seq, "Tea")
	p.kill(t) // its place may be behind the message yet
	p.Start(t)
	next := ann.says(chat, site.URL+"/next")
	bob.previewOf(chat, next.Seq, "Tea")
	var page wire.ListEntriesResponse
	if err := bob.Call(t.Context(), "skein.v1.MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: chat, From: 1, Limit: 50}, &page); err != nil {
		t.Fatal(err)
	}
	head, titles := uint64(0), 0
	for _, e := range page.Entries {
		head = max(head, e.Seq, e.Amended)
		if e.GetPreview().GetTitle() == "Tea" {
			titles++
		}
	}
	if titles != 2 || head != next.Seq+1 || next.Seq != said.Seq+2 {
		t.Errorf("%d previews, the messages are %d and %d, the last entry is %d", titles, said.Seq, next.Seq, head)
	}
}
