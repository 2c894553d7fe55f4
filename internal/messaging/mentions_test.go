package messaging

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// mentioning is a message that mentions users, or with "@all" and "@here" more.
func (w *world) mentioning(c im.ConversationID, text string) im.Message {
	m := im.Message{Conversation: c, ID: w.early(), Kind: im.EntryMessage}
	users, group := mentionsIn(text)
	m.Body, m.Hash = entrycodec.Message(c, &wire.Send{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}, Mentions: users, GroupMention: group})
	return m
}

func mentionsIn(text string) (users []string, group wire.GroupMention) {
	for word := range strings.FieldsSeq(text) {
		name, is := strings.CutPrefix(word, "@")
		switch {
		case !is:
		case name == "all":
			group = wire.GroupMention_GROUP_MENTION_ALL
		case name == "here":
			group = wire.GroupMention_GROUP_MENTION_HERE
		default:
			users = append(users, name)
		}
	}
	return users, group
}

func (w *world) mention(u im.UserID, c im.ConversationID, text string) uint64 {
	w.t.Helper()
	ack, err := w.send(u, w.mentioning(c, text))
	if err != nil {
		w.t.Fatal(err)
	}
	return ack.Seq
}

// remention edits a message so that it mentions others.
func (w *world) remention(u im.UserID, c im.ConversationID, target uint64, text string) {
	w.t.Helper()
	m := im.Message{Conversation: c, ID: w.early(), Kind: im.EntryEdit, Target: target}
	users, group := mentionsIn(text)
	m.Body, m.Hash = entrycodec.Edit(c, target, &wire.Edit{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}, Mentions: users, GroupMention: group})
	if _, err := w.send(u, m); err != nil {
		w.t.Fatal(err)
	}
}

// wantMentions checks what is unread and mentions a user, in a cold sync and in one since
// before, and that the list has the same.
func (w *world) wantMentions(u im.UserID, c im.ConversationID, seqs ...uint64) {
	w.t.Helper()
	for _, st := range w.sync(u, im.SyncQuery{}).Conversations {
		if st.Conversation == c && (st.UnreadMentions != uint64(len(seqs)) || !slices.Equal(st.MentionSeqs, seqs)) {
			w.t.Fatalf("%s in %s: %d unread mentions, %v; want %v", u, c, st.UnreadMentions, st.MentionSeqs, seqs)
		}
	}
}

// listed are the mentions of a user, read in pages.
func (w *world) listed(u im.UserID, page int) (out []string) {
	w.t.Helper()
	for cursor := ""; ; {
		got, next, err := w.Mentions(w.t.Context(), im.Actor{User: u}, cursor, page)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range got {
			out = append(out, fmt.Sprint(got[i].Conversation, " ", got[i].Seq))
		}
		if cursor = next; next == "" {
			return out
		}
	}
}

// A message that mentions somebody counts until it is read, recalled, or edited so that
// it does not, and one that is edited so that it does counts from then on. Nobody's own
// do, a user who is named twice or with all counts once, and @here counts for nobody.
func TestMentions(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	g := im.Group("g")
	for _, u := range []im.UserID{"alice", "bob", "carol"} {
		w.members.rows[u] = append(w.members.rows[u], im.Membership{Conversation: g, First: 1})
	}
	w.mention("alice", g, "hello")                       // 1
	w.mention("alice", g, "@bob @bob @alice look")       // 2
	w.mention("alice", g, "@all @bob come")              // 3
	w.mention("alice", g, "@here now")                   // 4
	w.mention("alice", g, "plain, and soon for @nobody") // 5
	w.wantMentions("bob", g, 2, 3)
	w.wantMentions("carol", g, 3)
	w.wantMentions("alice", g)
	w.remention("alice", g, 5, "for @bob now") // 6
	w.remention("alice", g, 2, "not for him")  // 7
	w.wantMentions("bob", g, 3, 5)
	if _, err := w.send("alice", im.Message{Conversation: g, ID: w.early(), Kind: im.EntryRecall, Target: 3}); err != nil { // 8
		t.Fatal(err)
	}
	w.wantMentions("bob", g, 5)
	w.wantMentions("carol", g)
	if err := w.MarkRead(t.Context(), im.Actor{User: "bob"}, g, 5); err != nil {
		t.Fatal(err)
	}
	w.wantMentions("bob", g)
	dm := w.mention("alice", ab, "for @bob alone")
	w.wantMentions("bob", ab, dm)
	w.mention("bob", g, "@carol @alice") // 9
	w.wantMentions("carol", g, 9)
	for _, page := range []int{1, 2, 50} {
		if got := fmt.Sprint(w.listed("bob", page)); got != fmt.Sprintf("[%s %d %s 5]", ab, dm, g) {
			t.Errorf("bob's mentions in pages of %d: %s", page, got)
		}
		if got := fmt.Sprint(w.listed("carol", page)); got != fmt.Sprintf("[%s 9]", g) {
			t.Errorf("carol's mentions in pages of %d: %s", page, got)
		}
	}
	if _, _, err := w.Mentions(t.Context(), im.Actor{User: "bob"}, "x", 5); im.CodeOf(err) != im.CodeInvalidArgument {
		t.Errorf("a cursor that is none: %v", err)
	}
}

// Who may not mention all is refused, with the field, and their message is not stored;
// what names users is.
func TestMayNotMentionAll(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	g := im.Group("g")
	w.members.rows["bob"] = []im.Membership{{Conversation: g, First: 1}}
	w.members.may = func(u im.UserID, action im.GroupAction) error {
		if u == "bob" && action == im.GroupMentionAll {
			return im.Errorf(im.CodePermissionDenied, "not you")
		}
		return nil
	}
	for _, text := range []string{"@all up", "@here up"} {
		_, err := w.send("bob", w.mentioning(g, text))
		if e := im.Public(err); e == nil || e.Code != im.CodePermissionDenied || e.Field != "groupMention" {
			t.Errorf("%s: %v", text, err)
		}
	}
	if seq := w.mention("bob", g, "@alice"); seq != 1 {
		t.Errorf("the first that is stored is %d", seq)
	}
	if seq := w.mention("alice", g, "@all"); seq != 2 {
		t.Errorf("the second is %d", seq)
	}
}

// Mentions count, and are listed, in the times of membership only.
func TestMentionsInWindows(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	g := im.Group("g")
	for n := range 9 {
		w.mention("alice", g, fmt.Sprint("@bob ", n))
	}
	w.members.rows["bob"] = []im.Membership{{Conversation: g, First: 7, Earlier: []im.Window{{First: 2, Until: 4}}}}
	w.wantMentions("bob", g, 2, 3, 4, 7, 8, 9)
	for _, page := range []int{1, 2, 5, 50} {
		if got := fmt.Sprint(w.listed("bob", page)); got != "[grp:g 9 grp:g 8 grp:g 7 grp:g 4 grp:g 3 grp:g 2]" {
			t.Errorf("in pages of %d: %s", page, got)
		}
	}
	below := uint64(8)
	w.setMine("bob", g, im.MyChange{ClearedBelow: &below})
	if got := fmt.Sprint(w.listed("bob", 50)); got != "[grp:g 9 grp:g 8]" {
		t.Errorf("after what lies before was cleared: %s", got)
	}
}
