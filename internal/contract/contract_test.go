package contract

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

var stored = time.UnixMilli(1_800_000_000_123)

func testID(b byte) im.MessageID { return im.NewMessageID(stored, [10]byte{b}) }

func TestEntry(t *testing.T) {
	for name, tc := range map[string]struct {
		in   im.Entry
		want string
	}{
		"text": {
			im.Entry{Conversation: "dm:a:b", Seq: 1<<53 + 1, ID: testID(1), Sender: "a", Stored: stored, Kind: im.EntryMessage, Count: 3,
				Body: entrycodec.Encode(&wire.Entry{ReplyTo: 2, Mentions: []string{"b"}, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "grüß"}}}), Pos: 9, Roster: 9},
			`{"conversation":"dm:a:b","seq":"9007199254740993","id":"AaMYXFB7cQCAAAAAAAAAAA==","sender":"a","storedAtMs":"1800000000123",` +
				`"kind":"ENTRY_KIND_MESSAGE","content":{"type":"text","text":"grüß"},"replyTo":"2","mentions":["b"],"count":"3","pos":"9"}`,
		},
		"data": {
			im.Entry{Conversation: "grp:g", Seq: 1, Stored: stored, Kind: im.EntryMessage, Body: entrycodec.Encode(&wire.Entry{Content: &wire.Content{Type: "image", Body: &wire.Content_Data{Data: []byte{0xff}}}})},
			`{"conversation":"grp:g","seq":"1","id":"AAAAAAAAAAAAAAAAAAAAAA==","storedAtMs":"1800000000123","kind":"ENTRY_KIND_MESSAGE","content":{"type":"image","data":"/w=="}}`,
		},
		"recalled: nothing of the content is left": {
			im.Entry{Conversation: "grp:g", Seq: 1, Stored: stored, Kind: im.EntryMessage, Recalled: true},
			`{"conversation":"grp:g","seq":"1","id":"AAAAAAAAAAAAAAAAAAAAAA==","storedAtMs":"1800000000123","kind":"ENTRY_KIND_MESSAGE","recalled":true}`,
		},
		"recall": {
			im.Entry{Conversation: "grp:g", Seq: 2, Stored: stored, Kind: im.EntryRecall, Target: 1},
			`{"conversation":"grp:g","seq":"2","id":"AAAAAAAAAAAAAAAAAAAAAA==","storedAtMs":"1800000000123","kind":"ENTRY_KIND_RECALL","target":"1"}`,
		},
		"event": {
			im.Entry{Conversation: "grp:g", Seq: 3, Stored: stored, Kind: im.EntryEvent, Body: entrycodec.Event(&im.Event{Type: im.EventMemberMuted, Users: []im.UserID{"b"}, Role: im.RoleAdmin, Until: stored, Text: "x"})},
			`{"conversation":"grp:g","seq":"3","id":"AAAAAAAAAAAAAAAAAAAAAA==","storedAtMs":"1800000000123","kind":"ENTRY_KIND_EVENT",` +
				`"event":{"type":"EVENT_TYPE_MEMBER_MUTED","users":["b"],"role":"ROLE_ADMIN","untilMs":"1800000000123","text":"x"}}`,
		},
		"what cannot be read is told so": {
			im.Entry{Conversation: "grp:g", Seq: 3, Stored: stored, Kind: im.EntryMessage, Body: []byte{1, 2, 3}},
			`{"conversation":"grp:g","seq":"3","id":"AAAAAAAAAAAAAAAAAAAAAA==","storedAtMs":"1800000000123","kind":"ENTRY_KIND_MESSAGE","content":{"type":"unreadable"}}`,
		},
	} {
		var want wire.Entry
		if err := protojson.Unmarshal([]byte(tc.want), &want); err != nil {
			t.Fatal(err)
		}
		if got := Entry(&tc.in); !proto.Equal(got, &want) {
			t.Errorf("%s: %v, want %v", name, got, &want)
		}
	}
}

// The numbers of the domain's enums are the contract's.
func TestEnums(t *testing.T) {
	for _, tc := range []struct {
		got  int
		want string
		of   map[string]int32
	}{
		{int(im.EntryMessage), "ENTRY_KIND_MESSAGE", wire.EntryKind_value},
		{int(im.EntryRecall), "ENTRY_KIND_RECALL", wire.EntryKind_value},
		{int(im.EntryEvent), "ENTRY_KIND_EVENT", wire.EntryKind_value},
		{int(im.RoleMember), "ROLE_MEMBER", wire.Role_value},
		{int(im.RoleAdmin), "ROLE_ADMIN", wire.Role_value},
		{int(im.RoleOwner), "ROLE_OWNER", wire.Role_value},
		{int(im.DevicePhone), "DEVICE_CLASS_PHONE", wire.DeviceClass_value},
		{int(im.DeviceTablet), "DEVICE_CLASS_TABLET", wire.DeviceClass_value},
		{int(im.DeviceDesktop), "DEVICE_CLASS_DESKTOP", wire.DeviceClass_value},
		{int(im.DeviceWeb), "DEVICE_CLASS_WEB", wire.DeviceClass_value},
		{int(im.DeviceOther), "DEVICE_CLASS_OTHER", wire.DeviceClass_value},
		{int(im.EventGroupCreated), "EVENT_TYPE_GROUP_CREATED", wire.EventType_value},
		{int(im.EventGroupRenamed), "EVENT_TYPE_GROUP_RENAMED", wire.EventType_value},
		{int(im.EventMemberAdded), "EVENT_TYPE_MEMBER_ADDED", wire.EventType_value},
		{int(im.EventMemberLeft), "EVENT_TYPE_MEMBER_LEFT", wire.EventType_value},
		{int(im.EventMemberRemoved), "EVENT_TYPE_MEMBER_REMOVED", wire.EventType_value},
		{int(im.EventRoleChanged), "EVENT_TYPE_ROLE_CHANGED", wire.EventType_value},
		{int(im.EventMemberMuted), "EVENT_TYPE_MEMBER_MUTED", wire.EventType_value},
		{int(im.EventOwnerChanged), "EVENT_TYPE_OWNER_CHANGED", wire.EventType_value},
		{int(im.EventGroupDismissed), "EVENT_TYPE_GROUP_DISMISSED", wire.EventType_value},
		{int(im.EventGroupRestored), "EVENT_TYPE_GROUP_RESTORED", wire.EventType_value},
		{int(im.EventLifetimeChanged), "EVENT_TYPE_LIFETIME_CHANGED", wire.EventType_value},
		{int(im.EventSecurityChanged), "EVENT_TYPE_SECURITY_CHANGED", wire.EventType_value},
		{int(im.EventContactRequested), "EVENT_TYPE_CONTACT_REQUESTED", wire.EventType_value},
		{int(im.EventContactAccepted), "EVENT_TYPE_CONTACT_ACCEPTED", wire.EventType_value},
		{int(im.EventContactRefused), "EVENT_TYPE_CONTACT_REFUSED", wire.EventType_value},
		{int(im.EventContactRemoved), "EVENT_TYPE_CONTACT_REMOVED", wire.EventType_value},
		{int(im.ContactFriend), "CONTACT_STATE_CONTACT", wire.ContactState_value},
		{int(im.ContactAsked), "CONTACT_STATE_ASKED", wire.ContactState_value},
		{int(im.ContactAsksMe), "CONTACT_STATE_ASKS_ME", wire.ContactState_value},
		{int(im.ContactNone), "CONTACT_STATE_NONE", wire.ContactState_value},
		{int(im.DMContacts), "DM_POLICY_CONTACTS", wire.DmPolicy_value},
		{int(im.DMEveryone), "DM_POLICY_EVERYONE", wire.DmPolicy_value},
	} {
		if want, ok := tc.of[tc.want]; !ok || int(want) != tc.got {
			t.Errorf("%s is %d in the contract, %d in the domain", tc.want, want, tc.got)
		}
	}
}

// What a sender writes is what receivers get, whatever it is.
func TestMessageRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := testID(rapid.Byte().Draw(t, "id"))
		send := &wire.Send{
			Conversation: "grp:g", Id: id[:], ReplyTo: rapid.Uint64().Draw(t, "reply"),
			Mentions: rapid.SliceOfN(rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`), 0, MaxMentions).Draw(t, "mentions"),
			Content:  &wire.Content{Type: rapid.StringMatching(`[a-z0-9._-]{1,64}`).Draw(t, "type"), Fallback: rapid.StringN(0, 50, MaxFallbackBytes).Draw(t, "fallback")},
			Extra:    rapid.MapOfN(rapid.StringMatching(`[a-z0-9._-]{1,64}`), rapid.StringN(0, 20, 100), 0, MaxExtraKeys).Draw(t, "extra"),
		}
		if rapid.Bool().Draw(t, "text") {
			send.Content.Body = &wire.Content_Text{Text: rapid.StringN(1, 100, -1).Draw(t, "body")}
		} else {
			send.Content.Body = &wire.Content_Data{Data: rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "body")}
		}
		m, err := Message(send)
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind != im.EntryMessage || m.Target != 0 {
			t.Fatalf("a member made %+v", m)
		}
		e := Entry(&im.Entry{Conversation: m.Conversation, ID: m.ID, Kind: m.Kind, Body: m.Body})
		got := &wire.Send{Conversation: e.GetConversation(), Id: e.GetId(), Content: e.GetContent(), ReplyTo: e.GetReplyTo(), Mentions: e.GetMentions(), Extra: e.GetExtra()}
		if !proto.Equal(got, send) {
			t.Fatalf("%v became %v", send, got)
		}
	})
}

func TestMessageRefusals(t *testing.T) {
	id := testID(1)
	good := func() *wire.Send {
		return &wire.Send{Conversation: "dm:a:b", Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}}
	}
	if _, err := Message(good()); err != nil {
		t.Fatal(err)
	}
	body := func(c *wire.Content) func(*wire.Send) { return func(s *wire.Send) { s.Content = c } }
	textOf := func(s string) *wire.Content {
		return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}}
	}
	extra := func(key, value string) func(*wire.Send) {
		return func(s *wire.Send) { s.Extra = map[string]string{key: value} }
	}
	for name, tc := range map[string]struct {
		change func(*wire.Send)
		code   im.Code
		says   string
	}{
		"dm the wrong way":     {func(s *wire.Send) { s.Conversation = "dm:b:a" }, im.CodeInvalidArgument, "conversation"},
		"wildcard":             {func(s *wire.Send) { s.Conversation = "grp:>" }, im.CodeInvalidArgument, "conversation"},
		"no conversation":      {func(s *wire.Send) { s.Conversation = "" }, im.CodeInvalidArgument, "conversation"},
		"no id":                {func(s *wire.Send) { s.Id = nil }, im.CodeInvalidArgument, "id"},
		"short id":             {func(s *wire.Send) { s.Id = id[:15] }, im.CodeInvalidArgument, "id"},
		"id of version 4":      {func(s *wire.Send) { s.Id = append([]byte{}, id[:]...); s.Id[6] = 0x40 }, im.CodeInvalidArgument, "id"},
		"no content":           {body(nil), im.CodeInvalidArgument, "content"},
		"content without body": {body(&wire.Content{Type: "text"}), im.CodeInvalidArgument, "content"},
		"empty text":           {body(textOf("")), im.CodeInvalidArgument, "content"},
		"empty data":           {body(&wire.Content{Type: "x", Body: &wire.Content_Data{}}), im.CodeInvalidArgument, "content"},
		"invalid UTF-8":        {body(textOf("\xff")), im.CodeInvalidArgument, "content.text"},
		"long text":            {body(textOf(strings.Repeat("x", MaxContentBytes+1))), im.CodeTooLarge, "65536"},
		"long data":            {body(&wire.Content{Type: "x", Body: &wire.Content_Data{Data: make([]byte, MaxContentBytes+1)}}), im.CodeTooLarge, "65536"},
		"no type":              {func(s *wire.Send) { s.Content.Type = "" }, im.CodeInvalidArgument, "content.type"},
		"capital type":         {func(s *wire.Send) { s.Content.Type = "Text" }, im.CodeInvalidArgument, "content.type"},
		"long type":            {func(s *wire.Send) { s.Content.Type = strings.Repeat("x", 65) }, im.CodeInvalidArgument, "content.type"},
		"many mentions":        {func(s *wire.Send) { s.Mentions = make([]string, 101) }, im.CodeTooLarge, "100"},
		"long fallback":        {func(s *wire.Send) { s.Content.Fallback = strings.Repeat("x", 1001) }, im.CodeTooLarge, "1000"},
		"fallback no UTF-8":    {func(s *wire.Send) { s.Content.Fallback = "\xff" }, im.CodeInvalidArgument, "content.fallback"},
		"many keys":            {func(s *wire.Send) { s.Extra = keys(17) }, im.CodeTooLarge, "17 keys; at most 16"},
		"empty key":            {extra("", "x"), im.CodeInvalidArgument, "extra must have keys"},
		"capital key":          {extra("Key", "x"), im.CodeInvalidArgument, "extra must have keys"},
		"long key":             {extra(strings.Repeat("k", 65), "x"), im.CodeInvalidArgument, "extra must have keys"},
		"key no UTF-8":         {extra("\xff", "x"), im.CodeInvalidArgument, "extra must have keys"},
		"value no UTF-8":       {extra("k", "\xff"), im.CodeInvalidArgument, "extra must have values"},
		"long extra":           {extra("k", strings.Repeat("x", 4096)), im.CodeTooLarge, "4097 bytes of keys and values; at most 4096"},
		"bad mention":          {func(s *wire.Send) { s.Mentions = []string{"ok", "not ok"} }, im.CodeInvalidArgument, "mentions[1]"},
	} {
		s := good()
		tc.change(s)
		if _, err := Message(s); im.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := good()
	s.Content = textOf(strings.Repeat("x", MaxContentBytes))
	if _, err := Message(s); err != nil {
		t.Errorf("content at the limit: %v", err)
	}
	s.Content.Fallback = strings.Repeat("x", MaxFallbackBytes)
	for _, s.Extra = range []map[string]string{nil, {}, {"k": strings.Repeat("x", 4095)}, {strings.Repeat("k", 64): ""}, keys(16)} {
		if _, err := Message(s); err != nil {
			t.Errorf("fallback and extra at the limit: %v", err)
		}
	}
}

// keys is an extra with n keys of 64 bytes.
func keys(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprintf("%064d", i)] = ""
	}
	return m
}

// A box that is used again has nothing of the entry before, whatever that was.
func TestEntryBoxIsUsedAgain(t *testing.T) {
	id := testID(1)
	body := func(change func(*wire.Send)) []byte {
		s := &wire.Send{Conversation: "grp:g", Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}}
		change(s)
		m, err := Message(s)
		if err != nil {
			t.Fatal(err)
		}
		return m.Body
	}
	bodies := [][]byte{
		body(func(*wire.Send) {}),
		body(func(s *wire.Send) { s.Extra = map[string]string{"a": "b"} }),
		body(func(s *wire.Send) { s.Extra = map[string]string{"c": "d"} }),
		body(func(s *wire.Send) { s.Content.Fallback = "instead" }),
		append(body(func(*wire.Send) {}), 0x9a, 0x06, 2, 'h', 'i'), // a field of a later version
		{1}, nil,
		entrycodec.Event(&im.Event{Text: "x"}),
	}
	var box EntryBox
	for _, first := range bodies {
		for _, then := range bodies {
			for _, b := range [][]byte{first, then} {
				e := &im.Entry{Conversation: "grp:g", ID: id, Body: b}
				if got, want := box.Fill(e), Entry(e); !proto.Equal(got, want) {
					t.Fatalf("%x after %x: %v, want %v", then, first, got, want)
				}
				box.Clear()
			}
		}
	}
}

func TestSignal(t *testing.T) {
	got, err := Signal(&wire.Signal{Conversation: "grp:g", User: "somebody else", Type: "cursor", Data: make([]byte, 1024)})
	if err != nil || got.Conversation != "grp:g" || got.User != "" || got.Type != "cursor" || len(got.Data) != 1024 {
		t.Errorf("%+v, %v", got, err)
	}
	for says, s := range map[string]*wire.Signal{
		"conversation":             {Type: "t"},
		"type":                     {Conversation: "grp:g"},
		"[a-z0-9._-]{1,64}":        {Conversation: "grp:g", Type: "T"},
		"1025 bytes; at most 1024": {Conversation: "grp:g", Type: "t", Data: make([]byte, 1025)},
	} {
		if _, err := Signal(s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", s, err, says)
		}
	}
}

func TestDevice(t *testing.T) {
	d := im.Device{ID: "d_1", Class: im.DeviceTablet, Name: "Tablet"}
	if got, err := ParseDevice(Device(d)); err != nil || got != d {
		t.Errorf("%+v became %+v, %v", d, got, err)
	}
	if got, err := ParseDevice(nil); err != nil || got != (im.Device{}) || Device(got) != nil {
		t.Errorf("no device: %+v, %v", got, err)
	}
	for _, class := range []wire.DeviceClass{99, -1} {
		if got, err := ParseDevice(&wire.Device{Id: "d", Class: class}); err != nil || got.Class != im.DeviceOther {
			t.Errorf("class %d of a newer client: %+v, %v", class, got, err)
		}
	}
	for _, bad := range []*wire.Device{{}, {Id: "a b"}, {Id: strings.Repeat("x", 65)}, {Id: "d", Name: strings.Repeat("ü", 101)}, {Id: "d", Name: "a\x00b"}, {Id: "d", Name: "\xff"}} {
		if got, err := ParseDevice(bad); err == nil {
			t.Errorf("%v accepted as %+v", bad, got)
		}
	}
}

func TestSync(t *testing.T) {
	r := &im.SyncResult{
		Timeline: "t", Position: "p", Next: "n", Reset: true,
		Conversations: []im.ConversationState{{
			Conversation: "grp:g", Head: im.Head{Seq: 9, Count: 8, Time: stored}, First: 2, Until: 7, Read: 3, Unread: 5, PeerReceived: 6, PeerRead: 4, Title: "G", Recalled: 2, RecalledSeqs: []uint64{5, 6},
			Told: im.Stretch{First: 8, Last: 9, Entries: []im.Entry{{Seq: 8}}, Touched: []im.Entry{{Seq: 2, Amended: 9}}, End: im.Newest{Conversation: "grp:g", Seq: 9, StoredMs: 7, Pos: 5}},
		}},
	}
	got := SyncResult(r)
	want := &wire.SyncDelta{
		Timeline: "t", Position: "p", Next: "n", Reset_: true,
		Conversations: []*wire.ConversationState{{
			Conversation: "grp:g", Seq: 9, Count: 8, LastAtMs: stored.UnixMilli(), FirstSeq: 2, UntilSeq: 7, ReadSeq: 3, Unread: 5, PeerReceived: 6, PeerRead: 4, Title: "G", Recalled: 2, RecalledSeqs: []uint64{5, 6},
			FromSeq: 8, Entries: []*wire.Entry{{Seq: 8, Id: make([]byte, 16)}}, Touched: []*wire.Entry{{Seq: 2, Amended: 9, Id: make([]byte, 16)}},
			Last: &wire.Newest{Conversation: "grp:g", Seq: 9, Id: make([]byte, 16), StoredAtMs: 7, Pos: 5},
		}},
	}
	if !proto.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	q, err := SyncQuery(&wire.Sync{Position: "p", Timeline: "t", Limit: 1<<32 - 1, Cursor: "c"})
	if err != nil || !reflect.DeepEqual(q, im.SyncQuery{Position: "p", Timeline: "t", Limit: 1 << 30, Cursor: "c"}) {
		t.Errorf("%+v, %v", q, err)
	}
	for _, bad := range []*wire.Sync{{Position: strings.Repeat("x", 513)}, {Timeline: strings.Repeat("x", 513)}, {Cursor: strings.Repeat("x", 513)}} {
		if _, err := SyncQuery(bad); im.CodeOf(err) != im.CodeInvalidArgument {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := PullQuery(&wire.Pull{Conversation: "x"}); im.CodeOf(err) != im.CodeInvalidArgument {
		t.Errorf("pull of nothing: %v", err)
	}
}

func TestErrorAndRetry(t *testing.T) {
	e := im.Wrap(im.Errorf(im.CodeInternal, "hidden"), im.CodeOverloaded, "busy")
	e.RetryAfter = time.Millisecond + 1
	if got := Error(e); got.GetCode() != "overloaded" || got.GetMessage() != "busy" || got.GetRetryAfterMs() != 2 || got.GetCodeNumber() != 4000 {
		t.Errorf("%v", got)
	}
	for d, want := range map[time.Duration]uint32{-1: 0, 0: 0, 1: 1, time.Second: 1000, 1 << 62: 1 << 31} {
		if got := RetryMillis(d); got != want {
			t.Errorf("RetryMillis(%d) = %d, want %d", d, got, want)
		}
	}
	if Millis(time.Time{}) != 0 || Millis(stored) != 1_800_000_000_123 {
		t.Error("Millis")
	}
}
