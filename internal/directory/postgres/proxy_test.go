package postgres_test

import (
	"bytes"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// proxy stands between a directory and its server. It has no TLS to deal with.
type proxy struct {
	t   *testing.T
	l   net.Listener
	url string

	mu      sync.Mutex
	commits int
	// fault is asked at every commit: whether the server gets to see it; the
	// connection ends without its answer. nil: everything passes.
	fault func() (pass bool)
	// silent: nothing comes from the server any more, and nothing ends.
	silent bool
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, l: l}
	target := u.Host
	u.Host = "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	p.url = u.String()
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c, target)
		}
	}()
	return p
}

func (p *proxy) breakCommits(fault func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.commits = fault, 0
}

func (p *proxy) setSilent(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = silent
}

func (p *proxy) isSilent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent
}

func (p *proxy) seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commits
}

func (p *proxy) serve(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	var mu sync.Mutex
	deaf := false
	go func() {
		defer client.Close()
		b := make([]byte, 64<<10)
		for {
			n, err := server.Read(b)
			mu.Lock()
			if err != nil || deaf {
				mu.Unlock()
				return // the commit was answered; the answer gets lost
			}
			if p.isSilent() {
				mu.Unlock()
				continue
			}
			_, err = client.Write(b[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	b := make([]byte, 64<<10)
	for {
		n, err := client.Read(b)
		if err != nil {
			return
		}
		if bytes.Contains(b[:n], []byte("Q\x00\x00\x00\x0bcommit\x00")) {
			p.mu.Lock()
			fault := p.fault
			p.commits++
			p.mu.Unlock()
			if fault != nil {
				mu.Lock()
				deaf = true
				mu.Unlock()
				if !fault() {
					return
				}
			}
		}
		if _, err := server.Write(b[:n]); err != nil {
			return
		}
	}
}
