package api

import (
	"time"

	"github.com/skein-im/skein/internal/im"
)

// retentionBounds is of how long messages are kept.
func retentionBounds() map[string]Bounds {
	most := uint64(im.MaxRetention / time.Second)
	return map[string]Bounds{
		"SetRetentionRequest.conversation": matching(toPattern).required().format("conversation"),
		"SetRetentionRequest.retention_s":  number(uint64(im.MinRetention/time.Second), most),
		"GetRetentionRequest.conversation": matching(toPattern).required().format("conversation"),
		"GetRetentionResponse.retention_s": number(0, most),
		"GetRetentionResponse.floor":       seq(),
		"ConversationState.floor":          seq(),
	}
}
