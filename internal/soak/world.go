package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// Plan is what a world is made from.
type Plan struct {
	// HTTP is the server's address for calls, WS and TCP are those for connections:
	// one of each for every gateway.
	HTTP     string
	WS, TCP  []string
	AdminKey string
	// Dir gets the histories and the devices' stores.
	Dir string
	// Clients is how many users send, at least 3.
	Clients int
	// Rate is how many messages they send in all per second.
	Rate float64
	Seed uint64
	// Reconnect and Patience are the devices' (DeviceOptions).
	Reconnect, Patience time.Duration
	// Process, if set, makes the command that runs RunProcess: some users then have
	// devices in processes of their own, which send as well.
	Process func() *exec.Cmd
}

// World is the users, their devices and their conversations.
type World struct {
	heard     atomic.Int64 // what the server said to all devices
	plan      Plan
	users     []*person
	devices   []Device
	senders   []sender // one for each user, then the processes
	processes []*Process
	files     []*os.File
	// restless are devices that connect anew all the time and resume by position.
	restless []*rawClient
	// guests is the group that visitors, the last users, leave and join all the time.
	guests   string
	visitors []string
	clerk    *clerk
}

// sender is a device that the load has a user send with.
type sender struct {
	p *person
	d Device
}

// kinds are the devices that the users get in turn.
var kinds = []struct {
	name  string
	sdk   bool
	tcp   bool
	codec wire.Codec
}{
	{"raw-tcp-pb", false, true, wire.Protobuf()},
	{"sdk-ws-pb", true, false, wire.Protobuf()},
	{"raw-ws-json", false, false, wire.JSON()},
	{"sdk-tcp-json", true, true, wire.JSON()},
	{"raw-ws-pb", false, false, wire.Protobuf()},
	{"raw-tcp-json", false, true, wire.JSON()},
	{"sdk-tcp-pb", true, true, wire.Protobuf()},
	{"sdk-ws-json", true, false, wire.JSON()},
}

// NewWorld makes users, conversations and devices on a running server.
func NewWorld(ctx context.Context, plan Plan) (*World, error) {
	if plan.Clients < 3 {
		return nil, errors.New("soak: a world has at least 3 clients")
	}
	w := &World{plan: plan}
	for i := range plan.Clients {
		p := &person{id: fmt.Sprintf("user%02d", i)}
		token, err := w.mint(ctx, p.id)
		if err != nil {
			return nil, err
		}
		p.token = token
		w.users = append(w.users, p)
	}
	if err := w.found(ctx); err != nil {
		return nil, err
	}
	for i, p := range w.users {
		d, err := w.device(ctx, p, i)
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		w.senders = append(w.senders, sender{p, d})
	}
	// Two users have a second device, of the other make, and one that is never
	// connected for long.
	for i, p := range w.users[:2] {
		if _, err := w.device(ctx, p, i+1); err != nil {
			return nil, errors.Join(err, w.Close())
		}
		if err := w.restlessDevice(ctx, p, i); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	if err := w.startProcesses(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if err := w.hireClerk(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// startProcesses gives the first user two devices that are processes, and the
// second and the last one, who leaves a group and comes back, one each.
func (w *World) startProcesses(ctx context.Context) error {
	if w.plan.Process == nil {
		return nil
	}
	for i, p := range []*person{w.users[0], w.users[0], w.users[1], w.users[len(w.users)-1]} {
		token, err := w.mint(ctx, p.id)
		if err != nil {
			return err
		}
		o := processOptions{
			URLs: w.plan.WS, Token: token, User: p.id, Device: fmt.Sprint("process", i),
			JSON: i%2 == 1, Reconnect: w.plan.Reconnect,
		}
		if i >= 2 {
			o.URLs = w.plan.TCP
		}
		if i%2 == 0 {
			o.Slow = 4 * time.Millisecond
		}
		d := newProcess(o, w.plan.Dir, w.plan.Process, p.keep)
		w.devices, w.processes, w.senders = append(w.devices, d), append(w.processes, d), append(w.senders, sender{p, d})
		if err := d.Start(); err != nil {
			return err
		}
		if _, err := d.do(ctx, processRequest{Do: "holds"}); err != nil { // connected for the first time
			return fmt.Errorf("soak: the first start of %s/%s: %w", o.User, o.Device, err)
		}
	}
	return nil
}

// Processes are the devices that are processes of their own.
func (w *World) Processes() []*Process { return w.processes }

// hireClerk makes the one who uses the API only.
func (w *World) hireClerk(ctx context.Context) error {
	h, err := w.history("clerk", "http")
	if err != nil {
		return err
	}
	w.clerk, err = newClerk(ctx, w, h)
	return err
}

// history makes the file of a device's history.
func (w *World) history(user, device string) (*Recorder, error) {
	f, err := os.Create(filepath.Join(w.plan.Dir, user+"."+device+".jsonl"))
	if err != nil {
		return nil, err
	}
	w.files = append(w.files, f)
	r := NewRecorder(f, user, device)
	r.heard = &w.heard
	return r, nil
}

// restlessDevice makes a device that stays connected for a moment only: what it
// knows it was told when it resumed.
func (w *World) restlessDevice(ctx context.Context, p *person, i int) error {
	o, err := w.options(ctx, p, "restless", i%2 == 0, wire.Protobuf())
	if err != nil {
		return err
	}
	o.Reconnect, o.Stay = 20*time.Millisecond, 40*time.Millisecond
	d := NewRaw(o).(*rawClient)
	w.devices, w.restless = append(w.devices, d), append(w.restless, d)
	return nil
}

// options are a device's.
func (w *World) options(ctx context.Context, p *person, name string, tcp bool, codec wire.Codec) (DeviceOptions, error) {
	token, err := w.mint(ctx, p.id)
	if err != nil {
		return DeviceOptions{}, err
	}
	h, err := w.history(p.id, name)
	if err != nil {
		return DeviceOptions{}, err
	}
	o := DeviceOptions{
		URLs: w.plan.WS, Token: token, User: p.id, Device: name, Codec: codec,
		History: h, Reconnect: w.plan.Reconnect, Patience: w.plan.Patience, Acked: p.keep,
	}
	if tcp {
		o.URLs = w.plan.TCP
	}
	o.URLs = beginning(o.URLs, len(w.devices))
	return o, nil
}

// beginning are the addresses in the order in which the nth device tries them.
// Neighbours, who have a dm, begin at the same one, every two of them at another: a dm has
// both members at one gateway, and a group has members at all.
func beginning(urls []string, n int) []string {
	k := n / 2 % len(urls)
	return slices.Concat(urls[k:], urls[:k])
}

// mint makes a session; the server may be about to be ready.
func (w *World) mint(ctx context.Context, user string) (string, error) {
	var resp wire.MintTokenResponse
	req := &wire.MintTokenRequest{User: user, LifetimeMs: (24 * time.Hour).Milliseconds()}
	if err := skein.Post(ctx, w.plan.HTTP, "skein.v1.AdminService/MintToken", w.plan.AdminKey, req, &resp); err != nil {
		return "", fmt.Errorf("soak: token for %s: %w", user, err)
	}
	return resp.GetTokens().GetAccessToken(), nil
}

// found makes the groups and says who talks where: a ring of dms and one
// across, a group of all, one of every second, one that two guests leave and join.
func (w *World) found(ctx context.Context) error {
	n := len(w.users)
	talk := func(c string, who ...int) {
		for _, i := range who {
			w.users[i].join(c)
		}
	}
	for i := range n {
		j := (i + 1) % n
		talk(skein.DM(w.users[i].id, w.users[j].id), i, j)
	}
	if n > 4 {
		talk(skein.DM(w.users[0].id, w.users[n/2].id), 0, n/2)
	}
	var all, even []int
	for i := range n {
		all = append(all, i)
		if i%2 == 0 {
			even = append(even, i)
		}
	}
	guests := []int{0, 1, n - 1}
	if n > 3 {
		guests = []int{0, 1, n - 2, n - 1}
	}
	for _, i := range guests[2:] {
		w.visitors = append(w.visitors, w.users[i].id)
	}
	for _, g := range []struct {
		name string
		who  []int
	}{{"all", all}, {"even", even}, {"guests", guests}} {
		c, err := w.group(ctx, g.name, g.who)
		if err != nil {
			return err
		}
		talk(c, g.who...)
		w.guests = c // the last one
	}
	return nil
}

func (w *World) group(ctx context.Context, name string, who []int) (string, error) {
	req := &wire.CreateGroupRequest{Name: name, RequestId: name}
	for _, i := range who[1:] {
		req.Members = append(req.Members, w.users[i].id)
	}
	var resp wire.CreateGroupResponse
	if err := w.call(ctx, w.users[who[0]].token, groupService+"CreateGroup", req, &resp); err != nil {
		return "", fmt.Errorf("soak: group %s: %w", name, err)
	}
	return resp.GetGroup().GetConversation(), nil
}

// device makes a device of the i-th kind for p.
func (w *World) device(ctx context.Context, p *person, i int) (Device, error) {
	kind := kinds[i%len(kinds)]
	name := kind.name
	o, err := w.options(ctx, p, name, kind.tcp, kind.codec)
	if err != nil {
		return nil, err
	}
	if !kind.sdk {
		d := NewRaw(o)
		w.devices = append(w.devices, d)
		return d, nil
	}
	d, err := NewSDK(ctx, o, filepath.Join(w.plan.Dir, p.id+"."+name+".db"))
	if err != nil {
		return nil, fmt.Errorf("soak: %s of %s: %w", name, p.id, err)
	}
	w.devices = append(w.devices, d)
	return d, nil
}
