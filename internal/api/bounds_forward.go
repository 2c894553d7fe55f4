package api

import (
	"math"

	"github.com/skein-im/skein/internal/im"
)

// forwardBounds is of what is pinned and forwarded.
func forwardBounds() map[string]Bounds {
	return map[string]Bounds{
		"ForwardMessagesRequest.conversation": matching(toPattern).required().format("conversation"),
		"ForwardMessagesRequest.messages":     list(maxForwarded).least(1).required(),
		"ForwardSource.conversation":          matching(anyPattern).required().format("conversation"),
		"ForwardSource.seq":                   someSeq().required().format("seq"),
		"ForwardSource.id":                    Bounds{Pattern: namedIDPattern}.format("message-id"),
		"ForwardMerge.title":                  title(maxTitleChars).required(),
		"ForwardMerge.id":                     Bounds{Pattern: namedIDPattern}.format("message-id"),
		"ForwardMessagesResponse.forwarded":   list(maxForwarded),
		"Forwarded.id":                        matching(messageIDPattern).required(),
		"Forwarded.seq":                       someSeq().required(),
		"Forwarded.stored_at_ms":              millis().required(),
		"Forward.sender":                      {MaxLength: im.MaxID, Pattern: `^[A-Za-z0-9_-]{0,64}$`},
		"Forward.stored_at_ms":                millis(),
		"Forward.merged":                      number(0, maxForwarded),

		"PinMessageRequest.conversation": matching(toPattern).required().format("conversation"),
		"PinMessageRequest.seq":          someSeq().required().format("seq"),
		"PinMessageRequest.id":           Bounds{Pattern: namedIDPattern}.format("message-id"),
		"PinMessageResponse.id":          matching(messageIDPattern).required(),
		"PinMessageResponse.seq":         seq(),
		"ListPinsRequest.limit":          page(defaultFound, math.MaxUint32),
		"ListPinsRequest.cursor":         opaqueText().format("cursor"),
		"ListPinsResponse.entries":       list(maxFound),
		"ListPinsResponse.next":          opaqueText(),
		"Pinned.user":                    id().required(),
		"Pinned.at_ms":                   millis(),
	}
}
