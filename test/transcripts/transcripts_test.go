// Package transcripts runs conversations between clients and a whole server,
// written as text (README.md), over each transport and codec.
//
// It owns the language and the files. It knows the server through its sockets
// only, but for starting it.
package transcripts

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/wire"
)

// variants are all ways to connect.
func variants() []variant {
	return []variant{{"ws", "json"}, {"ws", "pb"}, {"tcp", "json"}, {"tcp", "pb"}}
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Transcripts wait more than they compute.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestTranscripts(t *testing.T) {
	all, err := readScripts("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 25 {
		t.Fatalf("only %d transcripts", len(all))
	}
	shared := &servers{t: t, by: map[string]*server{}}
	number := 0
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			for _, v := range variants() {
				number++
				suffix := fmt.Sprintf("-%d", number)
				t.Run(v.String(), func(t *testing.T) {
					t.Parallel()
					play(t, s, v, shared.get(t, s.server), suffix)
				})
			}
		})
	}
}

func play(t *testing.T, s script, v variant, srv *server, suffix string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r := &run{ctx: ctx, server: srv, variant: v, suffix: suffix, vars: vars{}, conns: map[string]*conn{}, settled: map[string]uint64{}}
	defer r.close()
	for _, l := range s.lines {
		if !l.in(v) {
			continue
		}
		if err := r.step(l.text); err != nil {
			t.Fatalf("%s.txt:%d: %s\n\t%v\n%s", s.name, l.number, clip(l.text), err, r.heardSoFar())
		}
	}
	if err := r.finish(); err != nil {
		t.Fatalf("%s.txt: %v\n%s", s.name, err, r.heardSoFar())
	}
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

// TestNothingForgotten: every frame of the contract is said and heard, and
// every code that a connection can meet, somewhere in the transcripts.
func TestNothingForgotten(t *testing.T) {
	all, err := readScripts("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var said, heard, codes []string
	for _, s := range all {
		a, b, c := s.spoken()
		said, heard, codes = append(said, a...), append(heard, b...), append(codes, c...)
	}
	elsewhere := map[string]string{
		"heads":  "tells of a lost push: test/e2e",
		"resync": "tells a slow reader: test/e2e",
	}
	for _, name := range frames(&wire.ClientFrame{}) {
		if !slices.Contains(said, name) {
			t.Errorf("no transcript says %s", name)
		}
	}
	for _, name := range frames(&wire.ServerFrame{}) {
		if !slices.Contains(heard, name) && elsewhere[name] == "" {
			t.Errorf("no transcript hears %s", name)
		}
	}
	unseen := map[wire.Code]string{
		wire.CodeOverloaded: "internal/messaging", wire.CodeUnavailable: "internal/messaging", wire.CodeStorageFull: "test/e2e",
		wire.CodeUnknown: "internal/messaging", wire.CodeConflict: "internal/group", wire.CodeSlowConsumer: "internal/gateway",
		wire.CodeInternal: "internal/gateway", wire.CodeTokenReused: "internal/account", wire.CodeBanned: "nothing bans yet",
		wire.CodeTooLate: "internal/messaging", wire.CodeUnauthenticated: "HTTP only: internal/api",
		wire.CodeUnprocessable: "internal/messaging", wire.CodeNotReady: "internal/gateway", wire.CodeOriginRefused: "internal/transport/ws",
	}
	for _, info := range wire.Codes() {
		if !slices.Contains(codes, string(info.Code)) && unseen[info.Code] == "" {
			t.Errorf("no transcript meets %s", info.Code)
		}
	}
}

// frames lists what a frame can carry, by its JSON name.
func frames(m interface{ ProtoReflect() protoreflect.Message }) (names []string) {
	fields := m.ProtoReflect().Descriptor().Oneofs().Get(0).Fields()
	for i := range fields.Len() {
		names = append(names, fields.Get(i).JSONName())
	}
	return names
}
