// Command embedded runs Skein inside a program of its own, with a transport
// and a codec that Skein does not bring: `unix://` sockets and protobuf's text
// format. Then three users talk: one on the new transport in the new codec, one
// on a WebSocket in the new codec, one on a WebSocket in JSON.
//
//	go run ./examples/embedded
//
// It imports public packages only: server, wire, sdk/go and the two examples.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	prototext "github.com/skein-im/skein/examples/codec-prototext"
	unix "github.com/skein-im/skein/examples/transport-unix"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/server"
	"github.com/skein-im/skein/wire"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "skein-embedded-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = run(ctx, dir, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

// run starts the server, lets the users talk and stops it.
func run(ctx context.Context, dir string, out io.Writer) error {
	socket := filepath.Join(dir, "skein.sock")
	s, err := server.Open(ctx, server.Options{
		Settings: map[string]string{
			"data": filepath.Join(dir, "data"), "http.listen": "127.0.0.1:0", "admin.listen": "",
			"listeners": unix.Scheme + "://" + socket, "accounts.dm_policy": "everyone",
		},
		Transports: map[string]wire.Transport{unix.Scheme: unix.Transport{}},
		Codecs:     []wire.Codec{prototext.Codec{}},
	})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(serving) }()
	fmt.Fprintln(out, "listens on", strings.TrimPrefix(s.URL(), "http://"), "and", filepath.Base(socket))
	err = talk(ctx, s, socket, out)
	stop()
	return errors.Join(err, <-ended)
}

func talk(ctx context.Context, s *server.Server, socket string, out io.Writer) error {
	// The SDK speaks byte streams over whatever the dialer opens.
	viaSocket := skein.WithDialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	})
	ann, err := dial(ctx, s, "ann", "tcp://socket:0", viaSocket, skein.WithCodec(prototext.Codec{}))
	if err != nil {
		return err
	}
	defer ann.Close()
	webSocket := "ws" + strings.TrimPrefix(s.URL(), "http") + "/ws"
	bob, err := dial(ctx, s, "bob", webSocket, skein.WithCodec(wire.JSON()))
	if err != nil {
		return err
	}
	defer bob.Close()
	cem, err := dial(ctx, s, "cem", webSocket, skein.WithCodec(prototext.Codec{}))
	if err != nil {
		return err
	}
	defer cem.Close()
	if _, err := ann.DM(bob.User()).Send(ctx, "Hello over a socket file, in prototext"); err != nil {
		return err
	}
	if err := hear(ctx, bob, out); err != nil {
		return err
	}
	if _, err := bob.DM(ann.User()).Send(ctx, "Hello over a WebSocket, in JSON"); err != nil {
		return err
	}
	if err := hear(ctx, ann, out); err != nil {
		return err
	}
	if _, err := cem.DM(ann.User()).Send(ctx, "Hello over a WebSocket, in prototext"); err != nil {
		return err
	}
	return hear(ctx, ann, out)
}

// dial registers a user and connects.
func dial(ctx context.Context, s *server.Server, name, url string, opts ...skein.Option) (*skein.Client, error) {
	device := &wire.Device{Id: skein.NewDeviceID(), Class: wire.DeviceClass_DEVICE_CLASS_DESKTOP, Name: name + "'s desk"}
	tokens, err := skein.Register(ctx, s.URL(), &wire.RegisterRequest{Username: name, Password: skein.NewDeviceID(), Device: device})
	if err != nil {
		return nil, err
	}
	return skein.Dial(ctx, url, append(opts, skein.WithToken(tokens.AccessToken), skein.WithDevice(device.Id, device.Class, device.Name))...)
}

// hear prints the next message.
func hear(ctx context.Context, c *skein.Client, out io.Writer) error {
	for e := range c.Events(ctx) {
		if m, ok := e.(*skein.MessageEvent); ok {
			fmt.Fprintf(out, "#%d %s\n", m.Message.Seq, m.Message.Text)
			return nil
		}
	}
	return errors.New("the client ended before a message came")
}
