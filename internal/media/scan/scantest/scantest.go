// Package scantest is a scanner for tests: it speaks clamd's INSTREAM, finds the test
// string of EICAR, and can be made slow, deaf, lying and down.
//
// Goroutines: one that accepts, one for each connection; Close ends them. Locks:
// Clamd.mu around how it behaves and what it saw.
package scantest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
)

// EICAR is the string that every scanner finds, and that harms nobody. In two parts: a
// scanner on a developer's machine would take this file away.
const EICAR = `X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-` + `STANDARD-ANTIVIRUS-TEST-FILE!$H+H*`

// Behaviour is how the scanner answers.
type Behaviour struct {
	// Says is answered in the place of a verdict, as it is.
	Says string
	// Early answers before anything was read.
	Early bool
	// Silent answers nothing until the other side goes.
	Silent bool
	// HangsUp ends the connection after so many bytes, if not 0.
	HangsUp int
	// Longest is how long a stream may be, if not 0.
	Longest int
	// Hold, if set, is waited for before the answer.
	Hold <-chan struct{}
}

// Clamd is the scanner.
type Clamd struct {
	l    net.Listener
	done sync.WaitGroup

	mu      sync.Mutex
	how     Behaviour
	seen    [][]byte
	now     int
	most    int
	arrived chan struct{}
	open    map[net.Conn]bool
	closed  bool
}

// New starts one: network is tcp or unix, with an address to listen at.
func New(network, address string) (*Clamd, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	c := &Clamd{l: l, arrived: make(chan struct{}, 1000), open: map[net.Conn]bool{}}
	c.done.Go(c.accept)
	return c, nil
}

// URL is what the setting media.scanner is.
func (c *Clamd) URL() string {
	if c.l.Addr().Network() == "unix" {
		return "unix://" + c.l.Addr().String()
	}
	return "tcp://" + c.l.Addr().String()
}

// Behave changes how the connections that come from now on are answered.
func (c *Clamd) Behave(b Behaviour) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.how = b
}

// Seen are the files that it was given the end of.
func (c *Clamd) Seen() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// Most is how many connections there were at a time.
func (c *Clamd) Most() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}

// Arrived gets one for each connection.
func (c *Clamd) Arrived() <-chan struct{} { return c.arrived }

// Close ends it, and all connections.
func (c *Clamd) Close() {
	c.mu.Lock()
	c.closed = true
	_ = c.l.Close()
	for conn := range c.open {
		_ = conn.Close()
	}
	c.mu.Unlock()
	c.done.Wait()
}

func (c *Clamd) accept() {
	for {
		conn, err := c.l.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		if c.closed {
			_ = conn.Close()
		}
		c.open[conn] = true
		c.now++
		c.most = max(c.most, c.now)
		how := c.how
		c.mu.Unlock()
		c.arrived <- struct{}{}
		c.done.Go(func() {
			defer func() {
				_ = conn.Close()
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.open, conn)
				c.now--
			}()
			c.serve(conn, how)
		})
	}
}

func (c *Clamd) serve(conn net.Conn, how Behaviour) {
	r := bufio.NewReader(conn)
	if how.Early {
		_, _ = io.WriteString(conn, how.Says)
		_, _ = io.Copy(io.Discard, r)
		return
	}
	if how.Silent {
		_, _ = io.Copy(io.Discard, r)
		return
	}
	body, says := receive(r, how)
	if says == "" {
		c.mu.Lock()
		c.seen = append(c.seen, body)
		c.mu.Unlock()
		if says = "stream: OK\x00"; bytes.Contains(body, []byte(EICAR)) {
			says = "stream: Eicar-Test-Signature FOUND\x00"
		}
	}
	if how.Says != "" {
		says = how.Says
	}
	if how.Hold != nil {
		<-how.Hold
	}
	if how.HangsUp == 0 {
		_, _ = io.WriteString(conn, says)
	}
}

// receive reads a file; says is what is wrong with it.
func receive(r *bufio.Reader, how Behaviour) (body []byte, says string) {
	if command, err := r.ReadString(0); err != nil || command != "zINSTREAM\x00" {
		return nil, fmt.Sprintf("UNKNOWN COMMAND %q\x00", strings.TrimSpace(command))
	}
	for {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return nil, "no end ERROR\x00"
		}
		n := int(binary.BigEndian.Uint32(size[:]))
		if n == 0 {
			return body, ""
		}
		if how.Longest > 0 && len(body)+n > how.Longest {
			return nil, "INSTREAM size limit exceeded. ERROR\x00"
		}
		part := make([]byte, n)
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, "no end ERROR\x00"
		}
		body = append(body, part...)
		if how.HangsUp > 0 && len(body) >= how.HangsUp {
			return nil, "gone ERROR\x00"
		}
	}
}
