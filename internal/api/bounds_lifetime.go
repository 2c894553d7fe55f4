package api

import (
	"time"

	"github.com/skein-im/skein/internal/im"
)

// lifetimeBounds is of messages that disappear.
func lifetimeBounds() map[string]Bounds {
	lifetime := number(0, uint64(im.MaxLifetime/time.Second))
	return map[string]Bounds{
		"SetLifetimeRequest.conversation": matching(toPattern).required().format("conversation"),
		"SetLifetimeRequest.lifetime_s":   lifetime,
		"ConversationState.lifetimes":     list(im.MaxPeriods),
		"Lifetime.after":                  someSeq(),
		"Lifetime.until":                  seq(),
		"Lifetime.lifetime_s":             lifetime,
		"Event.lifetime_s":                lifetime,
	}
}
