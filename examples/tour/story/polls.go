package story

import (
	"fmt"

	"github.com/skein-im/skein/wire"
)

// polls: Ann asks, Bob and she choose, she ends it.
func polls(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	ask := &wire.Content{Type: "poll", Fallback: "Cake?", Body: &wire.Content_Text{
		Text: `{"question":"Cake?","options":[{"id":"yes","text":"Yes"},{"id":"no","text":"No"}]}`,
	}}
	var sent wire.SendMessageResponse
	t.call(t.ann, "MessageService/SendMessage", &wire.SendMessageRequest{
		Conversation: t.tea, Content: ask, Poll: &wire.Poll{Options: []*wire.PollOption{{Id: "yes"}, {Id: "no"}}},
	}, &sent)
	t.hears("ann asks: Cake?", all...)
	vote := func(by *person, options ...string) {
		t.call(by, "MessageService/VoteInPoll", &wire.VoteInPollRequest{Conversation: t.tea, Seq: sent.Seq, Options: options}, new(wire.VoteInPollResponse))
	}
	vote(t.bob, "no")
	t.hears(fmt.Sprintf("poll %d: yes 0, no 1", sent.Seq), all...)
	vote(t.ann, "yes")
	t.hears(fmt.Sprintf("poll %d: yes 1, no 1", sent.Seq), all...)
	vote(t.bob, "yes")
	t.hears(fmt.Sprintf("poll %d: yes 2, no 0", sent.Seq), all...)
	var votes wire.ListVotesResponse
	t.call(t.ann, "MessageService/ListVotes", &wire.ListVotesRequest{Conversation: t.tea, Seq: sent.Seq, Option: "yes"}, &votes)
	t.check(len(votes.Voted) == 2, "two votes for cake", votes.Voted)
	t.call(t.ann, "MessageService/EndPoll", &wire.EndPollRequest{Conversation: t.tea, Seq: sent.Seq}, new(wire.EndPollResponse))
	t.hears(fmt.Sprintf("poll %d: yes 2, no 0, ended", sent.Seq), all...)
	t.refused(t.bob, "MessageService/VoteInPoll", &wire.VoteInPollRequest{Conversation: t.tea, Seq: sent.Seq, Options: []string{"no"}}, wire.CodeTooLate)
}
