package wire_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/skein-im/skein/wire"
)

var update = flag.Bool("update", false, "rewrite the golden vectors")

const vectorsDir = "../proto/vectors"

// vector is a file of proto/vectors (see its README).
type vector struct {
	Name      string          `json:"name"`
	Direction string          `json:"direction"`
	About     string          `json:"about"`
	JSON      json.RawMessage `json:"json"`
	Hex       string          `json:"hex"`
}

// frame is the vector's message.
type frameVector struct {
	name, about string
	frame       proto.Message
}

const big = 1<<53 + 1 // not a float64

func id(last byte) []byte {
	return []byte{0x01, 0x96, 0x5b, 0x3c, 0x4d, 0x5e, 0x70, 0x01, 0x80, 0, 0, 0, 0, 0, 0, last}
}

func clientVectors(t *testing.T) []frameVector {
	arguments, err := structpb.NewStruct(map[string]any{
		"name": "读书会 📚", "users": []any{"ann", "bob"}, "open": true, "nothing": nil,
		"nested": map[string]any{"n": 1.5, "deep": []any{[]any{}, map[string]any{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	device := &wire.Device{Id: "dev-1_A", Class: wire.DeviceClass_DEVICE_CLASS_PHONE, Name: "Ann’s phone"}
	send := func(c *wire.Content) *wire.ClientFrame {
		return wire.NewClientFrame(&wire.Send{Conversation: "dm:ann:bob", Id: id(1), Content: c})
	}
	c := wire.NewClientFrame[*wire.Bye]
	return append([]frameVector{
		{"hello", "the first frame, with a resume", wire.NewClientFrame(&wire.Hello{
			VersionMin: 1, VersionMax: 2, Token: "ska_3q2-7w", Device: device, Client: "skein-go/0.1",
			Sync: &wire.Sync{Number: 1, Position: "1a.2b", Timeline: "t-7"},
		})},
		{"hello_empty", "all fields at their defaults", wire.NewClientFrame(&wire.Hello{})},
		{"send", "text", send(&wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}})},
		{"send_unicode", "text outside of the basic plane, CJK, right to left, escapes, U+2028", send(&wire.Content{
			Type: "text", Body: &wire.Content_Text{Text: "你好，世界 👩‍👩‍👧 שלום \"quoted\" \\ / <b>&amp;</b> \n\t\u0001\u007f\u2028é"},
		})},
		{"send_binary", "bytes that are no text, with reply and mentions", wire.NewClientFrame(&wire.Send{
			Conversation: "grp:0aZ_-", Id: id(2), ReplyTo: big, Mentions: []string{"ann", "bob"},
			Content: &wire.Content{Type: "com.example.poll", Body: &wire.Content_Data{Data: []byte{0, 1, 0xfe, 0xff, '>', '?'}}},
		})},
		{"send_instead", "in the place of a refused message", wire.NewClientFrame(&wire.Send{
			Conversation: "dm:ann:bob", Id: id(3), Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}, InsteadOf: id(2),
		})},
		{"send_empty_text", "the text is there, and empty", send(&wire.Content{Type: "text", Body: &wire.Content_Text{}})},
		{"received", "", wire.NewClientFrame(&wire.Received{Conversation: "dm:ann:bob", Seq: 7})},
		{"read", "2^53+1: JSON numbers would lose it", wire.NewClientFrame(&wire.Read{Conversation: "grp:g1", Seq: big})},
		{"sync", "resume", wire.NewClientFrame(&wire.Sync{Number: 4294967295, Position: "p", Timeline: "t"})},
		{"sync_newest", "resume, and what proves the history", wire.NewClientFrame(&wire.Sync{
			Number: 5, Position: "1a.2c", Timeline: "t-7", Limit: 500,
			Newest: &wire.Newest{Conversation: "dm:ann:bob", Seq: 7, Id: id(1), StoredAtMs: 1_760_000_000_123, Pos: 4711},
		})},
		{"sync_newest_cursor", "a further page; the numbers are the greatest there are", wire.NewClientFrame(&wire.Sync{
			Number: 6, Timeline: "t-7", Cursor: "c/+=",
			Newest: &wire.Newest{Conversation: "grp:g1", Seq: 1<<64 - 1, Id: id(2), StoredAtMs: 1<<63 - 1, Pos: 1<<64 - 1},
		})},
		{"sync_cold", "a further page of the list", wire.NewClientFrame(&wire.Sync{Number: 2, Limit: 500, Cursor: "c/+="})},
		{"pull", "backward from the head", wire.NewClientFrame(&wire.Pull{Number: 3, Conversation: "me:ann", Backward: true, Limit: 50})},
		{"pull_forward", "from the highest seq there is", wire.NewClientFrame(&wire.Pull{Number: 4, Conversation: "grp:g1", From: 1<<64 - 1})},
		{"typing", "", wire.NewClientFrame(&wire.Typing{Conversation: "dm:ann:bob"})},
		{"watch_presence", "", wire.NewClientFrame(&wire.WatchPresence{Users: []string{"ann", "bob", "用户"}})},
		{"call", "the request as protobuf", wire.NewClientFrame(&wire.Call{
			Number: 9, Method: "skein.v1.GroupService/CreateGroup", Request: &wire.Call_Body{Body: []byte{0x0a, 0x01, 'x'}},
		})},
		{"call_key", "with an idempotency key", wire.NewClientFrame(&wire.Call{
			Number: 10, Method: "skein.v1.GroupService/LeaveGroup", Request: &wire.Call_Body{}, IdempotencyKey: "5f0c7d7e-9b1a-4c55-8a51-0c6f3d2b9e10",
		})},
		{"call_json", "the request as JSON: a Struct", wire.NewClientFrame(&wire.Call{
			Number: 10, Method: "skein.v1.GroupService/CreateGroup", Request: &wire.Call_Json{Json: arguments},
		})},
		{"ping", "with a digest, which is not 0 by default", wire.NewClientFrame(&wire.Ping{Position: "p", Digest: proto.Uint64(1<<64 - 1)})},
		{"ping_zero_digest", "a digest of 0 is a digest", wire.NewClientFrame(&wire.Ping{Digest: proto.Uint64(0)})},
		{"ping_bare", "no digest", wire.NewClientFrame(&wire.Ping{})},
		{"pong", "", wire.NewClientFrame(&wire.Pong{})},
		{"bye", "", c(&wire.Bye{})},
		{"hello_wishes", "in the background, and seldom heard", wire.NewClientFrame(&wire.Hello{VersionMin: 1, VersionMax: 1, Token: "ska_3q2-7w", Device: device, IdleMs: 240000, Background: true})},
		{"send_extra", "what is the integrator's: keys in order, an empty value, Unicode", wire.NewClientFrame(&wire.Send{
			Conversation: "dm:ann:bob", Id: id(4), Content: &wire.Content{Type: "com.example.card", Body: &wire.Content_Data{Data: []byte("{}")}, Fallback: "a card"},
			Extra: map[string]string{"order.id": "4711", "a": "", "color": "红 \"1\""},
		})},
		{"send_extra_text", "a text with all it may have", wire.NewClientFrame(&wire.Send{
			Conversation: "grp:g1", Id: id(5), Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}, Fallback: "hi"},
			ReplyTo: 3, Mentions: []string{"ann"}, InsteadOf: id(4), Extra: map[string]string{"k": "v"},
		})},
		{"signal_bare", "without data", wire.NewClientFrame(&wire.Signal{Conversation: "dm:ann:bob", Type: "thinking"})},
		{"pulls", "two stretches", wire.NewClientFrame(&wire.Pulls{Pulls: []*wire.Pull{{Number: 1, Conversation: "dm:ann:bob", From: 8, Limit: 50}, {Number: 2, Conversation: "grp:g1", Backward: true}}})},
		{"signal", "", wire.NewClientFrame(&wire.Signal{Conversation: "grp:g1", Type: "com.example.cursor", Data: []byte{1, 0xff}})},
		{"renew", "", wire.NewClientFrame(&wire.Renew{Token: "ska_3q2-7x"})},
		{"background", "", wire.NewClientFrame(&wire.Background{On: true})},
		{"background_off", "all fields at their defaults", wire.NewClientFrame(&wire.Background{})},
	}, append(amendVectors(), sendVectors()...)...)
}

func serverVectors(t *testing.T) []frameVector {
	answer, err := structpb.NewStruct(map[string]any{"group": "grp:g1"})
	if err != nil {
		t.Fatal(err)
	}
	s := func(c *wire.Entry) *wire.ServerFrame {
		return wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{c}})
	}
	message := &wire.Entry{
		Conversation: "dm:ann:bob", Seq: 7, Id: id(1), Sender: "ann", StoredAtMs: 1_760_000_000_123,
		Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi 👋"}}, Count: 6,
	}
	failure := &wire.Error{Code: "rate_limited", CodeNumber: 4001, Message: "too many messages", RetryAfterMs: 1500}
	return slices.Concat(welcomes(), []frameVector{
		{"send_ack", "", wire.NewServerFrame(&wire.SendAck{Id: id(1), Conversation: "dm:ann:bob", Seq: 7, StoredAtMs: 1_760_000_000_123, Count: 6})},
		{"send_ack_pos", "with what the newest entry is named by", wire.NewServerFrame(&wire.SendAck{
			Id: id(1), Conversation: "dm:ann:bob", Seq: 7, StoredAtMs: 1_760_000_000_123, Count: 6, Pos: 4711,
		})},
		{"send_error", "", wire.NewServerFrame(&wire.SendError{Id: id(1), Error: failure})},
		{"send_error_first", "another message has to come first", wire.NewServerFrame(&wire.SendError{
			Id: id(2), Error: &wire.Error{Code: "out_of_order", CodeNumber: 4006, Message: "later"}, First: id(1),
		})},
		{"push", "two conversations", wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{message, {
			Conversation: "grp:g1", Seq: big, Id: id(3), Sender: "bob", StoredAtMs: -1, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
			Content: &wire.Content{Type: "image", Body: &wire.Content_Data{Data: []byte("\x89PNG")}}, ReplyTo: 1<<64 - 1, Mentions: []string{"ann"}, Count: big,
		}}})},
		{"push_recalled", "an entry whose content was erased", s(&wire.Entry{
			Conversation: "dm:ann:bob", Seq: 8, Id: id(4), Sender: "ann", StoredAtMs: 1, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 7, Recalled: true,
		})},
		{"push_recall", "the entry that erases", s(&wire.Entry{
			Conversation: "dm:ann:bob", Seq: 9, Id: id(5), Sender: "ann", StoredAtMs: 2, Kind: wire.EntryKind_ENTRY_KIND_RECALL, Count: 7, Target: 8,
		})},
		{"push_event", "", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 1, Id: id(6), Sender: "ann", StoredAtMs: 3, Kind: wire.EntryKind_ENTRY_KIND_EVENT,
			Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_MEMBER_ADDED, Users: []string{"bob", "eve"}, Role: wire.Role_ROLE_ADMIN, UntilMs: 9, Text: "群"},
		})},
		{"push_event_restored", "the server's own event: it lost the group's latest entries", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 2, Id: id(7), StoredAtMs: 4, Kind: wire.EntryKind_ENTRY_KIND_EVENT,
			Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_GROUP_RESTORED},
		})},
		{"push_event_settings", "what changed of a group", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 4, Id: id(8), Sender: "ann", StoredAtMs: 5, Kind: wire.EntryKind_ENTRY_KIND_EVENT,
			Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_GROUP_CHANGED, Group: &wire.GroupChange{
				Picture: proto.String("https://example.org/p.png"), Description: proto.String("茶"), Announcement: proto.String(""), Extra: map[string]string{"shop": "7"},
				WhoMayAdd: wire.GroupPower_GROUP_POWER_ALL, WhoMayPost: wire.GroupPower_GROUP_POWER_ADMINS, WhoMayMentionAll: wire.GroupPower_GROUP_POWER_ALL,
				Join: wire.JoinMode_JOIN_MODE_APPROVAL, History: wire.GroupHistory_GROUP_HISTORY_ALL, MutedAll: proto.Bool(false), SlowModeS: proto.Uint32(30),
			}},
		})},
		{"push_unknown_event", "an event of a later version", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 3, Kind: wire.EntryKind_ENTRY_KIND_EVENT, Event: &wire.Event{Type: 99},
		})},
		{"push_unknown_kind", "a kind of a later version", s(&wire.Entry{Conversation: "grp:g1", Seq: 2, Kind: 99})},
		{"push_empty", "", wire.NewServerFrame(&wire.Push{})},
		{"push_position", "how far a Sync may begin from now on", wire.NewServerFrame(&wire.Push{Position: "1a.2c"})},
		{"push_pos", "the numbers are the greatest there are", wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{
			Conversation: "grp:g1", Seq: 1<<64 - 1, Id: id(4), Sender: "ann", StoredAtMs: 1_760_000_000_123,
			Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: 3, Count: 2, Pos: 1<<64 - 1,
		}}})},
		{"push_entry_position", "", wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{message}, Position: "1a.2c"})},
		{"receipt", "", wire.NewServerFrame(&wire.Receipt{Conversation: "dm:ann:bob", User: "bob", Received: 7, Read: 6, ReadCount: 5})},
		{"range", "", wire.NewServerFrame(&wire.Range{Number: 3, Conversation: "dm:ann:bob", Entries: []*wire.Entry{message}, Head: 7})},
		{"range_error", "", wire.NewServerFrame(&wire.Range{Number: 3, Conversation: "grp:gone", Error: &wire.Error{Code: "not_found", CodeNumber: 4802}})},
		{"typing", "", wire.NewServerFrame(&wire.Typing{Conversation: "dm:ann:bob", User: "bob"})},
		{"presence", "", wire.NewServerFrame(&wire.Presence{User: "bob", Online: true})},
		{"result", "the answer as protobuf", wire.NewServerFrame(&wire.Result{Number: 9, Response: &wire.Result_Body{Body: []byte{1, 2}}})},
		{"result_empty", "an answer without fields is still the answer", wire.NewServerFrame(&wire.Result{Number: 9, Response: &wire.Result_Body{}})},
		{"result_json", "the answer as JSON", wire.NewServerFrame(&wire.Result{Number: 10, Response: &wire.Result_Json{Json: answer}})},
		{"result_error", "", wire.NewServerFrame(&wire.Result{Number: 11, Response: &wire.Result_Error{Error: &wire.Error{Code: "permission_denied", CodeNumber: 4801, Message: "members only"}}})},
		{"pong", "", wire.NewServerFrame(&wire.Pong{ServerTimeMs: 1_760_000_000_123, Position: "1a.2d"})},
		{"pong_resync", "", wire.NewServerFrame(&wire.Pong{ServerTimeMs: 1, Resync: true})},
		{"ping", "", wire.NewServerFrame(&wire.Ping{})},
		{"heads", "", wire.NewServerFrame(&wire.Heads{Heads: []*wire.Head{{Conversation: "dm:ann:bob", Seq: 7}, {Conversation: "grp:g1", Seq: 1<<64 - 1}}})},
		{"resync", "", wire.NewServerFrame(&wire.Resync{})},
		{"kick", "another phone of the user took the place", wire.NewServerFrame(&wire.Kick{
			Error: &wire.Error{Code: "replaced", CodeNumber: 4600}, AtMs: 1_760_000_000_123,
			By: &wire.Device{Id: "dev-2", Class: wire.DeviceClass_DEVICE_CLASS_PHONE, Name: "手机"},
		})},
		{"go_away", "", wire.NewServerFrame(&wire.GoAway{RetryAfterMs: 20000})},
	}, deltaVectors(message), newerVectors(failure, s), amendedVectors(), mediaVectors(), threadVectors())
}

func newerVectors(failure *wire.Error, s func(*wire.Entry) *wire.ServerFrame) []frameVector {
	return []frameVector{
		{"announcements", "SPEC §3.25: what the deployment announces", wire.NewServerFrame(&wire.Announcements{Revision: 1_760_000_000_000, Announcements: []*wire.Announcement{{
			Id: "019650a1b2c3d4e5f60718293a4b5c6d", Level: wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_WARNING, Text: "The server is away\nfrom ten to eleven", CreatedAtMs: 1_760_000_000_000, UntilMs: 1_760_003_600_000, Dismissible: true,
			Texts: []*wire.AnnouncementText{{Language: "de", Text: "Von zehn bis elf ist der Server weg"}, {Language: "zh-Hans", Text: "服务器十点到十一点停机"}},
		}}})},
		{"announcements_none", "nothing is announced any more", wire.NewServerFrame(&wire.Announcements{Revision: 1_760_000_000_001})},
		{"floor", "SPEC §4.33: what lies up to it is gone for all", wire.NewServerFrame(&wire.Floor{Conversation: "grp:g1", Seq: 1<<53 + 1, Count: 7})},
		{"error", "", wire.NewServerFrame(failure)},
		{"error_later", "a code of a later version: its number tells what to do", wire.NewServerFrame(&wire.Error{Code: "of_tomorrow", CodeNumber: 4750, Frame: "send"})},
		{"send_error_later", "likewise", wire.NewServerFrame(&wire.SendError{Id: id(1), Error: &wire.Error{Code: "of_tomorrow", CodeNumber: 4950}})},
		{"error_read", "what it answers, and what is wrong", wire.NewServerFrame(&wire.Error{
			Code: "invalid_argument", Message: "read.seq is beyond the last entry", Field: "read.seq", Frame: "read", Conversation: "dm:ann:bob",
		})},
		{"send_error_field", "", wire.NewServerFrame(&wire.SendError{Id: id(1), Error: &wire.Error{Code: "invalid_argument", CodeNumber: 4800, Message: "content.type must match [a-z0-9._-]{1,64}", Field: "send.content.type"}})},
		{"push_extra", "as it was sent", s(&wire.Entry{
			Conversation: "dm:ann:bob", Seq: 10, Id: id(4), Sender: "ann", StoredAtMs: 5, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 8,
			Content: &wire.Content{Type: "com.example.card", Body: &wire.Content_Data{Data: []byte("{}")}, Fallback: "a card"}, Extra: map[string]string{"order.id": "4711", "a": ""},
		})},
		{"range_extra", "maps in entries and in touched ones", wire.NewServerFrame(&wire.Range{
			Number: 5, Conversation: "grp:g1", Head: 9, FirstSeq: 8, LastSeq: 9,
			Entries: []*wire.Entry{{Conversation: "grp:g1", Seq: 8, Extra: map[string]string{"b": "2", "a": "1"}}, {Conversation: "grp:g1", Seq: 9, Recalled: true}},
			Touched: []*wire.Entry{{Conversation: "grp:g1", Seq: 2, Amended: 9, Extra: map[string]string{"b": "4", "a": "3"}}},
		})},
		{"sync_delta_extra", "", wire.NewServerFrame(&wire.SyncDelta{Number: 6, Timeline: "t-7", Position: "1a.2c", Conversations: []*wire.ConversationState{{
			Conversation: "grp:g1", Seq: 8, FromSeq: 8, Entries: []*wire.Entry{{Conversation: "grp:g1", Seq: 8, Extra: map[string]string{"b": "2", "a": "1"}}},
		}}})},
		{"push_event_nickname", "what a member is called in the group", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 5, Id: id(9), Sender: "ann", StoredAtMs: 6, Kind: wire.EntryKind_ENTRY_KIND_EVENT,
			Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_MEMBER_NICKNAMED, Users: []string{"bob"}, Text: "茶 ☕"},
		})},
		{"push_event_nickname_ends", "they are called by their own name again", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 6, Id: id(10), Sender: "bob", StoredAtMs: 7, Kind: wire.EntryKind_ENTRY_KIND_EVENT,
			Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_MEMBER_NICKNAMED, Users: []string{"bob"}},
		})},
		{"signal", "", wire.NewServerFrame(&wire.Signal{Conversation: "grp:g1", User: "bob", Type: "com.example.cursor", Data: []byte{1, 0xff}})},
		{"renewed", "", wire.NewServerFrame(&wire.Renewed{TokenExpiresAtMs: 1_760_000_900_123})},
	}
}

func welcomes() []frameVector {
	return []frameVector{
		{"welcome", "", wire.NewServerFrame(&wire.Welcome{
			Version: 1, User: "ann", Session: "s1", Timeline: "t-7", ServerTimeMs: 1_760_000_000_123,
			Heartbeat: &wire.Heartbeat{IdleMs: 30000, SilenceMs: 45000, DeadMs: 60000},
			Limits:    &wire.Limits{FrameBytes: 131072, ContentBytes: 65536, Mentions: 100, PullEntries: 500, InFlight: 256},
		})},
		{"welcome_connection", "its own name, how long the token is good, and every bound", wire.NewServerFrame(&wire.Welcome{
			Version: 1, User: "ann", Session: "s1", Connection: "c-9", TokenExpiresAtMs: 1_760_000_900_123,
			Limits: &wire.Limits{ServerFrameBytes: 2 << 20, ExtraKeys: 16, ExtraBytes: 4096, SignalBytes: 1024, DeviceConnections: 32, Pulls: 50, PullsEntries: 1000},
		})},
		{"welcome_keys", "calls with idempotency keys are kept", wire.NewServerFrame(&wire.Welcome{
			Version: 1, User: "ann", Limits: &wire.Limits{IdempotencyKeys: 1000},
		})},
		{"welcome_rates", "what a device may ask", wire.NewServerFrame(&wire.Welcome{Version: 1, User: "ann", Limits: &wire.Limits{
			InFlight: 256, Sends: &wire.Rate{Burst: 1000, PerSecond: 200}, Signals: &wire.Rate{Burst: 100, PerSecond: 0.5},
		}})},
	}
}

func deltaVectors(message *wire.Entry) []frameVector {
	return []frameVector{
		{"sync_delta", "", wire.NewServerFrame(&wire.SyncDelta{
			Number: 1, Timeline: "t-7", Position: "1a.2c", Conversations: []*wire.ConversationState{{
				Conversation: "dm:ann:bob", Seq: 7, Count: 6, LastAtMs: 1_760_000_000_123, FirstSeq: 1, UntilSeq: 9,
				ReadSeq: 5, Unread: 1, PeerReceived: 4, PeerRead: 3, Entries: []*wire.Entry{message},
			}, {Conversation: "grp:g1", Title: "读书会"}},
		})},
		{"sync_delta_earlier", "who was removed and added again twice: the times before the last one", wire.NewServerFrame(&wire.SyncDelta{
			Number: 2, Timeline: "t-7", Position: "1a.2c", Conversations: []*wire.ConversationState{{
				Conversation: "grp:g1", Seq: 31, Count: 25, LastAtMs: 1_760_000_000_123, FirstSeq: 30, ReadSeq: 7, Unread: 4, Title: "读书会",
				Earlier: []*wire.Window{{FirstSeq: 1, UntilSeq: 4}, {FirstSeq: 6, UntilSeq: 9, Hidden: 16}},
			}, {
				Conversation: "grp:g2", Seq: big + 1, Count: big, FirstSeq: big, UntilSeq: big + 1, Earlier: []*wire.Window{{FirstSeq: 1, UntilSeq: big - 2, Hidden: 1}},
			}},
		})},
		{"sync_delta_mine", "what a line of the list tells: its last entry, what amends behind it, and what the user set", wire.NewServerFrame(&wire.SyncDelta{
			Number: 3, Timeline: "t-7", Position: "1a.2c", Conversations: []*wire.ConversationState{{
				Conversation: "dm:ann:bob", Seq: 9, Count: 7, FirstSeq: 1, FromSeq: 7, Entries: []*wire.Entry{message},
				Last: &wire.Newest{Conversation: "dm:ann:bob", Seq: 9, Id: make([]byte, 16), StoredAtMs: 1_760_000_000_123, Pos: 11},
				Mine: &wire.MyState{Conversation: "dm:ann:bob", Revision: 2, Pinned: true},
			}},
		})},
		{"push_lifetime", "the entry from which on messages disappear", wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{
			Conversation: "grp:g1", Seq: 20, Id: make([]byte, 16), Sender: "ann", StoredAtMs: 10, Kind: wire.EntryKind_ENTRY_KIND_EVENT, Count: 10, Pos: 17,
			Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_LIFETIME_CHANGED, LifetimeS: 86_400},
		}}})},
		{"push_security", "SPEC §3.11: the user's devices hear that logins need a code", wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{
			Conversation: "me:ann", Seq: 4, Id: make([]byte, 16), Sender: "ann", StoredAtMs: 10, Kind: wire.EntryKind_ENTRY_KIND_EVENT, Pos: 17,
			Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_SECURITY_CHANGED, Users: []string{"ann"}, Text: "totp_on"},
		}}})},
		{"result_totp", "SPEC §3.11: a login goes on with a ticket", wire.NewServerFrame(&wire.Result{Number: 11, Response: &wire.Result_Error{
			Error: &wire.Error{Code: "totp_required", CodeNumber: 4815, Message: "a code, please", Ticket: "skt_abc"},
		}})},
		{"sync_delta_lifetimes", "SPEC §4.27: a period in which messages disappear, of which some are gone, and the one that goes on", wire.NewServerFrame(&wire.SyncDelta{
			Number: 3, Timeline: "t-7", Position: "1a.2c", Conversations: []*wire.ConversationState{{
				Conversation: "dm:ann:bob", Seq: 19, Count: 17, FirstSeq: 7, Earlier: []*wire.Window{{FirstSeq: 1, UntilSeq: 4, Hidden: 2}},
				Lifetimes: []*wire.Lifetime{{After: 4, Until: 9, LifetimeS: 60}, {After: 10, LifetimeS: 31_536_000}},
			}},
		})},
		{"my_state", "SPEC §4.8", wire.NewServerFrame(&wire.MyState{
			Conversation: "dm:ann:bob", Revision: 3, Pinned: true, MutedUntilMs: 1_900_000_000_123, Hidden: true, Draft: "dear b", ClearedBelow: 5, Unread: true,
		})},
		{"my_state_folder", "SPEC §4.30: the user's own folder", wire.NewServerFrame(&wire.MyState{Conversation: "grp:g1", Revision: 4, Folder: "Œuvres “à faire”"})},
		{"my_state_until", "SPEC §4.8: how long it is hidden, and marked as unread", wire.NewServerFrame(&wire.MyState{
			Conversation: "dm:ann:bob", Revision: 5, Hidden: true, HiddenCount: 12, Unread: true, UnreadAt: big,
		})},
		{"my_state_push", "SPEC §14.2: for which messages the user is woken", wire.NewServerFrame(&wire.MyState{Conversation: "grp:g1", Revision: 6, PushLevel: wire.PushLevel_PUSH_LEVEL_MENTIONS})},
		{"my_state_deleted", "SPEC §4.28: what the user deleted for themselves", wire.NewServerFrame(&wire.MyState{
			Conversation: "dm:ann:bob", Revision: 4, Deleted: []*wire.SeqRange{{First: 2, Last: 2}, {First: 4, Last: big}},
		})},
		{"range_deleted", "SPEC §4.28: how such a message is told to them", wire.NewServerFrame(&wire.Range{
			Number: 4, Conversation: "dm:ann:bob", Head: 9, FirstSeq: 2, LastSeq: 2,
			Entries: []*wire.Entry{{Conversation: "dm:ann:bob", Seq: 2, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 2, Deleted: true}},
		})},
		{"range_stretch", "SPEC §6.8: nothing but amendments, one entry before them touched, the end named", wire.NewServerFrame(&wire.Range{
			Number: 4, Conversation: "dm:ann:bob", Head: 9, FirstSeq: 8, LastSeq: 9,
			Touched: []*wire.Entry{{Conversation: "dm:ann:bob", Seq: 2, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 2, Recalled: true, Amended: 9}},
			Last:    &wire.Newest{Conversation: "dm:ann:bob", Seq: 9, Id: make([]byte, 16), StoredAtMs: 1_760_000_000_123, Pos: 11},
		})},
		{"sync_delta_reset", "cold, after another timeline", wire.NewServerFrame(&wire.SyncDelta{Number: 1, Timeline: "t-8", Position: "0", Next: "c/+=", Reset_: true})},
		{"sync_delta_error", "the Sync was refused", wire.NewServerFrame(&wire.SyncDelta{Number: 2, Error: &wire.Error{Code: "rate_limited", CodeNumber: 4001, Message: "too many requests", RetryAfterMs: 250}})},
	}
}

func TestVectors(t *testing.T) {
	seen := map[string]bool{}
	for direction, vectors := range map[string][]frameVector{"client": clientVectors(t), "server": serverVectors(t)} {
		for _, v := range vectors {
			t.Run(direction+"/"+v.name, func(t *testing.T) { checkVector(t, direction, v) })
			seen[direction+"_"+v.name+".json"] = true
			arm := v.frame.ProtoReflect().WhichOneof(v.frame.ProtoReflect().Descriptor().Oneofs().Get(0))
			seen[direction+" "+string(arm.Name())] = true
		}
	}
	for direction, frame := range map[string]proto.Message{"client": &wire.ClientFrame{}, "server": &wire.ServerFrame{}} {
		arms := frame.ProtoReflect().Descriptor().Oneofs().Get(0).Fields()
		for i := range arms.Len() {
			if name := string(arms.Get(i).Name()); !seen[direction+" "+name] {
				t.Errorf("no vector for the %s's frame %q", direction, name)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(vectorsDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[filepath.Base(f)] {
			t.Errorf("%s belongs to no frame here", f)
		}
	}
}

func checkVector(t *testing.T, direction string, v frameVector) {
	if _, client := v.frame.(*wire.ClientFrame); client != (direction == "client") {
		t.Fatalf("it stands among what a %s says, and is a %T", direction, v.frame)
	}
	asPB, err := wire.Protobuf().Append(nil, v.frame)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := wire.JSON().Append(nil, v.frame)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(vectorsDir, direction+"_"+v.name+".json")
	if *update {
		writeVector(t, path, vector{Name: v.name, Direction: direction, About: v.about, JSON: asJSON, Hex: hex.EncodeToString(asPB)})
	}
	golden := readVector(t, path)
	if !bytes.Equal(asJSON, golden.JSON) {
		t.Errorf("JSON\n%s, golden\n%s", asJSON, golden.JSON)
	}
	if got := hex.EncodeToString(asPB); got != golden.Hex {
		t.Errorf("protobuf\n%s, golden\n%s", got, golden.Hex)
	}
	raw, err := hex.DecodeString(golden.Hex)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []struct {
		codec wire.Codec
		data  []byte
	}{{wire.Protobuf(), raw}, {wire.JSON(), golden.JSON}} {
		decoded := v.frame.ProtoReflect().New().Interface()
		if err := form.codec.Decode(form.data, decoded); err != nil {
			t.Fatalf("%s: %v", form.codec.Name(), err)
		}
		if !proto.Equal(decoded, v.frame) {
			t.Errorf("%s decodes to\n%v, want\n%v", form.codec.Name(), decoded, v.frame)
		}
		for _, again := range []struct {
			codec wire.Codec
			want  []byte
		}{{wire.Protobuf(), raw}, {wire.JSON(), golden.JSON}} {
			got, err := again.codec.Append([]byte("before"), decoded)
			if err != nil || !bytes.Equal(got, append([]byte("before"), again.want...)) {
				t.Errorf("from %s to %s: %q, %v", form.codec.Name(), again.codec.Name(), got, err)
			}
		}
	}
}

func readVector(t *testing.T, path string) vector {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v vector
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, v.JSON); err != nil {
		t.Fatal(err)
	}
	v.JSON = compact.Bytes()
	return v
}

func writeVector(t *testing.T, path string, v any) {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// compatVector is a file of proto/vectors/compat: what a neighbour version sends.
type compatVector struct {
	Name      string          `json:"name"`
	Direction string          `json:"direction"`
	About     string          `json:"about"`
	JSON      json.RawMessage `json:"json"`
	Hex       string          `json:"hex"`
	// Means is what version 1 understands, as canonical JSON. `{}`: an unknown frame.
	Means json.RawMessage `json:"means"`
}

// TestVectorsOfOtherVersions: an unknown frame, an unknown field, an unknown
// enum value and missing fields are no errors (SPEC §1.4).
func TestVectorsOfOtherVersions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectorsDir, "compat", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 6 {
		t.Fatalf("%d compatibility vectors", len(files))
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var v compatVector
			if err := json.Unmarshal(data, &v); err != nil {
				t.Fatal(err)
			}
			raw, err := hex.DecodeString(strings.ReplaceAll(v.Hex, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			var frame proto.Message = &wire.ClientFrame{}
			if v.Direction == "server" {
				frame = &wire.ServerFrame{}
			}
			for codec, data := range map[wire.Codec][]byte{wire.Protobuf(): raw, wire.JSON(): v.JSON} {
				decoded := frame.ProtoReflect().New().Interface()
				if err := codec.Decode(data, decoded); err != nil {
					t.Fatalf("%s: %v", codec.Name(), err)
				}
				got, err := wire.JSON().Append(nil, decoded)
				if err != nil {
					t.Fatal(err)
				}
				var want bytes.Buffer
				_ = json.Compact(&want, v.Means)
				if !bytes.Equal(got, want.Bytes()) {
					t.Errorf("%s means %s, want %s", codec.Name(), got, want.Bytes())
				}
				if reflect := decoded.ProtoReflect(); want.String() == "{}" && reflect.WhichOneof(reflect.Descriptor().Oneofs().Get(0)) != nil {
					t.Errorf("%s: an unknown frame is %v", codec.Name(), decoded)
				}
			}
		})
	}
}

// keptFiles are the lists of frames that are kept, with their SHA-256: a list is added,
// none is changed.
func keptFiles() map[string]string {
	return map[string]string{
		"first.json": "dc363b1e61cde9980f5f599e7ef0d652f51df9bea466cd73bd95ce8c2f2d6c73",
		"1.0.json":   "9cdfa1aea456c801d67fbd0908ea215fc5ecd0f195e5cfe3256d18a1c3c3581f",
	}
}

// TestVectorsAreKept: what clients and servers of before said means the same for ever,
// and is written as the same bytes (SPEC §1.4). 1.0.json has every frame.
func TestVectorsAreKept(t *testing.T) {
	dir := filepath.Join(vectorsDir, "kept")
	there, err := os.ReadDir(dir)
	if err != nil || len(there) != len(keptFiles()) {
		t.Errorf("%s has %d files, %d are kept, %v", dir, len(there), len(keptFiles()), err)
	}
	for name, sum := range keptFiles() {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != sum {
			t.Errorf("%s was changed: its SHA-256 is %s", name, got)
		}
		var kept []vector
		if err := json.Unmarshal(data, &kept); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		frames := map[string]bool{}
		for _, v := range kept {
			t.Run(v.Direction+"/"+v.Name, func(t *testing.T) { frames[checkKept(t, &v)] = true })
		}
		if name == "1.0.json" && len(frames) != 36 { // 16 + 20 arms
			t.Errorf("%s has %d of the frames: %v", name, len(frames), frames)
		}
	}
}

// checkKept returns the direction and name of the frame.
func checkKept(t *testing.T, v *vector) string {
	raw, err := hex.DecodeString(v.Hex)
	if err != nil {
		t.Fatal(err)
	}
	asPB, _ := frames(v.Direction == "server")
	asJSON, _ := frames(v.Direction == "server")
	if err := wire.Protobuf().Decode(raw, asPB); err != nil {
		t.Fatal(err)
	}
	if err := wire.JSON().Decode(v.JSON, asJSON); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(asPB, asJSON) || len(asPB.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("in protobuf it is\n%v, in JSON\n%v", asPB, asJSON)
	}
	if b, err := wire.Protobuf().Append(nil, asJSON); err != nil || !bytes.Equal(b, raw) {
		t.Errorf("protobuf\n%x, kept\n%x, %v", b, raw, err)
	}
	if b, err := wire.JSON().Append(nil, asPB); err != nil || !bytes.Equal(b, v.JSON) {
		t.Errorf("JSON\n%s, kept\n%s, %v", b, v.JSON, err)
	}
	r := asPB.ProtoReflect()
	return v.Direction + " " + string(r.WhichOneof(r.Descriptor().Oneofs().Get(0)).Name())
}

// TestConstructorsKnowEveryArm: NewClientFrame and NewServerFrame have a case
// for each message the frames can carry.
func TestConstructorsKnowEveryArm(t *testing.T) {
	var names []protoreflect.Name
	for _, v := range append(clientVectors(t), serverVectors(t)...) {
		r := v.frame.ProtoReflect()
		if arm := r.WhichOneof(r.Descriptor().Oneofs().Get(0)); arm == nil {
			t.Errorf("%s has no message in its frame", v.name)
		} else {
			names = append(names, arm.Name())
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != 36 { // 17 + 23 arms, 4 names in both
		t.Errorf("arms: %v", names)
	}
}
