package app

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/announce"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/filter"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/messaging"
	"github.com/skein-im/skein/internal/serverlist"
	"github.com/skein-im/skein/wire"
)

// makePlace makes what the deployment announces, and what it does not allow, before messages
// are taken.
func (a *App) makePlace(ctx context.Context, gateways im.Dispatch) error {
	list := serverlist.Options{Store: a.directory, Shared: a.shared != nil, Now: a.now, Logger: a.log}
	if a.node != nil {
		list.Changed = a.node.Reread
	}
	rules := list
	a.filter = filter.New(filter.Options{
		List: rules, Reports: a.directory, Random: rand.Reader, Now: a.now, Logger: a.log,
		Contact: func(ctx context.Context, x, y im.UserID) (bool, error) {
			_, side, _, err := a.directory.Gate(ctx, x, y)
			return side.State == im.ContactFriend, err
		},
		Role: func(ctx context.Context, u im.UserID) (im.ServerRole, error) {
			me, err := a.accounts.Me(ctx, u)
			if im.CodeOf(err) == im.CodeNotFound {
				return im.ServerUser, nil
			}
			return me.Role, err
		},
	})
	if err := a.filter.Start(ctx); err != nil {
		return err
	}
	tell := list.Changed
	list.Changed = func(ctx context.Context) {
		if tell != nil {
			tell(ctx)
		}
		gateways.Control(im.Control{News: true})
	}
	a.announcements = announce.New(list, rand.Reader, a.board.changed)
	return a.announcements.Start(ctx)
}

// theFilter is nil, and not an interface with a nil in it, without one.
func (a *App) theFilter() messaging.Filter {
	if a.filter == nil {
		return nil
	}
	return a.filter
}

func (a *App) closePlace() {
	if a.filter != nil {
		a.filter.Close()
	}
	if a.announcements != nil {
		a.announcements.Close()
	}
}

// Reread reads the lists of the deployment again, for another node.
func (b backend) Reread(ctx context.Context) {
	for _, look := range []func(context.Context) error{b.a.filter.Look, b.a.announcements.Look} {
		if err := look(ctx); err != nil {
			b.a.log.Warn("a list of the deployment that changed cannot be read, trying again", "err", err)
		}
	}
}

const (
	// boardEvery is how often a gateway among others looks what is announced, for what
	// nobody noticed that it was lost.
	boardEvery = 30 * time.Second
	// boardTime bounds a look.
	boardTime = 10 * time.Second
)

// board is what the gateway of this process was told to announce.
type board struct {
	news chan struct{} // holds one
	// revision is what new connections are told, set before those that are there are told.
	revision atomic.Uint64
}

// changed says that there may be something new. It does not wait.
func (b *board) changed() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// startBoard begins to tell connections what is announced, and returns what ends that.
func (a *App) startBoard() (stop func()) {
	life, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(boardEvery)
		defer tick.Stop()
		if a.node == nil {
			tick.Stop() // nothing is lost in one process
		}
		for first := true; ; first = false {
			a.tellBoard(life, first)
			select {
			case <-life.Done():
				return
			case <-a.board.news:
			case <-tick.C:
			}
		}
	})
	return func() {
		end()
		running.Wait()
	}
}

// tellBoard tells the connections what is announced, if that is something new; those that come
// to a process that has just begun ask by themselves.
func (a *App) tellBoard(ctx context.Context, first bool) {
	ctx, cancel := context.WithTimeout(ctx, boardTime)
	defer cancel()
	now, err := a.announced(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.log.Debug("what is announced cannot be read now, trying again", "err", err)
		}
		return
	}
	if a.board.revision.Swap(now.Revision) != now.Revision && !first {
		a.gateway.Announce(now)
	}
}

// announced is what is announced, from here or, without the logic role, from a node that has
// it.
func (a *App) announced(ctx context.Context) (im.Announced, error) {
	if a.announcements != nil {
		return a.announcements.Current(), nil
	}
	b, err := a.ask.Call(ctx, im.Actor{Role: im.ServerOwner}, im.Call{Method: "skein.v1.AccountService/GetAnnouncements"})
	if err != nil {
		return im.Announced{}, err
	}
	var r wire.GetAnnouncementsResponse
	if err := proto.Unmarshal(b, &r); err != nil {
		return im.Announced{}, err
	}
	now := im.Announced{Revision: r.GetRevision()}
	for _, w := range r.GetAnnouncements() {
		now.All = append(now.All, contract.AnnouncementFromWire(w))
	}
	return now, nil
}
