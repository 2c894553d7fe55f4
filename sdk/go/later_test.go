package skein

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// The entry that tells of scheduled messages is an event of its own.
func TestScheduledEvent(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.do(func() {
			r.append(nil, &wire.Entry{
				Conversation: "me:" + r.user, Sender: r.user, Kind: wire.EntryKind_ENTRY_KIND_EVENT,
				Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_SCHEDULED_CHANGED, Conversation: dm},
			})
		})
		pause(0)
		got := eventsOf[*ScheduledEvent](r.events)
		if len(got) != 1 || got[0].Conversation != dm {
			t.Errorf("%v", got)
		}
	})
}

// What is sent later says all that a message says.
func TestSendLaterSaysAll(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var asked wire.ScheduleMessageRequest
		r.onCall = func(m *wire.Call) *wire.Result {
			if err := proto.Unmarshal(m.GetBody(), &asked); err != nil {
				t.Error(err)
			}
			return &wire.Result{Response: &wire.Result_Body{}}
		}
		r.dial()
		if _, err := r.c.Conversation(dm).SendLater(bg, time.Now().Add(time.Hour), "good morning", Silent(), ReplyTo(3), Mention("bob"), Extra("k", "v"), ContentType("text"), InThread(7), AlsoInMain()); err != nil {
			t.Fatal(err)
		}
		m := asked.Message
		if !m.GetSilent() || m.GetReplyTo() != 3 || len(m.GetMentions()) != 1 || m.GetExtra()["k"] != "v" || m.GetContent().GetText() != "good morning" || m.GetThread() != 7 || !m.GetAlsoInMain() {
			t.Errorf("asked for %v", m)
		}
	})
}
