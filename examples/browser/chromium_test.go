package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// chromium is a headless Chromium, spoken to in the DevTools protocol over a pipe:
// JSON, each message ended by a zero byte. It ends when its pipe does, so nothing is
// left behind, whatever becomes of the test. Six methods are used; a library for
// all of the protocol would be the largest dependency of this repository.
type chromium struct {
	to io.Writer

	mu      sync.Mutex
	last    int
	answers map[int]chan answer
	faults  []string // what pages threw, logged as an error or were not allowed to do
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// program is Chromium under one of the names that it is installed by.
func program(t *testing.T) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("the browser client was NOT tested: it needs Chromium (`make deps`); none of %s is here", strings.Join(names, ", "))
	return ""
}

func startChromium(t *testing.T) *chromium {
	t.Helper()
	// Not t.TempDir: Chromium may write a little longer than it answers.
	profile, err := os.MkdirTemp("", "skein-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	read, to, err1 := os.Pipe()
	from, write, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + profile, "--no-first-run", "--no-proxy-server",
		"--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-breakpad", "--disable-crash-reporter", "--disable-background-timer-throttling",
		"--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // it refuses to start otherwise
	}
	cmd := exec.Command(program(t), append(args, "about:blank")...)
	cmd.ExtraFiles = []*os.File{read, write} // 3 and 4 there
	var said bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &said, time.Second
	cmd.Env = append(os.Environ(), "HOME="+profile, "XDG_CONFIG_HOME="+filepath.Join(profile, "config"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = read.Close(), write.Close()
	c := &chromium{to: to, answers: map[int]chan answer{}}
	ended := make(chan struct{})
	go func() {
		c.receive(from)
		close(ended)
	}()
	t.Cleanup(func() {
		_ = to.Close() // then it ends
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
		_ = from.Close()
		<-ended
		if t.Failed() {
			t.Logf("Chromium said:\n%s", &said)
		}
	})
	return c
}

func (c *chromium) receive(from io.Reader) {
	for r := bufio.NewReader(from); ; {
		data, err := r.ReadBytes(0)
		if err != nil {
			c.mu.Lock()
			for id, waits := range c.answers {
				close(waits)
				delete(c.answers, id)
			}
			c.mu.Unlock()
			return
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			answer
		}
		if err := json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &m); err != nil {
			m.Method, m.Params = "unreadable", data
		}
		c.mu.Lock()
		if waits := c.answers[m.ID]; waits != nil {
			delete(c.answers, m.ID)
			waits <- m.answer
		}
		c.note(m.Method, m.Params)
		c.mu.Unlock()
	}
}

// note keeps what a page does wrong. That a server is away is no fault: the browser
// reports each connection that is refused.
func (c *chromium) note(method string, params []byte) {
	var p struct {
		Type  string
		Entry struct{ Level, Text, URL string }
	}
	_ = json.Unmarshal(params, &p)
	switch {
	case method == "unreadable", method == "Runtime.exceptionThrown", method == "Runtime.consoleAPICalled" && p.Type == "error",
		method == "Log.entryAdded" && p.Entry.Level == "error" && !strings.HasPrefix(p.Entry.Text, "WebSocket connection to") &&
			!strings.HasSuffix(p.Entry.URL, "/favicon.ico"):
		c.faults = append(c.faults, method+" "+string(params))
	}
}

func (c *chromium) wrong() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.faults)
}

// do calls a method of the DevTools protocol, of the browser or of one page (session).
func (c *chromium) do(ctx context.Context, session, method string, params map[string]any, result any) error {
	request := map[string]any{"method": method, "params": params}
	if session != "" {
		request["sessionId"] = session
	}
	waits := make(chan answer, 1)
	c.mu.Lock()
	c.last++
	request["id"], c.answers[c.last] = c.last, waits
	data, err := json.Marshal(request)
	if err == nil {
		_, err = c.to.Write(append(data, 0))
	}
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	case a, ok := <-waits:
		switch {
		case !ok:
			return fmt.Errorf("%s: Chromium has ended", method)
		case a.Error != nil:
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		case result != nil:
			return json.Unmarshal(a.Result, result)
		}
		return nil
	}
}

// profile is somebody's browser: its tabs share their storage with each other and
// with nobody else.
type profile struct {
	c  *chromium
	id string
}

func (c *chromium) profile(t *testing.T) profile {
	t.Helper()
	var made struct{ BrowserContextID string }
	if err := c.do(t.Context(), "", "Target.createBrowserContext", nil, &made); err != nil {
		t.Fatal(err)
	}
	return profile{c, made.BrowserContextID}
}

type tab struct {
	c       *chromium
	session string
}

func (p profile) open(t *testing.T, url string) *tab {
	t.Helper()
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	err := p.c.do(t.Context(), "", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": p.id, "newWindow": true}, &target)
	if err == nil {
		err = p.c.do(t.Context(), "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	}
	b := &tab{p.c, attached.SessionID}
	for _, method := range []string{"Runtime.enable", "Log.enable", "Page.enable"} {
		if err == nil {
			err = b.c.do(t.Context(), b.session, method, nil, nil)
		}
	}
	if err == nil { // each tab as if somebody looked at it
		err = b.c.do(t.Context(), b.session, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	}
	if err == nil {
		err = b.c.do(t.Context(), b.session, "Page.navigate", map[string]any{"url": url}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.until(t, "the page is loaded", "document.readyState", "complete")
	return b
}

// eval is what the expression comes to in the page.
func (b *tab) eval(ctx context.Context, expression string) (any, error) {
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	err := b.c.do(ctx, b.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if err == nil && r.ExceptionDetails != nil {
		err = fmt.Errorf("%s: %s", expression, r.ExceptionDetails)
	}
	return r.Result.Value, err
}

func (b *tab) run(t *testing.T, expression string) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	value, err := b.eval(ctx, expression)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// until waits until the expression comes to what is wanted.
func (b *tab) until(t *testing.T, what, expression string, want any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	for {
		// A page that is just being loaded has nothing to evaluate in.
		got, err := b.eval(ctx, expression)
		if err == nil && fmt.Sprint(got) == fmt.Sprint(want) {
			return
		}
		select {
		case <-ctx.Done():
			state, _ := b.eval(t.Context(), `document.body.innerText`)
			t.Fatalf("still not: %s\n got %v %v\nwant %v\nthe page:\n%v", what, got, err, want, state)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
