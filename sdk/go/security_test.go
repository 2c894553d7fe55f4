package skein

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// The code is what RFC 6238 says (appendix B, SHA-1, its last six digits).
func TestTOTPCode(t *testing.T) {
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 20000000000: "353130"} {
		if got, err := TOTPCode("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", time.Unix(at, 0)); got != want || err != nil {
			t.Errorf("at %d: %q, %v", at, got, err)
		}
	}
	if _, err := TOTPCode("what is this?", time.Unix(59, 0)); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("a secret that is none: %v", err)
	}
}

// A login that needs a code says so, with the ticket to go on with.
func TestTOTPRequired(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/skein.v1.AccountService/Login" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":"totp_required","codeNumber":4815,"ticket":"skt_x"}`))
			return
		}
		_, _ = w.Write([]byte(`{"tokens":{"user":"ann"}}`))
	}))
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	_, err := Login(context.Background(), srv.URL, &wire.LoginRequest{Username: "ann", Password: "12345678"})
	var e *Error
	if !errors.Is(err, ErrTOTPRequired) || !errors.As(err, &e) || e.Ticket != "skt_x" {
		t.Fatalf("Login: %v", err)
	}
	tokens, err := LoginWithCode(context.Background(), srv.URL, &wire.LoginWithCodeRequest{Ticket: e.Ticket, Code: "123456"})
	if err != nil || tokens.GetUser() != "ann" {
		t.Errorf("LoginWithCode: %v, %v", tokens, err)
	}
}

// That the user logs in otherwise is an event of its own.
func TestSecurityEvent(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.do(func() {
			r.append(nil, &wire.Entry{
				Conversation: "me:" + r.user, Sender: r.user, Kind: wire.EntryKind_ENTRY_KIND_EVENT,
				Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_SECURITY_CHANGED, Users: []string{r.user}, Text: "totp_on"},
			})
		})
		pause(0)
		if got := eventsOf[*SecurityEvent](r.events); len(got) != 1 || got[0].What != "totp_on" {
			t.Errorf("%v", got)
		}
	})
}
