package skein

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skein-im/skein/wire"
)

// A program that logs in by a provider waits for the browser, and finishes with what it
// brings and the verifier that only the program has.
func TestLoginInBrowser(t *testing.T) {
	var begun wire.BeginProviderLoginRequest
	var finished wire.FinishProviderLoginRequest
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var err error
		switch {
		case strings.HasSuffix(r.URL.Path, "/BeginProviderLogin"):
			err = protojson.Unmarshal(body, &begun)
			_, _ = w.Write([]byte(`{"url":"https://sso.example/","expiresAtMs":"4102444800000"}`))
		case strings.HasSuffix(r.URL.Path, "/FinishProviderLogin"):
			err = protojson.Unmarshal(body, &finished)
			_, _ = w.Write([]byte(`{"tokens":{"user":"ann"}}`))
		default:
			http.NotFound(w, r)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	// A browser asks for another path first, which is not the answer, and then brings the
	// answer: after that nobody listens any more.
	browse := func(query string) {
		for _, page := range []struct {
			at   string
			want int
		}{{begun.ReturnTo + "x", http.StatusNotFound}, {begun.ReturnTo, http.StatusOK}} {
			resp, err := http.Get(page.at + "?" + query)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != page.want {
				t.Errorf("the browser got %s", resp.Status)
			}
		}
	}
	come := func(query string) (*wire.Tokens, error) {
		var browser sync.WaitGroup
		defer browser.Wait()
		return LoginInBrowser(context.Background(), srv.URL, "corp", &wire.Device{Id: "d1"}, true, func(url string) {
			if url != "https://sso.example/" {
				t.Errorf("to be opened: %q", url)
			}
			browser.Go(func() { browse(query) })
		})
	}
	tokens, err := come("code=skb_x")
	if err != nil || tokens.GetUser() != "ann" {
		t.Fatal(tokens, err)
	}
	sum := sha256.Sum256([]byte(finished.Verifier))
	if base64.RawURLEncoding.EncodeToString(sum[:]) != begun.Challenge || len(finished.Verifier) < 43 || finished.Code != "skb_x" || finished.Device.GetId() != "d1" || !finished.StayLoggedIn {
		t.Errorf("it began with %v and finished with %v", &begun, &finished)
	}
	if _, err = come("error=permission_denied"); !errors.Is(err, ErrPermission) {
		t.Errorf("nobody was let in: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := LoginInBrowser(ctx, srv.URL, "corp", nil, false, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}
