package e2e

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/push/pushtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// TestPush: a message that nobody received wakes its reader's browser, which reads it with
// its own key; who is connected and received it is not woken; what was read elsewhere is
// taken away; and a server that is killed while the push service is down pushes after its
// restart. (The push service has a certificate of its own: the program trusts it by
// SSL_CERT_FILE.)
func TestPush(t *testing.T) {
	for name, store := range map[string]func() string{"embedded": func() string { return "" }, "postgresql": func() string { return pgtest.Database(t) }} {
		t.Run(name, func(t *testing.T) { pushed(t, store()) })
	}
}

// pushService is one with what browsers heard of it.
type pushService struct {
	*pushtest.Service
	read int
}

// notified is what a browser is told.
type notified struct {
	Type, Conversation, Name, Title, Text string
	Seq                                   uint64 `json:",string"`
}

// next waits for the next push to any of the browsers, and which of them it is for.
func (s *pushService) next(t *testing.T, browsers ...*pushtest.Browser) (who int, m notified) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		took, more := s.Took()
		if len(took) > s.read {
			p := &took[s.read]
			s.read++
			for i, b := range browsers {
				if b.Of(p) {
					text, err := b.Read(p.Body)
					if err == nil {
						err = json.Unmarshal(text, &m)
					}
					if err != nil {
						t.Fatal(err)
					}
					return i, m
				}
			}
			t.Fatalf("a push to %s", p.Path)
		}
		select {
		case <-more:
		case <-timeout.C:
			t.Fatalf("nobody is woken; pushes that were refused: %v", s.Wrong())
		}
	}
}

func (p *person) subscribes(s *pushService) *pushtest.Browser {
	p.t.Helper()
	b := s.Subscribe(p.device.user)
	text := base64.RawURLEncoding.EncodeToString
	if err := p.Call(p.t.Context(), "skein.v1.PushService/SetPushSubscription", &wire.SetPushSubscriptionRequest{Endpoint: b.Endpoint, P256Dh: text(b.Point()), Auth: text(b.Auth)}, &wire.SetPushSubscriptionResponse{}); err != nil {
		p.t.Fatal(err)
	}
	return b
}

func pushed(t *testing.T, store string) {
	s := &pushService{Service: pushtest.NewService()}
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", ca)
	p := oneProcess(t, terms{settings: map[string]string{"push.allow": "127.0.0.0/8", "push.wait": "5s", "push.contact": "mailto:a@example.com", "store": store}}).(*process)
	ann, bob, cyd := join(t, p, "ann", 0), join(t, p, "bob", 1), join(t, p, "cyd", 2)
	befriend(t, ann, bob, cyd)
	bobs, cyds := bob.subscribes(s), cyd.subscribes(s)
	var made wire.CreateGroupResponse
	if err := ann.Call(t.Context(), "skein.v1.GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "Geese", Members: []string{bob.User(), cyd.User()}}, &made); err != nil {
		t.Fatal(err)
	}
	flock := made.Group.Conversation
	cyd.leave()

	// Bob is there and receives it within push.wait, however busy the machine is, so cyd alone is woken.
	ann.says(flock, "to the group")
	bob.hears("to the group")
	who, m := s.next(t, bobs, cyds)
	if who != 1 || m.Type != "message" || m.Conversation != flock || m.Title != "Geese" || m.Text != "to the group" || m.Name == "" {
		t.Errorf("woken is %d with %+v", who, m)
	}
	// The push service is down, and the server is killed.
	chat := skein.DM(ann.User(), bob.User())
	bob.leave()
	asked, down := make(chan struct{}, 100), new(atomic.Bool)
	down.Store(true)
	s.Answer(func(string) (int, http.Header) {
		if down.Load() {
			asked <- struct{}{}
			return http.StatusServiceUnavailable, nil
		}
		return 0, nil
	})
	said := ann.says(chat, "while it is down")
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatal("the push service is not asked")
	}
	p.kill(t)
	down.Store(false)
	p.Start(t)
	who, m = s.next(t, bobs, cyds)
	if who != 0 || m.Type != "message" || m.Conversation != chat || m.Seq != said.Seq || m.Text != "while it is down" || m.Title != "" {
		t.Errorf("woken is %d with %+v", who, m)
	}
	// Read on another device: it is taken away.
	desk := connect(t, p, newDevice(t, p, "bob", wire.DeviceClass_DEVICE_CLASS_DESKTOP, 3))
	if err := desk.Call(t.Context(), "skein.v1.MessageService/MarkRead", &wire.MarkReadRequest{Conversation: chat, Seq: said.Seq}, &wire.MarkReadResponse{}); err != nil {
		t.Fatal(err)
	}
	// What was sent and not noted before the kill may come once more first.
	for who, m = s.next(t, bobs, cyds); m.Type == "message" && m.Seq == said.Seq; who, m = s.next(t, bobs, cyds) {
	}
	if who != 0 || m.Type != "close" || m.Conversation != chat || m.Seq != said.Seq {
		t.Errorf("woken is %d with %+v", who, m)
	}
	for _, err := range s.Wrong() {
		if !strings.Contains(err.Error(), "EOF") { // of the kill
			t.Errorf("a push is none: %v", err)
		}
	}
}
