//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// output is what a program printed until now, and wakes who waits for more.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// expect waits until the output matches.
func (o *output) expect(ctx context.Context, done <-chan error, pattern string) ([]string, error) {
	want := regexp.MustCompile(pattern)
	for {
		if m := want.FindStringSubmatch(o.String()); m != nil {
			return m, nil
		}
		select {
		case <-o.more:
		case err := <-done:
			return nil, fmt.Errorf("it ended before it said %q: %w\n%s", pattern, err, tail(o.String()))
		case <-ctx.Done():
			return nil, fmt.Errorf("it did not say %q: %w\n%s", pattern, ctx.Err(), tail(o.String()))
		}
	}
}

// program is a command that runs in the machine.
type program struct {
	cmd  *exec.Cmd
	out  *output
	in   io.WriteCloser
	done chan error
}

func (m *machine) start(ctx context.Context, user, line string) (*program, error) {
	p := &program{cmd: m.shell(ctx, user, line), out: newOutput(), done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p, nil
}

// end stops a program as Ctrl-C does, and all that it started.
func (p *program) end() error {
	_ = p.in.Close()
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(time.Minute):
		return errors.Join(errors.New("it did not end within a minute after Ctrl-C"), syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL))
	}
}

// server is what the newcomer started.
type server struct {
	*program
	url, claim string
}

// serve starts the server: by make run from the source, or the program of the package.
func (m *machine) serve(ctx context.Context, installed bool) (*server, error) {
	line, user := "cd ~/skein && exec make run", "newcomer"
	if installed {
		line, user = "exec skein serve --data /var/lib/skein", "skein"
		if err := m.do(ctx, "root", "install -d -o skein -g skein -m 700 /var/lib/skein"); err != nil {
			return nil, err
		}
	}
	say("%s", line)
	p, err := m.start(ctx, user, fmt.Sprintf("export SKEIN_HTTP_LISTEN=%s SKEIN_ADMIN_LISTEN=%s; %s", m.http, m.admin, line))
	if err != nil {
		return nil, err
	}
	found, err := p.out.expect(ctx, p.done, `(?s)is ready\..*Open +(http://\S+).*(http://\S+/claim\?code=\S+)`)
	if err != nil {
		return nil, errors.Join(err, p.end())
	}
	return &server{p, found[1], found[2]}, nil
}

// open opens both addresses that the server printed, and makes the administrator. It tells whether
// there is a web app.
func (s *server) open(ctx context.Context) (web bool, err error) {
	text, err := fetch(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return false, err
	}
	web = strings.Contains(text, `type="module"`)
	if text, err = fetch(ctx, http.MethodGet, s.claim, nil); err != nil {
		return web, err
	}
	if !strings.Contains(text, "<form") {
		return web, fmt.Errorf("the page of the link has no form:\n%s", tail(text))
	}
	at, err := url.Parse(s.claim)
	if err != nil {
		return web, err
	}
	form := url.Values{"code": {at.Query().Get("code")}, "username": {"root"}, "password": {"a password of root"}, "again": {"a password of root"}}
	at.RawQuery = ""
	_, err = fetch(ctx, http.MethodPost, at.String(), form)
	return web, err
}

func fetch(ctx context.Context, method, at string, form url.Values) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "text/html")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s answered %s:\n%s", method, at, resp.Status, tail(string(body)))
	}
	return string(body), err
}

// chat plays the README's chat for two; it ends when each has read what the other wrote.
func (m *machine) chat(ctx context.Context) (err error) {
	page, err := m.page("README.md")
	if err != nil {
		return err
	}
	commands, talk := block(page, "bin/skein chat"), block(page, "bob:")
	if len(commands) != 2 || len(talk) == 0 {
		return errors.New("the README has no chat for two")
	}
	people := map[string]*program{}
	defer func() {
		for _, p := range people {
			err = errors.Join(err, p.end())
		}
	}()
	for _, line := range commands {
		name := strings.Fields(line)[2]
		say("%s", line)
		if m.deb {
			line = strings.TrimPrefix(line, "bin/")
		} else {
			line = "cd ~/skein && " + line
		}
		p, err := m.start(ctx, "newcomer", line)
		if err != nil {
			return err
		}
		people[name] = p
		if _, err := fmt.Fprintf(p.in, "a password of %s\n", name); err != nil {
			return err
		}
		if _, err := p.out.expect(ctx, p.done, "You are @"+name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return play(ctx, people, talk)
}

// play has each say their lines: the next one is typed when it is seen what came of this one.
func play(ctx context.Context, people map[string]*program, talk []string) error {
	said := 0
	for _, line := range talk {
		who, text, _ := strings.Cut(line, ":")
		p := people[who]
		if text = strings.TrimSpace(text); p == nil || text == "" {
			return fmt.Errorf("the README's line %q is nobody's", line)
		}
		if _, err := fmt.Fprintln(p.in, text); err != nil {
			return err
		}
		var err error
		switch command, _, _ := strings.Cut(text, " "); command {
		case "/add":
			err = others(ctx, people, p, "wants to be your contact")
		case "/accept":
			err = others(ctx, people, p, "is your contact now")
		case "/open":
			_, err = p.out.expect(ctx, p.done, "── @")
		default:
			said++
			if err = others(ctx, people, p, regexp.QuoteMeta(text)); err == nil {
				_, err = p.out.expect(ctx, p.done, "✓ sent")
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	if said < 2 {
		return errors.New("the README's chat says nothing")
	}
	return nil
}

// others wait until all but one have read something.
func others(ctx context.Context, people map[string]*program, but *program, pattern string) error {
	for _, p := range people {
		if p == but {
			continue
		}
		if _, err := p.out.expect(ctx, p.done, pattern); err != nil {
			return err
		}
	}
	return nil
}

// block are the lines of the block of a page that begins so.
func block(page, begin string) []string {
	m := regexp.MustCompile("(?s)```\n(" + regexp.QuoteMeta(begin) + ".*?)```").FindStringSubmatch(page)
	if m == nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(m[1]), "\n")
}
