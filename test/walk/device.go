package main

import (
	"context"
	"fmt"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// device is one of a user's, with the Go SDK; client is nil while it is away.
type device struct {
	name  string
	user  *user
	n     int
	token string

	store  skein.Store
	client *skein.Client
}

// open connects it: with what it has, or with nothing.
func (d *device) open(ctx context.Context, w *walk, cold bool) error {
	if cold {
		d.store = skein.NewMemoryStore()
	}
	url, codec := "ws://"+w.server.http+"/ws", wire.Protobuf()
	if d.n == 1 {
		url, codec = "tcp://"+w.server.tcp, wire.JSON()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := skein.Dial(ctx, url, skein.WithToken(d.token), skein.WithDevice(fmt.Sprint("d", d.n), wire.DeviceClass_DEVICE_CLASS_PHONE, ""),
		skein.WithStore(d.store), skein.WithoutEvents(), skein.WithCodec(codec), skein.WithBackoff(func(int) time.Duration { return 5 * time.Millisecond }))
	if err != nil {
		return fmt.Errorf("connect %s: %w", d.name, err)
	}
	d.client = c
	return nil
}

// away takes a device off when the server has its marks durably: those that nobody
// repeats a crash may lose (SPEC §6.3).
func (w *walk) away(ctx context.Context, d *device) error {
	err := w.until(ctx, func() error { return w.coldList(ctx, d.user) })
	if err != nil {
		return err
	}
	err = d.client.Close()
	d.client = nil
	return err
}

// reach waits until the device has applied an entry.
func (d *device) reach(ctx context.Context, c string, seq uint64) error {
	for {
		if s, err := d.client.Conversation(c).Summary(ctx); err == nil && s.High >= seq {
			return nil
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			has, _ := d.client.Conversation(c).Summary(context.WithoutCancel(ctx)) // nothing known of it is an answer as well
			return &drift{fmt.Sprintf("%s never applied %d of %s: window %d to %d, head %d, member %t", d.name, seq, c, has.Low, has.High, has.Head, has.Member)}
		}
	}
}

// forget drops messages that were refused.
func (d *device) forget(ctx context.Context) {
	all, err := d.client.Outbox(ctx)
	if err != nil {
		return
	}
	for _, m := range all {
		if m.Status == skein.StatusFailed {
			_ = d.client.Discard(ctx, m.ID) // it may be gone
		}
	}
}
