package here

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Group is a group with a session here. What it knows of the journal is only
// as much as it takes to see that a parcel was missed.
type Group struct {
	ID im.ConversationID
	mu sync.Mutex
	// Members are its sessions.
	Members map[*Member]Place
	// Last and Roster are of the last entry seen, 0 before the first.
	Last, Roster uint64
	// Suspect: parcels were missed, and with them perhaps somebody's removal. Until
	// the roster of the local members was read again only Heads go out. Epoch
	// counts the gaps, so that a reading begun before the last one does not count.
	Suspect bool
	Epoch   uint64
	Pace
	// dead: taken out of the registry because it was empty.
	dead bool
}

// Place is where a session is in a group.
type Place struct {
	// From is the entry from which on all are its user's to read; 0: not known.
	From uint64
	// Told is up to where it was told what is held, or it joined behind that; 0 where
	// nothing of that kind is known.
	Told uint64
}

type groupShard struct {
	mu sync.Mutex
	m  map[im.ConversationID]*Group
}

// Groups is the groups of the sessions here.
type Groups struct {
	seed   maphash.Seed
	shards [registryShards]groupShard
	Loads  Loads
	peers  Peers
}

// NewGroups makes an empty registry, of which others are told.
func NewGroups(peers Peers) *Groups {
	r := &Groups{seed: maphash.MakeSeed(), peers: peers}
	for i := range r.shards {
		r.shards[i].m = map[im.ConversationID]*Group{}
	}
	r.Loads.byUser = map[im.UserID][]*Load{}
	return r
}

func (r *Groups) shard(c im.ConversationID) *groupShard {
	return &r.shards[maphash.String(r.seed, string(c))%registryShards]
}

// Locked returns the group with its lock held; nil if there is none and make is false.
func (r *Groups) Locked(c im.ConversationID, make bool) *Group {
	sh := r.shard(c)
	for {
		sh.mu.Lock()
		grp := sh.m[c]
		if grp == nil && make {
			grp = &Group{ID: c, Members: map[*Member]Place{}}
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

// Unlock releases a group and takes it out of the registry when it is empty.
func (r *Groups) Unlock(grp *Group) {
	empty := len(grp.Members) == 0
	grp.mu.Unlock()
	if !empty {
		return
	}
	sh := r.shard(grp.ID)
	sh.mu.Lock()
	grp.mu.Lock()
	if len(grp.Members) == 0 && !grp.dead {
		grp.dead = true
		delete(sh.m, grp.ID)
		r.peers.GroupGone(grp.ID)
	}
	grp.mu.Unlock()
	sh.mu.Unlock()
}

// Count is how many groups have a member here.
func (r *Groups) Count() (n int) {
	for i := range r.shards {
		r.shards[i].mu.Lock()
		n += len(r.shards[i].m)
		r.shards[i].mu.Unlock()
	}
	return n
}

// Joins makes s a member, who may read all from an entry on (0: not known), and tells
// whether it was none before. Caller holds the group's lock.
func (grp *Group) Joins(s *Member, from uint64) bool {
	if at, ok := grp.Members[s]; ok {
		at.From = from
		grp.Members[s] = at
		return false
	}
	s.links.Lock()
	defer s.links.Unlock()
	if s.links.gone {
		return false
	}
	s.links.groups = append(s.links.groups, grp)
	at := Place{From: from}
	if h := grp.Held; h != nil { // what is held was stored before: a Sync tells it, if it is theirs
		at.Told = h.Entries[len(h.Entries)-1].Seq
	}
	grp.Members[s] = at
	return true
}

// Has tells whether s is a member. Caller holds the group's lock.
func (grp *Group) Has(s *Member) bool {
	_, ok := grp.Members[s]
	return ok
}

// Leave ends a membership. Caller holds the group's lock.
func (grp *Group) Leave(s *Member) {
	if _, ok := grp.Members[s]; !ok {
		return
	}
	delete(grp.Members, s)
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

// Forget takes a session out of all its groups, for ever.
func (r *Groups) Forget(s *Member) {
	s.links.Lock()
	s.links.gone = true
	all := s.links.groups
	s.links.groups = nil
	s.links.Unlock()
	for _, grp := range all {
		grp.mu.Lock()
		delete(grp.Members, s)
		r.Unlock(grp)
	}
}

// Load is a reading of a user's groups in progress. Roster events that are
// delivered meanwhile know better than what is read.
type Load struct {
	user    im.UserID
	changed map[im.ConversationID]bool
}

// Loads are the readings in progress.
type Loads struct {
	mu     sync.Mutex
	byUser map[im.UserID][]*Load
}

// Begin begins a reading.
func (l *Loads) Begin(u im.UserID) *Load {
	ld := &Load{user: u}
	l.mu.Lock()
	l.byUser[u] = append(l.byUser[u], ld)
	l.mu.Unlock()
	return ld
}

// End ends it.
func (l *Loads) End(ld *Load) {
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

// Note tells the readings in progress that the membership of users (all: of
// everybody) in c has changed.
func (l *Loads) Note(c im.ConversationID, users []im.UserID, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mark := func(lds []*Load) {
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

// Overtaken tells that the membership in c changed since the reading began.
func (l *Loads) Overtaken(ld *Load, c im.ConversationID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ld.changed[c]
}

// Each calls f for every group, with its lock.
func (r *Groups) Each(f func(*Group)) {
	for i := range r.shards {
		sh := &r.shards[i]
		sh.mu.Lock()
		all := make([]*Group, 0, len(sh.m))
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

// InGroups is the groups of s at this moment.
func (s *Member) InGroups() []*Group {
	s.links.Lock()
	defer s.links.Unlock()
	return slices.Clone(s.links.groups)
}

// Lock takes the lock of a group that was not looked up; Groups.Unlock ends it.
func (grp *Group) Lock() { grp.mu.Lock() }

// Send queues a frame for the group's sessions. Caller holds the group's lock.
func (grp *Group) Send(out *outgoing.Queues, frame *wire.ServerFrame, not im.UserID) {
	f := out.Fanout(frame, len(grp.Members))
	for s := range grp.Members {
		if s.Actor.User != not {
			f.To(&s.Queue)
		}
	}
	f.End()
}

// Heads tells the group's sessions of its end. Caller holds the group's lock.
func (grp *Group) Heads(out *outgoing.Queues) {
	f := out.Fanout(outgoing.HeadsFrame(grp.ID, grp.Last), len(grp.Members))
	for s := range grp.Members {
		f.HeadsTo(&s.Queue, grp.ID, grp.Last)
	}
	f.End()
}

// Count is for how many users groups are being read.
func (l *Loads) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byUser)
}
