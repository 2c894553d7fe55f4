package api

import (
	"context"
	"encoding/base64"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/push"
	"github.com/skein-im/skein/wire"
)

var errNoPush = im.Errorf(im.CodeUnimplemented, "this server wakes no devices")

func (c *Calls) pushRows() []row {
	return []row{
		newRow("PushService/GetPushKey", User, ClassRead, small, c.getPushKey),
		newRow("PushService/SetPushSubscription", User, ClassWrite, draft, c.setPushSubscription),
		newRow("PushService/DeletePushSubscription", User, ClassWrite, small, c.deletePushSubscription),
		newRow("PushService/GetPushSettings", User, ClassRead, small, c.getPushSettings),
		newRow("PushService/SetPushSettings", User, ClassWrite, small, c.setPushSettings),
	}
}

func (c *Calls) getPushKey(ctx context.Context, _ im.Actor, _ *wire.GetPushKeyRequest) (*wire.GetPushKeyResponse, error) {
	if c.Push == nil {
		return nil, errNoPush
	}
	key, err := c.Push.Key(ctx)
	if err != nil {
		return nil, err
	}
	return &wire.GetPushKeyResponse{Key: base64.RawURLEncoding.EncodeToString(key)}, nil
}

func (c *Calls) setPushSubscription(ctx context.Context, actor im.Actor, r *wire.SetPushSubscriptionRequest) (*wire.SetPushSubscriptionResponse, error) {
	point, err := unbased("p256dh", r.GetP256Dh(), im.PushPointBytes)
	auth, errAuth := unbased("auth", r.GetAuth(), im.PushAuthBytes)
	if err := first(err, errAuth); err != nil {
		return nil, err
	}
	if c.Push == nil {
		return nil, errNoPush
	}
	if err := c.Push.Subscribe(ctx, actor, im.PushSubscription{Endpoint: r.GetEndpoint(), Point: point, Auth: auth}); err != nil {
		return nil, err
	}
	return &wire.SetPushSubscriptionResponse{}, nil
}

// unbased reads bytes of which there must be so many.
func unbased(field, text string, n int) ([]byte, error) {
	b, err := push.Bytes(text)
	if err != nil || len(b) != n {
		return nil, im.Wrong(field, "must be %d bytes in base64url without padding", n)
	}
	return b, nil
}

func (c *Calls) deletePushSubscription(ctx context.Context, actor im.Actor, _ *wire.DeletePushSubscriptionRequest) (*wire.DeletePushSubscriptionResponse, error) {
	if c.Push == nil {
		return nil, errNoPush
	}
	if err := c.Push.Unsubscribe(ctx, actor); err != nil {
		return nil, err
	}
	return &wire.DeletePushSubscriptionResponse{}, nil
}

func (c *Calls) getPushSettings(ctx context.Context, actor im.Actor, _ *wire.GetPushSettingsRequest) (*wire.GetPushSettingsResponse, error) {
	if c.Push == nil {
		return nil, errNoPush
	}
	s, err := c.Push.Settings(ctx, actor)
	if err != nil {
		return nil, err
	}
	return &wire.GetPushSettingsResponse{Settings: &wire.PushSettings{
		Direct: wire.PushLevel(s.Direct), Groups: wire.PushLevel(s.Groups), MuteMentions: s.MuteMentions, HideText: s.HideText,
		QuietFrom: uint32(s.QuietFrom), QuietUntil: uint32(s.QuietUntil), QuietZone: s.QuietZone,
	}}, nil
}

func (c *Calls) setPushSettings(ctx context.Context, actor im.Actor, r *wire.SetPushSettingsRequest) (*wire.SetPushSettingsResponse, error) {
	s := r.GetSettings()
	if s == nil {
		return nil, im.Wrong("settings", "is missing")
	}
	direct, err := contract.PushLevel("settings.direct", s.GetDirect())
	groups, errGroups := contract.PushLevel("settings.groups", s.GetGroups())
	if err := first(err, errGroups); err != nil {
		return nil, err
	}
	if c.Push == nil {
		return nil, errNoPush
	}
	if err := c.Push.SetSettings(ctx, actor, im.PushSettings{
		Direct: direct, Groups: groups, MuteMentions: s.GetMuteMentions(), HideText: s.GetHideText(),
		QuietFrom: int(min(s.GetQuietFrom(), im.DayMinutes)), QuietUntil: int(min(s.GetQuietUntil(), im.DayMinutes)), QuietZone: s.GetQuietZone(),
	}); err != nil {
		return nil, err
	}
	return &wire.SetPushSettingsResponse{}, nil
}
