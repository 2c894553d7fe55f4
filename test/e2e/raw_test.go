package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// raw is a client that does only what a scenario says, in protobuf over tcp.
type raw struct {
	t    *testing.T
	nc   net.Conn
	conn wire.Conn
}

// dialRaw opens a connection. A small receive buffer makes a client that does
// not read felt soon.
func dialRaw(t *testing.T, w World, receiveBuffer int) *raw {
	t.Helper()
	nc, err := w.Dial(t.Context(), "tcp")
	if err != nil {
		t.Fatal(err)
	}
	if tcp, ok := nc.(*net.TCPConn); ok && receiveBuffer > 0 {
		if err := tcp.SetReadBuffer(receiveBuffer); err != nil {
			t.Fatal(err)
		}
	}
	return onto(t, nc)
}

// onto talks over a network connection.
func onto(t *testing.T, nc net.Conn) *raw {
	t.Helper()
	conn, err := wire.OpenStream(nc, wire.ProtobufName)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	r := &raw{t: t, nc: nc, conn: conn}
	t.Cleanup(func() { _ = conn.Close("", "") })
	return r
}

// hello says who it is and returns the Welcome.
func (r *raw) hello(token, device string, class wire.DeviceClass) *wire.Welcome {
	r.t.Helper()
	r.say(wire.NewClientFrame(&wire.Hello{
		VersionMin: 1, VersionMax: 1, Token: token, Device: &wire.Device{Id: device, Class: class, Name: device},
	}))
	for {
		f, err := r.hear()
		if err != nil {
			r.t.Fatal(err)
		}
		if e := f.GetError(); e != nil {
			r.t.Fatal(e)
		}
		if f.GetWelcome() != nil {
			return f.GetWelcome()
		}
	}
}

func (r *raw) say(f *wire.ClientFrame) {
	r.t.Helper()
	payload, err := wire.Protobuf().Append(nil, f)
	if err == nil {
		err = r.conn.Write(r.conn.AppendMessage(nil, payload), time.Now().Add(patience))
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// hear reads the next frame.
func (r *raw) hear() (*wire.ServerFrame, error) {
	if err := r.nc.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	b, err := r.conn.ReadMessage()
	if err != nil {
		return nil, err
	}
	f := &wire.ServerFrame{}
	return f, wire.Protobuf().Decode(b, f)
}

// until reads until ok, and fails at the end of the connection.
func (r *raw) until(what string, ok func(*wire.ServerFrame) bool) {
	r.t.Helper()
	for {
		f, err := r.hear()
		if err != nil {
			r.t.Fatalf("waited for %s: %v", what, err)
		}
		if ok(f) {
			return
		}
	}
}

// closed reads to the end of the connection and returns the code of the last
// Kick or Error.
func (r *raw) closed() (code string) {
	r.t.Helper()
	for {
		f, err := r.hear()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			r.t.Fatal("the connection is still open")
		case errors.Is(err, io.EOF):
			return code
		case err != nil:
			return code // reset: closed as well
		case f.GetKick() != nil:
			code = f.GetKick().GetError().GetCode()
		case f.GetError() != nil:
			code = f.GetError().GetCode()
		}
	}
}
