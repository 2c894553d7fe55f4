package api

import (
	"math"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/later"
)

// amendBounds is of what is done to messages after they were sent.
func amendBounds() map[string]Bounds {
	return map[string]Bounds{
		"ListMentionsRequest.limit":    page(defaultFound, math.MaxUint32),
		"ListMentionsRequest.cursor":   opaqueText().format("cursor"),
		"ListMentionsResponse.entries": list(maxFound),
		"ListMentionsResponse.next":    opaqueText(),

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
		"ListReadersRequest.conversation":    matching(groupPattern).required().format("group"),
		"ListReadersRequest.seq":             someSeq().required().format("seq"),
		"ListReadersResponse.read":           userList(0, im.MaxReaders),
		"ListReadersResponse.received":       userList(0, im.MaxReaders),
		"Reacted.user":                       id().required(),
		"Reacted.reaction":                   reaction(1).required(),
		"React.reaction":                     reaction(1).required(),
		"Reaction.reaction":                  reaction(1).required(),
		"Reaction.count":                     number(0, math.MaxUint32),
		"Reaction.users":                     userList(0, 3),
		"ScheduleMessageRequest.message":     Bounds{Required: true}.beside(laterOnly),
		"ChangeScheduledRequest.message":     {Beside: laterOnly},
		"ScheduleMessageRequest.at_ms":       number(1, maxMillis).required().format("at"),
		"ScheduleMessageResponse.id":         matching(messageIDPattern).required(),
		"ListScheduledRequest.limit":         page(later.MaxOfUser, math.MaxUint32),
		"ListScheduledRequest.cursor":        Bounds{MaxLength: maxScheduledCursor, MaxBytes: maxScheduledCursor}.format("cursor"),
		"ListScheduledResponse.scheduled":    list(later.MaxOfUser),
		"ListScheduledResponse.next":         {MaxLength: maxScheduledCursor, MaxBytes: maxScheduledCursor},
		"Scheduled.message":                  {Required: true},
		"Scheduled.at_ms":                    millis().required(),
		"Scheduled.created_at_ms":            millis(),
		"Scheduled.state":                    {Required: true},
		"ChangeScheduledRequest.id":          matching(namedIDPattern).required().format("message-id"),
		"ChangeScheduledRequest.at_ms":       millis().format("at"),
		"CancelScheduledRequest.id":          matching(namedIDPattern).required().format("message-id"),
		"VoteInPollRequest.conversation":     matching(toPattern).required().format("conversation"),
		"VoteInPollRequest.seq":              someSeq().required().format("seq"),
		"VoteInPollRequest.id":               Bounds{Pattern: namedIDPattern}.format("message-id"),
		"VoteInPollRequest.options":          userList(0, entrycodec.MaxPollOptions).unique(),
		"VoteInPollResponse.id":              matching(messageIDPattern).required(),
		"VoteInPollResponse.seq":             seq(),
		"EndPollRequest.conversation":        matching(toPattern).required().format("conversation"),
		"EndPollRequest.seq":                 someSeq().required().format("seq"),
		"EndPollRequest.id":                  Bounds{Pattern: namedIDPattern}.format("message-id"),
		"EndPollResponse.id":                 matching(messageIDPattern).required(),
		"EndPollResponse.seq":                seq(),
		"ListVotesRequest.seq":               someSeq().required().format("seq"),
		"ListVotesRequest.option":            {MaxLength: im.MaxID, Pattern: `^[A-Za-z0-9_-]{0,64}$`},
		"ListVotesRequest.limit":             page(defaultVotes, math.MaxUint32),
		"ListVotesRequest.cursor":            Bounds{MaxLength: im.MaxID, MaxBytes: im.MaxID}.format("cursor"),
		"ListVotesResponse.voted":            list(maxVotes),
		"ListVotesResponse.next":             {MaxLength: im.MaxID, MaxBytes: im.MaxID},
		"Voted.user":                         id().required(),
		"Voted.options":                      userList(1, entrycodec.MaxPollOptions),
		"Vote.options":                       userList(0, entrycodec.MaxPollOptions),
		"Poll.options":                       list(entrycodec.MaxPollOptions).least(1).unique().required(),
		"Poll.until_ms":                      millis(),
		"Poll.voters":                        number(0, math.MaxUint32),
		"Poll.ended_at_ms":                   millis(),
		"PollOption.id":                      id().required(),
		"PollOption.votes":                   number(0, math.MaxUint32),
	}
}

// maxReactionCursor is a user, a space and a reaction.
const maxReactionCursor = im.MaxID + 1 + entrycodec.MaxReactionBytes

// reaction is the text of a reaction.
func reaction(least int) Bounds {
	return Bounds{Pattern: `^[^\s\u0000-\u001f\u007f-\u009f]*$`, MinLength: least, MaxLength: entrycodec.MaxReactionBytes, MaxBytes: entrycodec.MaxReactionBytes}
}
