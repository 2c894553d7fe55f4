package api

import (
	"math"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// amendBounds is of what is done to messages after they were sent.
func amendBounds() map[string]Bounds {
	return map[string]Bounds{
		"ReactToMessageRequest.conversation": matching(toPattern).required().format("conversation"),
		"ReactToMessageRequest.seq":          someSeq().required().format("seq"),
		"ReactToMessageRequest.id":           Bounds{Pattern: namedIDPattern}.format("message-id"),
		"ReactToMessageRequest.reaction":     reaction(1).required(),
		"ReactToMessageResponse.id":          matching(messageIDPattern).required(),
		"ReactToMessageResponse.seq":         seq(),
		"ListReactionsRequest.seq":           someSeq().required().format("seq"),
		"ListReactionsRequest.reaction":      reaction(0),
		"ListReactionsRequest.limit":         page(defaultReactions, math.MaxUint32),
		"ListReactionsRequest.cursor":        Bounds{MaxLength: maxReactionCursor, MaxBytes: maxReactionCursor}.format("cursor"),
		"ListReactionsResponse.reacted":      list(maxReactions),
		"ListReactionsResponse.next":         {MaxLength: maxReactionCursor, MaxBytes: maxReactionCursor},
		"Reacted.user":                       id().required(),
		"Reacted.reaction":                   reaction(1).required(),
		"React.reaction":                     reaction(1).required(),
		"Reaction.reaction":                  reaction(1).required(),
		"Reaction.count":                     number(0, math.MaxUint32),
		"Reaction.users":                     userList(0, 3),
	}
}

// maxReactionCursor is a user, a space and a reaction.
const maxReactionCursor = im.MaxID + 1 + entrycodec.MaxReactionBytes

// reaction is the text of a reaction.
func reaction(least int) Bounds {
	return Bounds{Pattern: `^[^\s\u0000-\u001f\u007f-\u009f]*$`, MinLength: least, MaxLength: entrycodec.MaxReactionBytes, MaxBytes: entrycodec.MaxReactionBytes}
}
