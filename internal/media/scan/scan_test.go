package scan_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/media/scan"
	"github.com/skein-im/skein/internal/media/scan/scantest"
)

func started(t *testing.T, network, address string) (*scantest.Clamd, *scan.Clamd) {
	t.Helper()
	fake, err := scantest.New(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c, err := scan.Parse(fake.URL())
	if err != nil {
		t.Fatal(err)
	}
	return fake, c
}

// What is clean is clean and what is not has a name, by both kinds of socket, of any length.
func TestScan(t *testing.T) {
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		fake, c := started(t, network, address)
		for _, n := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20} {
			body := bytes.Repeat([]byte{'x'}, n)
			if found, err := c.Scan(t.Context(), bytes.NewReader(body)); found != "" || err != nil {
				t.Errorf("%s, %d bytes: %q, %v", network, n, found, err)
			}
			if seen := fake.Seen(); !bytes.Equal(seen[len(seen)-1], body) {
				t.Errorf("%s: of %d bytes it saw %d", network, n, len(seen[len(seen)-1]))
			}
			found, err := c.Scan(t.Context(), io.MultiReader(bytes.NewReader(body), strings.NewReader(scantest.EICAR)))
			if found != "Eicar-Test-Signature" || err != nil {
				t.Errorf("%s: EICAR behind %d bytes: %q, %v", network, n, found, err)
			}
		}
	}
}

// Whatever is no verdict is an error, and never clean.
func TestNoVerdict(t *testing.T) {
	fake, c := started(t, "tcp", "127.0.0.1:0")
	large := strings.Repeat("x", 8<<20)
	for name, tc := range map[string]struct {
		how  scantest.Behaviour
		want string
	}{
		"it hangs up":                         {scantest.Behaviour{HangsUp: 1}, "did not answer"},
		"it hangs up later":                   {scantest.Behaviour{HangsUp: 1 << 20}, "did not answer"},
		"an error":                            {scantest.Behaviour{Says: "Can't allocate memory ERROR\x00"}, "ERROR"},
		"words":                               {scantest.Behaviour{Says: "all is well\x00"}, "all is well"},
		"half a word":                         {scantest.Behaviour{Says: "stream: O"}, "did not answer"},
		"clean without an end":                {scantest.Behaviour{Says: "stream: OK"}, "did not answer"},
		"an answer that is too long":          {scantest.Behaviour{Says: strings.Repeat("x", 64<<10) + "\x00"}, "did not answer"},
		"clean, and more":                     {scantest.Behaviour{Says: "stream: OK, nearly\x00"}, "nearly"},
		"another one's clean":                 {scantest.Behaviour{Says: "other: OK\x00"}, "other"},
		"clean of something that is an error": {scantest.Behaviour{Says: "stream: OK ERROR\x00"}, "ERROR"},
	} {
		fake.Behave(tc.how)
		found, err := c.Scan(t.Context(), strings.NewReader(large))
		if found != "" || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %q, %v", name, found, err)
		}
	}
	fake.Behave(scantest.Behaviour{Early: true, Says: "stream: OK\x00"})
	if found, err := c.Scan(t.Context(), endless{}); found != "" || err == nil || !strings.Contains(err.Error(), "before it had all of it") {
		t.Errorf("clean before the end: %q, %v", found, err)
	}
	fake.Behave(scantest.Behaviour{Longest: 1 << 20})
	if found, err := c.Scan(t.Context(), strings.NewReader(large)); found != "" || !errors.Is(err, scan.ErrTooLong) {
		t.Errorf("too long: %q, %v", found, err)
	}
	fake.Behave(scantest.Behaviour{Early: true, Says: "stream: Worm FOUND\x00"})
	if found, err := c.Scan(t.Context(), endless{}); found != "Worm" || err != nil {
		t.Errorf("found before the end: %q, %v", found, err)
	}
	fake.Close()
	if _, err := c.Scan(t.Context(), strings.NewReader(large)); err == nil {
		t.Error("nobody is there, and it is clean")
	}
}

// A scan ends with its deadline, whether the scanner says nothing or reads nothing, and with
// what is read.
func TestScanEnds(t *testing.T) {
	fake, c := started(t, "tcp", "127.0.0.1:0")
	hold := make(chan struct{})
	defer close(hold)
	for name, how := range map[string]scantest.Behaviour{"silent": {Silent: true}, "slow": {Hold: hold}} {
		fake.Behave(how)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		found, err := c.Scan(ctx, strings.NewReader("x"))
		cancel()
		if found != "" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %q, %v", name, found, err)
		}
	}
	fake.Behave(scantest.Behaviour{})
	before := len(fake.Seen())
	broken := errors.New("the disk is broken")
	r := io.MultiReader(strings.NewReader("x"), failing{broken})
	if found, err := c.Scan(t.Context(), r); found != "" || !errors.Is(err, broken) {
		t.Errorf("what is read fails: %q, %v", found, err)
	}
	if len(fake.Seen()) != before {
		t.Error("half a file was given as a whole one")
	}
}

// endless has bytes until nobody wants any more.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

func TestParse(t *testing.T) {
	for _, s := range []string{"tcp://127.0.0.1:3310", "tcp://[::1]:3310", "tcp://clamd:3310", "unix:///run/clamav/clamd.ctl"} {
		if _, err := scan.Parse(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"", "clamd", "127.0.0.1:3310", "tcp://127.0.0.1", "tcp://:3310", "tcp://h:1/x", "http://h:1", "unix://run/clamd", "unix:run", "tcp://u@h:1", "tcp://h:1?x=1"} {
		if _, err := scan.Parse(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}
