package api

import (
	"math"

	"github.com/skein-im/skein/internal/contract"
)

// streamBounds is of messages that grow.
func streamBounds() map[string]Bounds {
	return map[string]Bounds{
		"StreamMessageRequest.conversation": matching(toPattern).required().format("conversation"),
		"StreamMessageRequest.content":      {Beside: growing},
		"StreamMessageRequest.seq":          someSeq().required().format("seq"),
		"StreamMessageRequest.id":           Bounds{Pattern: namedIDPattern}.format("message-id"),
		"StreamMessageRequest.offset":       number(0, contract.MaxContentBytes),
		"StreamMessageRequest.text":         {MaxLength: contract.MaxContentBytes, MaxBytes: contract.MaxContentBytes},
		"StreamMessageResponse.id":          matching(messageIDPattern).required(),
		"StreamMessageResponse.seq":         seq(),
		"Entry.replaced":                    number(0, math.MaxUint32),
	}
}
