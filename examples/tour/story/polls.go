package story

import (
	"fmt"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// mentions: Ann mentions everybody; Bob, who may not, finds that in his list.
func mentions(t *teller) {
	all := wire.GroupMention_GROUP_MENTION_ALL
	say := &wire.SendMessageRequest{Conversation: t.tea, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "Tea is ready"}}, GroupMention: all}
	var sent wire.SendMessageResponse
	t.call(t.ann, "MessageService/SendMessage", say, &sent)
	t.hears("ann: Tea is ready", t.annPhone, t.annLaptop, t.bobs)
	var list wire.ListMentionsResponse
	t.call(t.bob, "MessageService/ListMentions", &wire.ListMentionsRequest{Limit: 1}, &list)
	t.check(len(list.Entries) == 1 && list.Entries[0].Seq == sent.Seq, "Bob is mentioned", list.Entries)
	if t.err != nil {
		return
	}
	// The same from the outbox, and as the SDK has it.
	if _, err := t.annPhone.client.Conversation(t.tea).Send(t.ctx, "Really", skein.MentionAll(), skein.Mention(t.bob.id)); err != nil {
		t.fail("a mention from the outbox: %w", err)
	}
	t.hears("ann: Really", t.annPhone, t.annLaptop, t.bobs)
	ms, _, err := t.bobs.client.Mentions(t.ctx, "", 10)
	t.check(err == nil && len(ms) == 2 && ms[0].Text == "Really" && ms[0].GroupMention == all, "Bob is mentioned twice", fmt.Sprint(ms, err))
}

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
