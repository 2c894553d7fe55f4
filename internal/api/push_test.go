package api

import (
	"encoding/base64"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// pushCells are the rows of the matrix about the waking of devices.
var pushCells = []cell{
	{"PushService/GetPushKey", "", users, func(*scene) proto.Message { return &wire.GetPushKeyRequest{} }},
	{"PushService/SetPushSubscription", "", users, func(*scene) proto.Message { return browser("somewhere") }},
	{"PushService/DeletePushSubscription", "", users, func(*scene) proto.Message { return &wire.DeletePushSubscriptionRequest{} }},
	{"PushService/GetPushSettings", "", users, func(*scene) proto.Message { return &wire.GetPushSettingsRequest{} }},
	{"PushService/SetPushSettings", "", users, func(*scene) proto.Message {
		return &wire.SetPushSettingsRequest{Settings: &wire.PushSettings{QuietFrom: 1320, QuietUntil: 420, QuietZone: "Europe/Berlin"}}
	}},
}

// browser is a subscription with the keys of RFC 8291, section 5.
func browser(name string) *wire.SetPushSubscriptionRequest {
	return &wire.SetPushSubscriptionRequest{
		Endpoint: "https://push.example.net/push/" + name,
		P256Dh:   "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", Auth: "BTBZMqHH6r4Tts7J_aSIgg",
	}
}

// A key, one and the same; settings, as they were set last.
func TestPushSettings(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	var a, b wire.GetPushKeyResponse
	w.must(ann.token, "PushService/GetPushKey", &wire.GetPushKeyRequest{}, &a)
	w.must(bob.token, "PushService/GetPushKey", &wire.GetPushKeyRequest{}, &b)
	if raw, err := base64.RawURLEncoding.DecodeString(a.Key); err != nil || len(raw) != 65 || a.Key != b.Key {
		t.Errorf("keys %q and %q", a.Key, b.Key)
	}
	get := func(p person) *wire.PushSettings {
		t.Helper()
		var r wire.GetPushSettingsResponse
		w.must(p.token, "PushService/GetPushSettings", &wire.GetPushSettingsRequest{}, &r)
		return r.Settings
	}
	if got := get(ann); !proto.Equal(got, &wire.PushSettings{}) {
		t.Errorf("at first %v", got)
	}
	want := &wire.PushSettings{Direct: wire.PushLevel_PUSH_LEVEL_ALL, Groups: wire.PushLevel_PUSH_LEVEL_MENTIONS, MuteMentions: true, HideText: true, QuietFrom: 1439, QuietZone: "Asia/Shanghai"}
	w.must(ann.token, "PushService/SetPushSettings", &wire.SetPushSettingsRequest{Settings: want}, nil)
	if got := get(ann); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := get(bob); !proto.Equal(got, &wire.PushSettings{}) {
		t.Errorf("another user has %v", got)
	}
	for field, s := range map[string]*wire.PushSettings{
		"settings.direct": {Direct: 9}, "settings.groups": {Groups: -1}, "settings.quietFrom": {QuietFrom: 1440}, "settings.quietUntil": {QuietUntil: 1 << 31}, "settings.quietZone": {QuietZone: "Local"},
	} {
		w.refused(ann.token, "PushService/SetPushSettings", &wire.SetPushSettingsRequest{Settings: s}, im.CodeInvalidArgument, field)
	}
}

// What nobody could be woken by is refused, and where the server must not connect to.
func TestPushSubscriptionIsChecked(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	change := func(f func(*wire.SetPushSubscriptionRequest)) *wire.SetPushSubscriptionRequest {
		r := browser("x")
		f(r)
		return r
	}
	to := func(endpoint string) *wire.SetPushSubscriptionRequest {
		return change(func(r *wire.SetPushSubscriptionRequest) { r.Endpoint = endpoint })
	}
	for _, c := range []struct {
		in    *wire.SetPushSubscriptionRequest
		code  im.Code
		field string
	}{
		{to(""), im.CodeInvalidArgument, "endpoint"},
		{to("http://push.example.net/x"), im.CodeInvalidArgument, "endpoint"},
		{to("https://user:pass@push.example.net/x"), im.CodeInvalidArgument, "endpoint"},
		{to("https:push.example.net"), im.CodeInvalidArgument, "endpoint"},
		{to("https://push.example.net/x#y"), im.CodeInvalidArgument, "endpoint"},
		{to("https://127.0.0.1/x"), im.CodeInvalidArgument, "endpoint"},
		{to("https://[::ffff:10.0.0.1]/x"), im.CodeInvalidArgument, "endpoint"},
		{to("https://169.254.169.254/latest"), im.CodeInvalidArgument, "endpoint"},
		{to("https://8.8.8.8:8443/x"), im.CodeInvalidArgument, "endpoint"},
		{to("https://push.example.net/" + strings.Repeat("x", 2000)), im.CodeTooLarge, "endpoint"},
		{change(func(r *wire.SetPushSubscriptionRequest) { r.P256Dh = r.P256Dh[:86] + "8" }), im.CodeInvalidArgument, "p256dh"},
		{change(func(r *wire.SetPushSubscriptionRequest) { r.P256Dh += "=" }), im.CodeInvalidArgument, "p256dh"},
		{change(func(r *wire.SetPushSubscriptionRequest) { r.Auth = r.Auth[:20] }), im.CodeInvalidArgument, "auth"},
	} {
		w.refused(ann.token, "PushService/SetPushSubscription", c.in, c.code, c.field)
	}
	w.must(ann.token, "PushService/SetPushSubscription", browser("x"), nil)
	w.must(ann.token, "PushService/SetPushSubscription", browser("x"), nil)
	w.must(ann.token, "PushService/DeletePushSubscription", &wire.DeletePushSubscriptionRequest{}, nil)
	w.must(ann.token, "PushService/DeletePushSubscription", &wire.DeletePushSubscriptionRequest{}, nil)
}

// The level of a conversation is the user's own state of it.
func TestPushLevelOfAConversation(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asFriend)
	set := func(level wire.PushLevel) *wire.SetMyStateResponse {
		t.Helper()
		got := &wire.SetMyStateResponse{}
		w.must(s.me.token, "MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: s.chat, PushLevel: level.Enum()}, got)
		return got
	}
	if got := set(wire.PushLevel_PUSH_LEVEL_MENTIONS); got.State.GetPushLevel() != wire.PushLevel_PUSH_LEVEL_MENTIONS {
		t.Errorf("set to mentions: %v", got.State)
	}
	if got := set(wire.PushLevel_PUSH_LEVEL_UNSPECIFIED); got.State.GetPushLevel() != 0 || got.State.GetRevision() != 2 {
		t.Errorf("taken back: %v", got.State)
	}
	w.refused(s.me.token, "MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: s.chat, PushLevel: wire.PushLevel(7).Enum()}, im.CodeInvalidArgument, "pushLevel")
}
