package directory

import (
	"encoding/binary"
	"maps"
	"sort"
	"strings"
	"sync"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// places keeps the memberships of the users who were asked about lately, for an
// embedded database: this process makes every change, so it knows what to
// forget. After a change is committed and before the call that made it returns,
// the lists it concerns are forgotten, and a read that began before is not kept.
type places struct {
	mu      sync.Mutex
	of      cache.Cache[im.UserID, packed] // bounded in bytes
	reading map[im.UserID]*placesRead
	// renamed has the names of groups that were renamed lately: lists that were
	// read before have the names of then. The map is replaced, never changed.
	renamed map[im.ConversationID]string
}

const (
	// placesBytes bounds what is kept in RAM: a user with 25 conversations takes
	// about 1 KB.
	placesBytes = 32 << 20
	// placeOfUser is what a list takes besides its text, about.
	placeOfUser = 80
	// maxRenamed bounds the names; with more everything is read again.
	maxRenamed = 1024
)

// placesRead is a list on its way, for all who ask for it at the same time.
type placesRead struct {
	done     chan struct{}
	list     packed
	promised []im.Promised
	err      error
}

func newPlaces(limit int) *places {
	p := &places{of: cache.Sized(limit, func(u im.UserID, list packed) int { return len(u) + len(list) + placeOfUser })}
	p.drop()
	return p
}

// get returns the list of a user if it is there, or the reading of it; mine
// tells the caller to read, and to end with keep. names are for retitle.
func (p *places) get(u im.UserID) (list packed, known bool, names map[im.ConversationID]string, r *placesRead, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list, known = p.of.Get(u); known {
		return list, true, p.renamed, nil, false
	}
	if r = p.reading[u]; r == nil {
		r, mine = &placesRead{done: make(chan struct{})}, true
		p.reading[u] = r
	}
	return "", false, p.renamed, r, mine
}

// peek returns the list of a user if it is there.
func (p *places) peek(u im.UserID) (list packed, known bool, names map[im.ConversationID]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, known = p.of.Get(u)
	return list, known, p.renamed
}

// keep ends a reading; what was forgotten meanwhile, or failed, or will change in
// a moment, is not kept.
func (p *places) keep(u im.UserID, r *placesRead, list packed, promised []im.Promised, err error) {
	p.mu.Lock()
	if p.reading[u] == r {
		delete(p.reading, u)
		if err == nil && len(promised) == 0 {
			p.of.Put(u, list)
		}
	}
	p.mu.Unlock()
	r.list, r.promised, r.err = list, promised, err
	close(r.done)
}

// forget drops the lists of users.
func (p *places) forget(users ...im.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range users {
		p.of.Delete(u)
		delete(p.reading, u)
	}
}

// clear drops everything.
func (p *places) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

func (p *places) drop() {
	p.of.Clear()
	p.reading, p.renamed = make(map[im.UserID]*placesRead), nil
}

// rename notes that a group has another name.
func (p *places) rename(c im.ConversationID, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.renamed) >= maxRenamed {
		p.drop()
		return
	}
	names := make(map[im.ConversationID]string, len(p.renamed)+1) // readers have the old one
	maps.Copy(names, p.renamed)
	names[c] = name
	p.renamed = names
}

// retitle gives a current member the group's present name. Who left keeps the
// name of then.
func retitle(m *im.Membership, names map[im.ConversationID]string) {
	if len(names) == 0 || m.Until != 0 {
		return
	}
	if name, ok := names[m.Conversation]; ok {
		m.Title = name
	}
}

// packed is a list of memberships by conversation id, in one string without
// pointers: offsets of 4 bytes, then each First, Until, ReadTo, the number of earlier
// windows and their bounds, the conversation's length, the conversation and the
// title.
type packed string

func pack(all []im.Membership) packed {
	b := make([]byte, 4*len(all))
	for i := range all {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(len(b)))
		m := &all[i]
		b = binary.AppendUvarint(b, m.First)
		b = binary.AppendUvarint(b, m.Until)
		b = binary.AppendUvarint(b, m.ReadTo)
		b = binary.AppendUvarint(b, uint64(len(m.Earlier)))
		for _, w := range m.Earlier {
			b = binary.AppendUvarint(binary.AppendUvarint(b, w.First), w.Until)
		}
		b = binary.AppendUvarint(b, uint64(len(m.Conversation)))
		b = append(b, m.Conversation...)
		b = append(b, m.Title...)
	}
	return packed(b)
}

func (l packed) offset(i int) int {
	return int(l[4*i]) | int(l[4*i+1])<<8 | int(l[4*i+2])<<16 | int(l[4*i+3])<<24
}

func (l packed) count() int {
	if l == "" {
		return 0
	}
	return l.offset(0) / 4
}

// end is the offset behind membership i.
func (l packed) end(i int) int {
	if i+1 < l.count() {
		return l.offset(i + 1)
	}
	return len(l)
}

// unpackTogether is how many memberships share a string when they are unpacked:
// who keeps a conversation's id must not keep a long list in memory with it.
const unpackTogether = 16

// all returns the memberships of a list.
func (l packed) all(names map[im.ConversationID]string) []im.Membership {
	n := l.count()
	if n == 0 {
		return nil
	}
	all := make([]im.Membership, n)
	var part packed
	start := 0 // of part
	for i := range all {
		if i%unpackTogether == 0 {
			start = l.offset(i)
			part = packed(strings.Clone(string(l[start:l.end(min(i+unpackTogether, n)-1)])))
		}
		all[i] = unpack(part[l.offset(i)-start : l.end(i)-start])
		retitle(&all[i], names)
	}
	return all
}

// one returns the membership of a list in one conversation.
func (l packed) one(c im.ConversationID, names map[im.ConversationID]string) (im.Membership, bool) {
	n := l.count()
	i := sort.Search(n, func(i int) bool { return unpack(l[l.offset(i):l.end(i)]).Conversation >= c })
	if i == n {
		return im.Membership{}, false
	}
	m := unpack(l[l.offset(i):l.end(i)])
	if m.Conversation != c {
		return im.Membership{}, false
	}
	m.Conversation, m.Title = c, strings.Clone(m.Title)
	retitle(&m, names)
	return m, true
}

func unpack(s packed) (m im.Membership) {
	m.First, s = uvarint(s)
	m.Until, s = uvarint(s)
	m.ReadTo, s = uvarint(s)
	n, s := uvarint(s)
	if n > 0 {
		m.Earlier = make([]im.Window, n)
		for i := range m.Earlier {
			m.Earlier[i].First, s = uvarint(s)
			m.Earlier[i].Until, s = uvarint(s)
		}
	}
	n, s = uvarint(s)
	m.Conversation, m.Title = im.ConversationID(s[:n]), string(s[n:])
	return m
}

func uvarint(s packed) (v uint64, rest packed) {
	for i, shift := 0, 0; ; i, shift = i+1, shift+7 {
		v |= uint64(s[i]&0x7f) << shift
		if s[i] < 0x80 {
			return v, s[i+1:]
		}
	}
}
