package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
}

// World is the users, their devices and their conversations.
type World struct {
	plan    Plan
	users   []*person
	devices []Device
	senders []Device // one for each user
	files   []*os.File
	// guests is the group whose membership of the last user changes all the time.
	guests string
}

// person is a user.
type person struct {
	id    string
	token string // for calls
	talks []string
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
		w.senders = append(w.senders, d)
	}
	// Two users have a second device, of the other make.
	for i, p := range w.users[:2] {
		if _, err := w.device(ctx, p, i+1); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	return w, nil
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
// across, a group of all, one of every second, one with guests.
func (w *World) found(ctx context.Context) error {
	n := len(w.users)
	talk := func(c string, who ...int) {
		for _, i := range who {
			w.users[i].talks = append(w.users[i].talks, c)
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
	for _, g := range []struct {
		name string
		who  []int
	}{{"all", all}, {"even", even}, {"guests", []int{0, 1, n - 1}}} {
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
	if err := skein.Post(ctx, w.plan.HTTP, "skein.v1.GroupService/CreateGroup", w.users[who[0]].token, req, &resp); err != nil {
		return "", fmt.Errorf("soak: group %s: %w", name, err)
	}
	return resp.GetGroup().GetConversation(), nil
}

// device makes a device of the i-th kind for p.
func (w *World) device(ctx context.Context, p *person, i int) (Device, error) {
	kind := kinds[i%len(kinds)]
	token, err := w.mint(ctx, p.id)
	if err != nil {
		return nil, err
	}
	name := kind.name
	f, err := os.Create(filepath.Join(w.plan.Dir, p.id+"."+name+".jsonl"))
	if err != nil {
		return nil, err
	}
	w.files = append(w.files, f)
	o := DeviceOptions{
		URLs: w.plan.WS, Token: token, User: p.id, Device: name, Codec: kind.codec,
		History: NewRecorder(f, p.id, name), Reconnect: w.plan.Reconnect, Patience: w.plan.Patience,
	}
	if kind.tcp {
		o.URLs = w.plan.TCP
	}
	// Each begins at another one.
	k := len(w.devices) % len(o.URLs)
	o.URLs = slices.Concat(o.URLs[k:], o.URLs[:k])
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

// Load lets every user send until ctx ends.
func (w *World) Load(ctx context.Context) {
	var wg sync.WaitGroup
	for i, d := range w.senders {
		wg.Go(func() { w.talk(ctx, i, d) })
	}
	wg.Go(func() { w.changeGuests(ctx) })
	wg.Wait()
}

// talk is one user: mostly single messages, now and then a burst, and reading.
func (w *World) talk(ctx context.Context, i int, d Device) {
	rng := rand.New(rand.NewPCG(w.plan.Seed, uint64(i)))
	every := time.Duration(float64(time.Second) * float64(len(w.senders)) / w.plan.Rate)
	next := time.Now()
	for n := 0; ; {
		c := w.users[i].talks[rng.IntN(len(w.users[i].talks))]
		burst := 1
		if rng.IntN(20) == 0 {
			burst = 2 + rng.IntN(30)
		}
		for range burst {
			n++
			text := fmt.Sprintf("%s %d %s", w.users[i].id, n, strings.Repeat("x", rng.IntN(200)))
			if d.Send(ctx, c, text) != nil {
				return // ctx ended, or the device did and wrote down why
			}
		}
		if rng.IntN(8) == 0 {
			_ = d.MarkRead(ctx, c) // what became of it is in the history
		}
		next = next.Add(time.Duration(burst) * every)
		if late := time.Since(next); late > time.Second {
			next = next.Add(late) // the server was away: no catching up
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(next)):
		}
	}
}

// callTime bounds one call of the API.
const callTime = 10 * time.Second

// changeGuests removes the last user from a group and adds them again.
func (w *World) changeGuests(ctx context.Context) {
	rng := rand.New(rand.NewPCG(w.plan.Seed, ^uint64(0)))
	owner, guest := w.users[0], w.users[len(w.users)-1].id
	for in := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(50*time.Millisecond + time.Duration(rng.Int64N(int64(600*time.Millisecond)))):
		}
		var err error
		call, cancel := context.WithTimeout(ctx, callTime)
		if in {
			req := &wire.RemoveMembersRequest{Conversation: w.guests, Users: []string{guest}}
			err = skein.Post(call, w.plan.HTTP, "skein.v1.GroupService/RemoveMembers", owner.token, req, &wire.RemoveMembersResponse{})
		} else {
			req := &wire.AddMembersRequest{Conversation: w.guests, Users: []string{guest}}
			err = skein.Post(call, w.plan.HTTP, "skein.v1.GroupService/AddMembers", owner.token, req, &wire.AddMembersResponse{})
		}
		cancel()
		if err == nil { // otherwise the same again: both may be repeated
			in = !in
		}
	}
}
