package skein

import (
	"strings"
	"testing"

	"github.com/skein-im/skein/wire"
)

// What is the integrator's goes with a message and comes with it; what no server takes
// does not get into the outbox.
func TestExtra(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		v := r.dial().Conversation(dm)
		m, err := v.Send(bg, "hi", Extra("order.id", "4711"), Extra("a", ""), Fallback("a greeting"))
		if err != nil {
			t.Fatal(err)
		}
		sent := frames(r.fake, (*wire.ClientFrame).GetSend)
		if len(sent) != 1 || len(sent[0].Extra) != 2 || sent[0].Extra["order.id"] != "4711" || sent[0].Content.Fallback != "a greeting" {
			t.Errorf("sent %v", sent)
		}
		if len(m.Extra) != 2 || m.Extra["order.id"] != "4711" || m.Fallback != "a greeting" {
			t.Errorf("stored %+v", m)
		}
		for name, opt := range map[string]SendOption{
			"key": Extra("Key", ""), "no key": Extra("", ""), "value": Extra("k", "\xff"), "much": Extra("k", strings.Repeat("x", 4096)),
			"long fallback": Fallback(strings.Repeat("x", 1001)), "fallback": Fallback("\xff"),
		} {
			if _, err := v.Send(bg, "hi", opt); err == nil {
				t.Errorf("%s: sent", name)
			}
		}
	})
}
