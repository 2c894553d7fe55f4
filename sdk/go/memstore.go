package skein

import (
	"context"
	"sort"
	"sync"

	"github.com/skein-im/skein/wire"
)

// memoryStore keeps everything in maps. mu guards all of it.
type memoryStore struct {
	mu       sync.Mutex
	meta     Meta
	convs    map[string]ConversationRecord
	entries  map[string]map[uint64]*wire.Entry
	outbox   map[uint64]OutboxRecord
	threads  map[EntryRef]ThreadRecord
	feed     []FeedItem
	lastFeed uint64
}

// NewMemoryStore returns a store that lives as long as the process.
func NewMemoryStore() Store {
	return &memoryStore{
		convs:   map[string]ConversationRecord{},
		entries: map[string]map[uint64]*wire.Entry{},
		outbox:  map[uint64]OutboxRecord{},
		threads: map[EntryRef]ThreadRecord{},
	}
}

func (s *memoryStore) Load(context.Context) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := &Snapshot{Meta: s.meta, LastFeed: s.lastFeed}
	for _, c := range s.convs {
		snap.Conversations = append(snap.Conversations, c)
	}
	for _, o := range s.outbox {
		snap.Outbox = append(snap.Outbox, o)
	}
	for _, t := range s.threads {
		snap.Threads = append(snap.Threads, t)
	}
	sort.Slice(snap.Outbox, func(i, j int) bool { return snap.Outbox[i].N < snap.Outbox[j].N })
	return snap, nil
}

func (s *memoryStore) Apply(_ context.Context, b *Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Reset {
		clear(s.convs)
		clear(s.entries)
		clear(s.threads)
	}
	for _, t := range b.ForgetThreads {
		delete(s.threads, t)
	}
	for _, t := range b.Threads {
		s.threads[EntryRef{t.Conversation, t.Root}] = *t
	}
	for _, f := range b.Forget {
		for seq := range s.entries[f.Conversation] {
			if seq < f.Seq {
				delete(s.entries[f.Conversation], seq)
			}
		}
	}
	for _, e := range b.Entries {
		m := s.entries[e.Conversation]
		if m == nil {
			m = map[uint64]*wire.Entry{}
			s.entries[e.Conversation] = m
		}
		m[e.Seq] = e
	}
	for _, c := range b.Conversations {
		s.convs[c.ID] = *c
	}
	if b.Meta != nil {
		s.meta = *b.Meta
	}
	for _, n := range b.OutboxDelete {
		delete(s.outbox, n)
	}
	for _, o := range b.OutboxPut {
		s.outbox[o.N] = *o
	}
	for _, f := range b.Feed {
		s.feed = append(s.feed, f)
		s.lastFeed = f.N
	}
	for _, e := range b.Changed {
		s.change(e)
	}
	i := sort.Search(len(s.feed), func(i int) bool { return s.feed[i].N > b.FeedHandled })
	s.feed = s.feed[i:]
	return nil
}

func (s *memoryStore) change(e *wire.Entry) {
	if m := s.entries[e.Conversation]; m[e.Seq] != nil {
		m[e.Seq] = e
	}
	for i := range s.feed {
		if old := s.feed[i].Entry; old != nil && old.Conversation == e.Conversation && old.Seq == e.Seq {
			s.feed[i].Entry = e
		}
	}
}

func (s *memoryStore) Entries(_ context.Context, conversation string, from, to uint64, limit int) ([]*wire.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*wire.Entry
	m := s.entries[conversation]
	if from > to {
		return nil, nil
	}
	if to-from < uint64(len(m)) {
		for seq := from; seq <= to; seq++ {
			if e := m[seq]; e != nil {
				out = append(out, e)
			}
		}
	} else {
		for seq, e := range m {
			if seq >= from && seq <= to {
				out = append(out, e)
			}
		}
		sort.Slice(out, func(i, j int) bool { return out[i].Seq < out[j].Seq })
	}
	return out[max(0, len(out)-limit):], nil
}

func (s *memoryStore) Feed(_ context.Context, after uint64, limit int) ([]FeedItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := sort.Search(len(s.feed), func(i int) bool { return s.feed[i].N > after })
	out := s.feed[i:min(len(s.feed), i+limit)]
	return append([]FeedItem(nil), out...), nil
}

func (s *memoryStore) Close() error { return nil }
