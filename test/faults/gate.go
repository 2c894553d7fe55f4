package main

import (
	"errors"
	"net"
	"sync"
	"time"
)

// gate stands between the clients and the server and can be shut in an
// instant: nothing the server says afterwards reaches anybody.
//
// A power cut needs it. The disk stops first and the process dies a moment
// later; in between it is a ghost. An fsync that is under way at that moment can
// even return without an error (the write was done, then its extents were not
// converted), and the ghost would acknowledge what no real machine could have.
//
// Goroutines: one for each listener and two for each connection; all end with
// close. mu guards all fields; it is held for reading while bytes are passed to
// a client, so that shut waits for those and lets no others through.
type gate struct {
	mu        sync.RWMutex
	isShut    bool
	conns     map[net.Conn]struct{}
	listeners []net.Listener
	wg        sync.WaitGroup
}

func newGate() *gate { return &gate{conns: map[net.Conn]struct{}{}} }

// guard opens an address that leads to target.
func (g *gate) guard(target string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	g.listeners = append(g.listeners, l)
	g.wg.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				g.wg.Go(func() { g.serve(c, target) })
			}
		}
	})
	return l.Addr().String(), nil
}

// keep takes a connection into the gate's care; false if it is shut.
func (g *gate) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isShut {
		return false
	}
	g.conns[c] = struct{}{}
	return true
}

func (g *gate) drop(c net.Conn) {
	c.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}

func (g *gate) serve(client net.Conn, target string) {
	defer g.drop(client)
	if !g.keep(client) {
		return
	}
	server, err := net.DialTimeout("tcp", target, 2*time.Second)
	if err != nil {
		return
	}
	defer g.drop(server)
	if !g.keep(server) {
		return
	}
	g.wg.Go(func() {
		defer server.Close()
		pass(server, client, server.Write)
	})
	pass(client, server, func(b []byte) (int, error) {
		g.mu.RLock()
		defer g.mu.RUnlock()
		if g.isShut {
			return 0, net.ErrClosed
		}
		return client.Write(b)
	})
}

// pass copies until one side ends. A side that does not take its bytes is
// given up.
func pass(to, from net.Conn, write func([]byte) (int, error)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || to.SetWriteDeadline(time.Now().Add(5*time.Second)) != nil {
			return
		}
		if _, err := write(buf[:n]); err != nil {
			return
		}
	}
}

// shut cuts all connections and lets no more through.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isShut = true
	for c := range g.conns {
		c.Close()
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isShut = false
}

func (g *gate) close() {
	for _, l := range g.listeners {
		l.Close()
	}
	g.shut()
	g.wg.Wait()
}
