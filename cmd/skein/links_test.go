package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCodesComeWithTheirPage: the first line is the code, for scripts; for people there is the
// page that takes it.
func TestCodesComeWithTheirPage(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"code":"a+b","link":{"id":"l1","code":"a+b"}}`)
	}))
	defer s.Close()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("skk_1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, page := range map[string]string{"reset u1": "/reset?code=a%2Bb", "invite": "/register?invite=a%2Bb"} {
		args := append([]string{"user"}, strings.Fields(command)...)
		code, out, said := run(t, append(args, "--server", s.URL+"/", "--key-file", key)...)
		if code != 0 || !strings.HasPrefix(out, "a+b\n") || !strings.Contains(out, " "+s.URL+page+"\n") {
			t.Errorf("%s ended with %d and says %q and %q", command, code, out, said)
		}
	}
}
