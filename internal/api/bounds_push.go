package api

import "github.com/skein-im/skein/internal/im"

// Bytes in base64url without padding: as many characters, the last of which has no bits
// beyond them.
const (
	pushPointPattern = `^[A-Za-z0-9_-]{86}[AEIMQUYcgkosw048]$`
	pushAuthPattern  = `^[A-Za-z0-9_-]{21}[AQgw]$`
)

// pushBounds is of the waking of devices.
func pushBounds() map[string]Bounds {
	minute := number(0, im.DayMinutes-1)
	return map[string]Bounds{
		"GetPushKeyResponse.key":              matching(pushPointPattern).required(),
		"SetPushSubscriptionRequest.endpoint": Bounds{Pattern: "^https://[!-~]+$", MaxLength: im.MaxPushEndpoint}.required().format("push-endpoint"),
		"SetPushSubscriptionRequest.p256dh":   matching(pushPointPattern).required().format("push-point"),
		"SetPushSubscriptionRequest.auth":     matching(pushAuthPattern).required(),
		"SetPushSettingsRequest.settings":     {Required: true},
		"GetPushSettingsResponse.settings":    {Required: true},
		"PushSettings.quiet_from":             minute,
		"PushSettings.quiet_until":            minute,
		"PushSettings.quiet_zone":             Bounds{MaxLength: im.MaxZone, MaxBytes: im.MaxZone}.format("time-zone"),
	}
}
