package gateway

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// group is a group with a session here. What it knows of the journal is only
// as much as it takes to see that a parcel was missed.
type group struct {
	id      im.ConversationID
	mu      sync.Mutex
	members map[*member]struct{}
	// last and roster are of the last entry seen, 0 before the first.
	last, roster uint64
	// suspect: parcels were missed, and with them perhaps somebody's removal. Until
	// the roster of the local members was read again only Heads go out. epoch
	// counts the gaps, so that a reading begun before the last one does not count.
	suspect bool
	epoch   uint64
	// dead: taken out of the registry because it was empty.
	dead bool
}

type groupShard struct {
	mu sync.Mutex
	m  map[im.ConversationID]*group
}

// groups is the groups of the sessions here.
type groups struct {
	seed   maphash.Seed
	shards [registryShards]groupShard
	loads  loads
	peers  Peers
}

func newGroups(peers Peers) *groups {
	r := &groups{seed: maphash.MakeSeed(), peers: peers}
	for i := range r.shards {
		r.shards[i].m = map[im.ConversationID]*group{}
	}
	r.loads.byUser = map[im.UserID][]*load{}
	return r
}

func (r *groups) shard(c im.ConversationID) *groupShard {
	return &r.shards[maphash.String(r.seed, string(c))%registryShards]
}

// locked returns the group with its lock held; nil if there is none and make is false.
func (r *groups) locked(c im.ConversationID, make bool) *group {
	sh := r.shard(c)
	for {
		sh.mu.Lock()
		grp := sh.m[c]
		if grp == nil && make {
			grp = &group{id: c, members: map[*member]struct{}{}}
			sh.m[c] = grp
			r.peers.GroupHere(c)
		}
		sh.mu.Unlock()
		if grp == nil {
			return nil
		}
		grp.mu.Lock()
		if !grp.dead {
			return grp
		}
		grp.mu.Unlock()
	}
}

// unlock releases a group and takes it out of the registry when it is empty.
func (r *groups) unlock(grp *group) {
	empty := len(grp.members) == 0
	grp.mu.Unlock()
	if !empty {
		return
	}
	sh := r.shard(grp.id)
	sh.mu.Lock()
	grp.mu.Lock()
	if len(grp.members) == 0 && !grp.dead {
		grp.dead = true
		delete(sh.m, grp.id)
		r.peers.GroupGone(grp.id)
	}
	grp.mu.Unlock()
	sh.mu.Unlock()
}

func (r *groups) count() (n int) {
	for i := range r.shards {
		r.shards[i].mu.Lock()
		n += len(r.shards[i].m)
		r.shards[i].mu.Unlock()
	}
	return n
}

// join makes s a member. Caller holds the group's lock.
func (grp *group) join(s *member) { grp.joins(s) }

// joins is join and tells whether s was none before.
func (grp *group) joins(s *member) bool {
	if _, ok := grp.members[s]; ok {
		return false
	}
	s.links.Lock()
	defer s.links.Unlock()
	if s.links.gone {
		return false
	}
	s.links.groups = append(s.links.groups, grp)
	grp.members[s] = struct{}{}
	return true
}

// has tells whether s is a member. Caller holds the group's lock.
func (grp *group) has(s *member) bool {
	_, ok := grp.members[s]
	return ok
}

// leave ends a membership. Caller holds the group's lock.
func (grp *group) leave(s *member) {
	if _, ok := grp.members[s]; !ok {
		return
	}
	delete(grp.members, s)
	s.links.Lock()
	defer s.links.Unlock()
	for i, o := range s.links.groups {
		if o == grp {
			last := len(s.links.groups) - 1
			s.links.groups[i] = s.links.groups[last]
			s.links.groups[last] = nil
			s.links.groups = s.links.groups[:last]
			return
		}
	}
}

// forget takes a session out of all its groups, for ever.
func (r *groups) forget(s *member) {
	s.links.Lock()
	s.links.gone = true
	all := s.links.groups
	s.links.groups = nil
	s.links.Unlock()
	for _, grp := range all {
		grp.mu.Lock()
		delete(grp.members, s)
		r.unlock(grp)
	}
}

// load is a reading of a user's groups in progress. Roster events that are
// delivered meanwhile know better than what is read.
type load struct {
	user    im.UserID
	changed map[im.ConversationID]bool
}

type loads struct {
	mu     sync.Mutex
	byUser map[im.UserID][]*load
}

func (l *loads) begin(u im.UserID) *load {
	ld := &load{user: u}
	l.mu.Lock()
	l.byUser[u] = append(l.byUser[u], ld)
	l.mu.Unlock()
	return ld
}

func (l *loads) end(ld *load) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.byUser[ld.user]
	for i, o := range all {
		if o == ld {
			all = append(all[:i], all[i+1:]...)
			break
		}
	}
	if len(all) == 0 {
		delete(l.byUser, ld.user)
	} else {
		l.byUser[ld.user] = all
	}
}

// note tells the readings in progress that the membership of users (all: of
// everybody) in c has changed.
func (l *loads) note(c im.ConversationID, users []im.UserID, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mark := func(lds []*load) {
		for _, ld := range lds {
			if ld.changed == nil {
				ld.changed = map[im.ConversationID]bool{}
			}
			ld.changed[c] = true
		}
	}
	if all {
		for _, lds := range l.byUser {
			mark(lds)
		}
		return
	}
	for _, u := range users {
		mark(l.byUser[u])
	}
}

func (l *loads) overtaken(ld *load, c im.ConversationID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ld.changed[c]
}

// each calls f for every group, with its lock.
func (r *groups) each(f func(*group)) {
	for i := range r.shards {
		sh := &r.shards[i]
		sh.mu.Lock()
		all := make([]*group, 0, len(sh.m))
		for _, grp := range sh.m {
			all = append(all, grp)
		}
		sh.mu.Unlock()
		for _, grp := range all {
			grp.mu.Lock()
			f(grp)
			grp.mu.Unlock()
		}
	}
}

// inGroups is the groups of s at this moment.
func (s *member) inGroups() []*group {
	s.links.Lock()
	defer s.links.Unlock()
	return slices.Clone(s.links.groups)
}

// lock takes the lock of a group that was not looked up; unlock of groups ends it.
func (grp *group) lock() { grp.mu.Lock() }

// send queues a frame for the group's sessions. Caller holds the group's lock.
func (grp *group) send(out *outgoing.Queues, frame *wire.ServerFrame, not im.UserID) {
	f := out.Fanout(frame, len(grp.members))
	for s := range grp.members {
		if s.actor.User != not {
			f.To(&s.Queue)
		}
	}
	f.End()
}

// heads tells the group's sessions of its end. Caller holds the group's lock.
func (grp *group) heads(out *outgoing.Queues) {
	f := out.Fanout(outgoing.HeadsFrame(grp.id, grp.last), len(grp.members))
	for s := range grp.members {
		f.HeadsTo(&s.Queue, grp.id, grp.last)
	}
	f.End()
}
