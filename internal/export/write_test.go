package export

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/wire"
)

// server answers the calls of an export, and every list in pages of one.
type server struct {
	contacts, scheduled, members []string
	conversations                []*wire.ConversationState
	entries                      map[string][]*wire.Entry
	replies                      map[string][]*wire.Entry // by conversation and root
	uploads                      map[string]upload
	damaged                      map[uint64]bool // entries of grp:tea
	lost                         []im.ConversationID

	calls  int
	fails  int   // the call that fails, from 1 on
	with   error // how
	called map[string]int
}

// upload is one of which the server knows that it has so many bytes.
type upload struct {
	name  string
	size  int
	bytes string
	err   error
}

const ann = "ann"

func mediaID(n int) string { return strings.Repeat("A", 25) + string(rune('A'+n)) }

func newServer() *server {
	chat, tea := "dm:ann:bob", "grp:tea"
	s := &server{
		contacts: []string{"bob", "cem", "dan"}, scheduled: []string{"one", "two", "three"}, members: []string{"ann", "bob", "cem"},
		conversations: []*wire.ConversationState{{Conversation: chat, Seq: 4}, {Conversation: tea, Seq: 7}, {Conversation: "dm:ann:ann", Seq: 1}},
		entries:       map[string][]*wire.Entry{"me:ann": {said(1, "feed one"), said(2, "feed two")}, "dm:ann:ann": {said(1, "a note")}},
		replies:       map[string][]*wire.Entry{"dm:ann:bob 2": {said(10, "reply one"), said(11, "reply two"), said(12, "reply three")}},
		uploads:       map[string]upload{mediaID(0): {"a.txt", 5, "hello", nil}, mediaID(1): {"b.txt", 3, "two", nil}},
		called:        map[string]int{},
	}
	s.entries[chat] = []*wire.Entry{said(1, "chat one"), said(2, "chat two"), said(4, "chat four"), said(5, "behind the list")}
	s.entries[chat][1].Replies = &wire.Replies{Count: 3}
	s.entries[tea] = []*wire.Entry{said(3, "tea three", mediaID(0)), said(7, "tea seven", mediaID(0), mediaID(1))}
	return s
}

func said(seq uint64, words string, media ...string) *wire.Entry {
	e := &wire.Entry{Seq: seq, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: words}}}
	for _, id := range media {
		e.Media = append(e.Media, &wire.Media{Id: id})
	}
	return e
}

// pageOf is the item at a cursor, and the cursor of the next one.
func pageOf[T any](all []T, cursor string) (page []T, next string) {
	n, _ := strconv.Atoi(cursor)
	if n >= len(all) {
		return nil, ""
	}
	if n+1 < len(all) {
		next = strconv.Itoa(n + 1)
	}
	return all[n : n+1], next
}

func (s *server) Call(_ context.Context, from im.Actor, call im.Call) ([]byte, error) {
	method := strings.TrimPrefix(call.Method, "skein.v1.")
	s.called[method]++
	if s.calls++; s.calls == s.fails {
		return nil, s.with
	}
	if from.User != ann {
		return nil, fmt.Errorf("called as %q", from.User)
	}
	is, _ := wire.LookupMethod(call.Method)
	in, out := is.NewRequest(), is.NewResponse()
	if err := proto.Unmarshal(call.Payload, in); err != nil {
		return nil, err
	}
	switch q := in.(type) {
	case *wire.GetUsersRequest:
		for _, id := range q.Ids {
			out.(*wire.GetUsersResponse).Users = append(out.(*wire.GetUsersResponse).Users, &wire.User{Id: id})
		}
	case *wire.ListSessionsRequest:
		out.(*wire.ListSessionsResponse).Sessions = []*wire.Session{{Id: "s1"}}
	case *wire.ListContactsRequest:
		page, next := pageOf(s.contacts, q.Cursor)
		for _, u := range page {
			out.(*wire.ListContactsResponse).Contacts = []*wire.Contact{{User: &wire.User{Id: u}, Blocked: u != "cem"}}
		}
		out.(*wire.ListContactsResponse).Next = next
	case *wire.ListScheduledRequest:
		page, next := pageOf(s.scheduled, q.Cursor)
		for _, words := range page {
			out.(*wire.ListScheduledResponse).Scheduled = []*wire.Scheduled{{Message: &wire.SendMessageRequest{Conversation: words}}}
		}
		out.(*wire.ListScheduledResponse).Next = next
	case *wire.ListConversationsRequest:
		out.(*wire.ListConversationsResponse).Delta = s.list(q)
	case *wire.GetGroupRequest:
		if q.Conversation == "grp:theirs" {
			return nil, im.Errorf(im.CodeNotFound, "no such group")
		}
		out.(*wire.GetGroupResponse).Group = &wire.Group{Conversation: q.Conversation}
	case *wire.ListMembersRequest:
		page, next := pageOf(s.members, q.Cursor)
		for _, u := range page {
			out.(*wire.ListMembersResponse).Members = []*wire.Member{{User: u}}
		}
		out.(*wire.ListMembersResponse).Next = next
	case *wire.ListEntriesRequest:
		for seq := range s.damaged {
			if q.Conversation == "grp:tea" && q.From <= seq && seq < q.From+uint64(q.Limit) {
				return nil, fmt.Errorf("block 9: %w", im.ErrJournalDamaged)
			}
		}
		s.page(q, out.(*wire.ListEntriesResponse))
	case *wire.ListThreadRequest:
		all := s.replies[fmt.Sprint(q.Conversation, " ", q.Seq)]
		for i := len(all) - 1; i >= 0; i-- {
			if q.Before == 0 || all[i].Seq < q.Before {
				out.(*wire.ListThreadResponse).Entries = all[i : i+1]
				if i > 0 {
					out.(*wire.ListThreadResponse).Next = all[i].Seq
				}
				break
			}
		}
	}
	return proto.Marshal(out)
}

func (s *server) list(q *wire.ListConversationsRequest) *wire.SyncDelta {
	if q.Position != "" {
		return &wire.SyncDelta{Position: "p2", Timeline: "t"}
	}
	page, next := pageOf(s.conversations, q.Cursor)
	return &wire.SyncDelta{Position: "p1", Timeline: "t", Conversations: page, Next: next}
}

func (s *server) page(q *wire.ListEntriesRequest, out *wire.ListEntriesResponse) {
	all := s.entries[q.Conversation]
	if len(all) == 0 {
		return
	}
	out.Head = all[len(all)-1].Seq
	for _, e := range all {
		if e.Seq >= q.From {
			out.Entries, out.FirstSeq, out.LastSeq = []*wire.Entry{e}, q.From, e.Seq
			return
		}
	}
}

func (s *server) Find(_ context.Context, _ im.UserID, id string, _ media.Place) (im.Upload, error) {
	u, ok := s.uploads[id]
	if !ok {
		return im.Upload{}, im.Errorf(im.CodeNotFound, "no such upload")
	}
	return im.Upload{ID: id, Ready: true, Size: int64(u.size), Blob: "blob", MediaFacts: im.MediaFacts{Name: u.name}}, nil
}

func (s *server) Open(_ context.Context, m im.Upload, _ bool, _ int64) (io.ReadCloser, error) {
	u := s.uploads[m.ID]
	if u.err != nil {
		return nil, im.Wrap(u.err, im.CodeUnavailable, "the server does not have the bytes")
	}
	return io.NopCloser(strings.NewReader(u.bytes)), nil
}

func (s *server) export(w io.Writer) (Stats, error) {
	made := New(Options{Logic: s, Media: s, Damaged: func() []im.ConversationID { return s.lost }, Key: []byte("key"), AtOnce: 1, CallTime: time.Minute})
	return made.Write(context.Background(), Ticket{User: ann, Session: "s1"}, w)
}

// unzip reads what was written, and its manifest. An error: it is not whole.
func unzip(b []byte) (map[string]string, *manifest, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, nil, err
	}
	all := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, nil, err
		}
		if _, twice := all[f.Name]; twice {
			return nil, nil, fmt.Errorf("%s is there twice", f.Name)
		}
		all[f.Name] = string(content)
	}
	var m manifest
	return all, &m, json.Unmarshal([]byte(all["manifest.json"]), &m)
}

// words are the texts of the entries of a part, in their order.
func words(t *testing.T, part string) (out []string) {
	t.Helper()
	for line := range strings.Lines(part) {
		var e wire.Entry
		if err := protojson.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e.GetContent().GetText())
	}
	return out
}

// Everything that is told in pages is there to its last page, each once and in its order, and
// an upload that two messages name once.
func TestPages(t *testing.T) {
	var b bytes.Buffer
	stats, err := newServer().export(&b)
	if err != nil {
		t.Fatal(err)
	}
	all, m, err := unzip(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string][]string{
		"me.jsonl":                               {"feed one", "feed two"},
		"conversations/dm.ann.bob.jsonl":         {"chat one", "chat two", "chat four"}, // what came behind the list is not there
		"conversations/dm.ann.bob.threads.jsonl": {"reply three", "reply two", "reply one"},
		"conversations/grp.tea.jsonl":            {"tea three", "tea seven"},
		"conversations/dm.ann.ann.jsonl":         {"a note"},
	} {
		if got := words(t, all[part]); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", part, got, want)
		}
	}
	for part, lines := range map[string]int{"contacts.jsonl": 3, "blocks.jsonl": 2, "scheduled.jsonl": 3, "conversations.jsonl": 3, "conversations/grp.tea.members.jsonl": 3} {
		if n := strings.Count(all[part], "\n"); n != lines {
			t.Errorf("%s has %d lines, not %d: %s", part, n, lines, all[part])
		}
	}
	if all["media/"+mediaID(0)+"-a.txt"] != "hello" || all["media/"+mediaID(1)+"-b.txt"] != "two" {
		t.Errorf("%q", all)
	}
	if !m.Complete || m.Media != 2 || m.Conversations != 3 || m.Entries != 11 || stats.Entries != 11 || stats.Bytes != int64(b.Len()) {
		t.Errorf("%+v, %+v", m, stats)
	}
}

// Whatever call fails, the export ends with an error, and what was written is no zip; also
// where the reader takes no more, or what came is cut off anywhere.
func TestWholeOrNone(t *testing.T) {
	s := newServer()
	var whole bytes.Buffer
	if _, err := s.export(&whole); err != nil {
		t.Fatal(err)
	}
	for n := range whole.Len() {
		if _, _, err := unzip(whole.Bytes()[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are whole", n, whole.Len())
		}
	}
	for n := 1; n <= s.calls; n++ {
		broken := newServer()
		broken.fails, broken.with = n, errors.New("the store is gone")
		var b bytes.Buffer
		if _, err := broken.export(&b); err == nil {
			t.Errorf("call %d of %d failed, and nobody says so", n, s.calls)
		}
		if _, _, err := unzip(b.Bytes()); err == nil {
			t.Errorf("call %d of %d failed, and the export is whole", n, s.calls)
		}
	}
	for _, room := range []int{0, whole.Len() / 2} {
		if _, err := newServer().export(&narrow{room}); err == nil {
			t.Errorf("a reader took %d of %d bytes, and nobody says so", room, whole.Len())
		}
	}
}

// narrow takes so many bytes.
type narrow struct{ room int }

func (n *narrow) Write(p []byte) (int, error) {
	if len(p) > n.room {
		return 0, io.ErrShortWrite
	}
	n.room -= len(p)
	return len(p), nil
}

// What a message names and the server lacks, or has another number of bytes of, does not keep
// the user from all else: the export says that it is not complete. What is not the user's to
// read any more makes it no less complete.
func TestUploadsThatAreNotThere(t *testing.T) {
	for what, tc := range map[string]struct {
		is       upload
		gone     bool
		why      string
		complete bool
		has      string
	}{
		"not there":      {is: upload{"a.txt", 5, "", fs.ErrNotExist}, why: missing},
		"shorter":        {is: upload{"a.txt", 5, "hel", nil}, why: missing, has: "hel"},
		"longer":         {is: upload{"a.txt", 5, "hello there", nil}, why: missing, has: "hello there"},
		"empty":          {is: upload{"a.txt", 5, "", nil}, why: missing},
		"not theirs now": {gone: true, why: gone, complete: true},
	} {
		s := newServer()
		s.uploads[mediaID(0)] = tc.is
		if tc.gone {
			delete(s.uploads, mediaID(0))
		}
		var b bytes.Buffer
		if _, err := s.export(&b); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		all, m, err := unzip(b.Bytes())
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if m.Complete != tc.complete || len(m.LeftOut) != 1 || m.LeftOut[0] != (leftOut{Media: mediaID(0), Conversation: "grp:tea", Seq: 3, Why: tc.why}) {
			t.Errorf("%s: complete %v, left out %+v", what, m.Complete, m.LeftOut)
		}
		if all["media/"+mediaID(0)+"-a.txt"] != tc.has || all["media/"+mediaID(1)+"-b.txt"] != "two" || !strings.Contains(all["conversations/dm.ann.ann.jsonl"], "a note") {
			t.Errorf("%s: %q", what, all)
		}
		for _, p := range m.Parts {
			if p.Bytes != int64(len(all[p.Name])) {
				t.Errorf("%s: %s has %d bytes, and the manifest %d", what, p.Name, len(all[p.Name]), p.Bytes)
			}
		}
	}
}

// A damaged block of the store breaks what is in it, and no more: all else is there, and the
// export says what is missing.
func TestDamagedEntries(t *testing.T) {
	s := newServer()
	s.damaged = map[uint64]bool{4: true, 900: true}
	for seq := uint64(8); seq <= 1200; seq++ {
		if !s.damaged[seq] {
			s.entries["grp:tea"] = append(s.entries["grp:tea"], said(seq, fmt.Sprint("tea ", seq)))
		}
	}
	s.conversations[1].Seq = 1200
	var b bytes.Buffer
	if _, err := s.export(&b); err != nil {
		t.Fatal(err)
	}
	all, m, err := unzip(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got := words(t, all["conversations/grp.tea.jsonl"])
	if len(got) != len(s.entries["grp:tea"]) || got[0] != "tea three" || got[1] != "tea seven" || got[len(got)-1] != "tea 1200" {
		t.Errorf("%d entries of %d: %q", len(got), len(s.entries["grp:tea"]), got)
	}
	lost := []leftOut{{Conversation: "grp:tea", Seq: 4, Why: missing}, {Conversation: "grp:tea", Seq: 900, Why: missing}}
	if m.Complete || !slices.Equal(m.LeftOut, lost) {
		t.Errorf("complete %v, left out %+v", m.Complete, m.LeftOut)
	}
	if !strings.Contains(all["conversations/dm.ann.ann.jsonl"], "a note") {
		t.Errorf("%q", all["conversations/dm.ann.ann.jsonl"])
	}
}

// A conversation that is in no list because it is damaged is named to who is in it: the export
// is not complete.
func TestDamagedConversations(t *testing.T) {
	s := newServer()
	s.lost = []im.ConversationID{"grp:tea", "grp:theirs", "dm:bob:cem", "dm:ann:cem", "grp:hers", "dm:bob:bob"}
	var b bytes.Buffer
	if _, err := s.export(&b); err != nil {
		t.Fatal(err)
	}
	_, m, err := unzip(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	// What of grp:tea can be read is there, as the list has it.
	if want := []leftOut{{Conversation: "dm:ann:cem", Why: missing}, {Conversation: "grp:hers", Why: missing}}; m.Complete || !slices.Equal(m.LeftOut, want) {
		t.Errorf("complete %v, left out %+v", m.Complete, m.LeftOut)
	}
}
