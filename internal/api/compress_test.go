package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Answers are compressed from 1 KiB on, for who accepts gzip, and what comes out is
// what is sent to others.
func TestAnswersAreCompressed(t *testing.T) {
	srv := httptest.NewServer(NewHTTP(&fakeLogic{}, HTTPOptions{}))
	defer srv.Close()
	for name, c := range map[string]struct {
		method, path string
		header       [2]string
		want         bool
	}{
		"accepted":        {"GET", "/api/openapi.json", [2]string{"Accept-Encoding", "br, gzip"}, true},
		"not accepted":    {"GET", "/api/openapi.json", [2]string{"Accept-Encoding", "br"}, false},
		"refused":         {"GET", "/api/openapi.json", [2]string{"Accept-Encoding", "gzip;q=0"}, false},
		"nothing said":    {"GET", "/api/openapi.json", [2]string{"X", "y"}, false},
		"an error, short": {"GET", "/api/nowhere", [2]string{"Accept-Encoding", "gzip"}, false},
		"no body":         {"HEAD", "/api/openapi.json", [2]string{"Accept-Encoding", "gzip"}, false},
	} {
		req, err := http.NewRequest(c.method, srv.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(c.header[0], c.header[1])
		resp, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Content-Encoding") == "gzip"; got != c.want {
			t.Errorf("%s: compressed %v, want %v", name, got, c.want)
			continue
		}
		if !c.want {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil || !bytes.Equal(plain, openAPI) || len(body) > len(plain)/3 {
			t.Errorf("%s: %d bytes of %d come to %d, %v", name, len(body), len(openAPI), len(plain), err)
		}
		if resp.Header.Get("Vary") == "" {
			t.Errorf("%s: caches are not told that it varies", name)
		}
	}
}
