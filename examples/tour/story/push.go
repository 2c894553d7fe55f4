package story

import "github.com/skein-im/skein/wire"

// pushes: Bob has his browser be woken, and for what; then not any more.
func pushes(t *teller) {
	var key wire.GetPushKeyResponse
	t.call(t.bob, "PushService/GetPushKey", &wire.GetPushKeyRequest{}, &key)
	t.check(len(key.Key) == 87, "the server's key", key.Key)
	// The keys of RFC 8291, section 5.
	browser := &wire.SetPushSubscriptionRequest{
		Endpoint: "https://push.example.net/" + t.tag, P256Dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", Auth: "BTBZMqHH6r4Tts7J_aSIgg",
	}
	t.call(t.bob, "PushService/SetPushSubscription", browser, new(wire.SetPushSubscriptionResponse))
	browser.Endpoint = "https://127.0.0.1/" + t.tag
	t.refused(t.bob, "PushService/SetPushSubscription", browser, wire.CodeInvalidArgument)
	t.call(t.bob, "PushService/DeletePushSubscription", &wire.DeletePushSubscriptionRequest{}, new(wire.DeletePushSubscriptionResponse))

	night := &wire.PushSettings{Groups: wire.PushLevel_PUSH_LEVEL_MENTIONS, QuietFrom: 22 * 60, QuietUntil: 7 * 60, QuietZone: "Asia/Tokyo"}
	t.call(t.bob, "PushService/SetPushSettings", &wire.SetPushSettingsRequest{Settings: night}, new(wire.SetPushSettingsResponse))
	var now wire.GetPushSettingsResponse
	t.call(t.bob, "PushService/GetPushSettings", &wire.GetPushSettingsRequest{}, &now)
	t.check(now.Settings.GetGroups() == night.Groups && now.Settings.GetQuietZone() == night.QuietZone, "Bob's settings", now.Settings)
}
