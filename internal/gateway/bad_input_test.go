package gateway

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

var updateBadInput = flag.Bool("update", false, "write the golden files of TestBadInput")

// good is what fields hold where any value will not do, by the end of their path; the
// longest counts.
var good = map[string]string{
	"conversation": `"dm:ann:bob"`, "token": `"$userids"`, "device.class": `"DEVICE_CLASS_PHONE"`, "versionMax": "1",
	"id": `"AAAAAAPocACAAAAAAAAAAQ=="`, "insteadOf": `"AAAAAAPocACAAAAAAAAAAg=="`, "device.id": `"d1"`, "call.body": "", "call.json": `{"username":"bob"}`,
	"call.method": `"skein.v1.UserService/FindUser"`, "content.data": "", "send.extra": `{"key":"value"}`, "edit.extra": `{"key":"value"}`, "send.groupMention": `"GROUP_MENTION_ALL"`, "edit.groupMention": `"GROUP_MENTION_ALL"`, "amend.react": "", "amend.vote": "", "amend.endPoll": "", "amend.pin": "",
	"options.id": `"fri"`, "options.votes": "", "options.mine": "", "poll.voters": "", "poll.endedAtMs": "",
	"pull.atMs": "", "pulls.atMs": "",
}

// wrong is a way to spoil a field: it returns what stands in the place of
// `"name":value`, and whether there is such a way for the field.
type wrong struct {
	name  string
	spoil func(f protoreflect.FieldDescriptor, name, value string) (string, bool)
}

func isText(f protoreflect.FieldDescriptor) bool {
	return !f.IsMap() && (f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind)
}

func isNumber(f protoreflect.FieldDescriptor) bool {
	switch f.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.BoolKind, protoreflect.EnumKind:
		return false
	}
	return true
}

// wrongs are the ways. What stands in a list is spoilt as its first item.
func wrongs() []wrong {
	instead := func(with string, when func(protoreflect.FieldDescriptor) bool) func(protoreflect.FieldDescriptor, string, string) (string, bool) {
		return func(f protoreflect.FieldDescriptor, name, _ string) (string, bool) {
			if f.IsList() && !strings.HasPrefix(with, "null") {
				return name + ":[" + with + "]", when(f)
			}
			return name + ":" + with, when(f)
		}
	}
	always := func(protoreflect.FieldDescriptor) bool { return true }
	return []wrong{
		{"missing", func(protoreflect.FieldDescriptor, string, string) (string, bool) { return "", true }},
		{"of another type", func(f protoreflect.FieldDescriptor, name, _ string) (string, bool) {
			if f.Message() != nil || f.IsList() {
				return name + `:"x"`, true
			}
			return name + ":{}", true
		}},
		{"unknown beside it", func(_ protoreflect.FieldDescriptor, name, value string) (string, bool) {
			return name + ":" + value + `,"unheardOf":[{"a":1}]`, true
		}},
		{"too long", instead(`"`+strings.Repeat("abcd", 1500)+`"`, isText)},
		{"too many", func(f protoreflect.FieldDescriptor, name, value string) (string, bool) {
			item := strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
			return name + ":[" + item + strings.Repeat(","+item, 1500) + "]", f.IsList() && len(item) < 9
		}},
		{"empty", func(f protoreflect.FieldDescriptor, name, _ string) (string, bool) {
			switch {
			case f.IsList():
				return name + ":[]", true
			case f.Message() != nil:
				return name + ":{}", true
			}
			return name + `:""`, true
		}},
		{"null", instead("null", always)},
		{"number as string", instead(`"7"`, isNumber)},
		{"string as number", instead("7", isText)},
		{"2^53+1", instead("9007199254740993", isNumber)},
		{"2^64", instead(`"18446744073709551616"`, isNumber)},
		{"below 0", instead("-1", isNumber)},
		{"a fraction", instead("1.5", isNumber)},
		{"lone surrogate", instead(`"\ud800"`, isText)},
		{"duplicate key", func(_ protoreflect.FieldDescriptor, name, value string) (string, bool) {
			return name + ":" + value + "," + name + ":" + value, true
		}},
		{"nested 10,000 deep", instead(strings.Repeat("[", 10_000), always)},
	}
}

// writeJSON writes a message with good values, but for the field at the path target.
func writeJSON(md protoreflect.MessageDescriptor, path, target string, w *wrong) (text string, spoilt bool) {
	var parts []string
	for i := range md.Fields().Len() {
		f := md.Fields().Get(i)
		at := strings.TrimPrefix(path+"."+f.JSONName(), ".")
		value := valueOf(f, at, target, w, &spoilt)
		if value == "" && at != target {
			continue
		}
		part := fmt.Sprintf("%q:%s", f.JSONName(), value)
		if at == target && w != nil {
			part, spoilt = w.spoil(f, fmt.Sprintf("%q", f.JSONName()), value)
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	return "{" + strings.Join(parts, ",") + "}", spoilt
}

func valueOf(f protoreflect.FieldDescriptor, at, target string, w *wrong, spoilt *bool) string {
	nearest, found := "", false
	for end := range good {
		if (at == end || strings.HasSuffix(at, "."+end)) && len(end) >= len(nearest) {
			nearest, found = end, true
		}
	}
	if found {
		return good[nearest]
	}
	var v string
	switch {
	case f.IsMap():
		v = `{"key":"value"}`
	case f.Message() != nil:
		in, s := writeJSON(f.Message(), at, target, w)
		v, *spoilt = in, *spoilt || s
	case f.Kind() == protoreflect.BoolKind:
		v = "true"
	case isNumber(f):
		v = "1"
	case f.Kind() == protoreflect.BytesKind:
		v = `"aGk="`
	default:
		v = `"hi"`
	}
	if f.IsList() {
		v = "[" + v + "]"
	}
	return v
}

// paths are the paths of all fields of a message, from the frame down. Two that
// exclude each other are tried as one that is good and one that is not there.
func paths(md protoreflect.MessageDescriptor, path string) (all []string) {
	for i := range md.Fields().Len() {
		f := md.Fields().Get(i)
		at := path + "." + f.JSONName()
		all = append(all, at)
		if f.Message() != nil && !f.IsMap() && f.Message().ParentFile().Package() != "google.protobuf" {
			all = append(all, paths(f.Message(), at)...)
		}
	}
	return all
}

// said is a message of a client and its name in the table.
type said struct{ name, text string }

// badMessages are all bad messages, and a good one of each frame, in a settled order.
func badMessages() (all []said) {
	all = []said{
		{"(a message) nothing", " "}, {"(a message) not JSON", "hello"}, {"(a message) cut off", `{"ping":`}, {"(a message) an array", "[]"}, {"(a message) null", "null"},
		{"(a message) a string", `"ping"`}, {"(a message) behind another", `{"ping":{}}{"ping":{}}`}, {"(a message) of two frames", `{"ping":{},"pong":{}}`},
		{"(a message) of no frame", "{}"}, {"(a message) of an unknown frame", `{"dance":{"steps":3}}`}, {"(a message) nested 10,000 deep", strings.Repeat("[", 10_000)},
		{"(a message) on two lines", "{\"typing\":{\n \"conversation\":5}}"}, {"(a message) with a key in code", `{"typ\u0069ng":{"conversation":5}}`},
		{"(a message) with secrets in unknown fields", `{"mine":{"secret":[}}`},
	}
	frames := (*wire.ClientFrame)(nil).ProtoReflect().Descriptor()
	for i := range frames.Fields().Len() {
		f := frames.Fields().Get(i)
		frame := f.JSONName()
		whole := func(w *wrong, target string) (string, bool) {
			body, spoilt := writeJSON(f.Message(), frame, target, w)
			return fmt.Sprintf("{%q:%s}", frame, body), spoilt
		}
		text, _ := whole(nil, "")
		all = append(all, said{frame + " good", text})
		for _, target := range append([]string{frame}, paths(f.Message(), frame)...) {
			for _, w := range wrongs() {
				text, ok := whole(&w, target)
				if target == frame { // the frame itself is the field
					body, _ := writeJSON(f.Message(), frame, "", nil)
					text, ok = w.spoil(f, fmt.Sprintf("%q", frame), body)
					text = "{" + text + "}"
				}
				if ok {
					all = append(all, said{target + " " + w.name, text})
				}
			}
		}
	}
	return all
}

// full is a frame with all that an error in it says.
func full(f *wire.ServerFrame) string {
	for _, e := range []*wire.Error{f.GetError(), f.GetSendError().GetError(), f.GetSyncDelta().GetError(), f.GetRange().GetError(), f.GetResult().GetError()} {
		if e == nil {
			continue
		}
		s := short(brief(f))
		if want := wire.Code(e.Code).Info().Number; int(e.CodeNumber) != want {
			s += fmt.Sprintf(" with the number %d", e.CodeNumber)
		}
		for _, part := range []struct{ name, value string }{{"frame", e.Frame}, {"conversation", e.Conversation}, {"field", e.Field}, {"message", e.Message}} {
			if part.value != "" {
				s += fmt.Sprintf(" %s=%q", part.name, part.value)
			}
		}
		return s
	}
	return short(brief(f))
}

// short leaves out what was made long, and comes back as a name.
func short(s string) string { return strings.ReplaceAll(s, strings.Repeat("abcd", 1500), "$long") }

// Every bad message and its answer stands in the golden files, in every state of a
// connection; fields that are added to the contract come in by themselves. A change of
// a file is a change of the protocol: look at it, then run with -update.
func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		codec    wire.Codec
		messages func() []said
		file     string
	}{
		{wire.JSON(), badMessages, "testdata/bad_input.txt"},
		{wire.Protobuf(), badProtobuf, "testdata/bad_protobuf.txt"},
	} {
		t.Run(c.codec.Name(), func(t *testing.T) {
			bubble(t, func(t *testing.T) { compareTables(t, tableOf(t, c.codec, c.messages()), c.file) })
		})
	}
}

// stage is how far a connection is when it says something bad.
type stage struct{ mark, name string }

var stages = []stage{{"-", "before the Hello"}, {"+", "after the Welcome"}, {"!", "after the GoAway"}}

// tableOf says all messages and writes down the answers. What is answered after a
// GoAway stands there only where it is something else than before it.
func tableOf(t *testing.T, codec wire.Codec, messages []said) string {
	w := newWorld(t)
	w.logic.send = func(_ im.Actor, _ im.Message, reply func(im.Ack, error)) { reply(im.Ack{Seq: 5}, nil) }
	w.logic.call = func(context.Context, string, []byte) ([]byte, error) { return nil, nil }
	var table strings.Builder
	table.WriteString("# What a client says wrongly, before the Hello (-), after the Welcome (+), and after the GoAway where that is told something else (!), and what it is told; \"closed\" if the connection is over.\n")
	for i, m := range messages {
		fmt.Fprintf(&table, "%s\n", m.name)
		var before string
		for at, st := range stages {
			user := fmt.Sprintf("u%d-%d-", 1000+i, at) // of one length: protobuf has lengths
			answers, closed := w.hear(codec, user, strings.ReplaceAll(m.text, "$userids", user), st)
			judge(t, m.name, st, answers, closed)
			if line := strings.Join(answers, " | "); at < 2 || line != before {
				fmt.Fprintf(&table, "\t%s %s\n", st.mark, line)
				before = line
			}
		}
	}
	return table.String()
}

// judge holds an answer against what is promised of all of them (SPEC §1.7, §10).
func judge(t *testing.T, name string, st stage, answers []string, closed bool) {
	t.Helper()
	frame, _, _ := strings.Cut(name, " ")
	frame, _, _ = strings.Cut(frame, ".")
	if closed && st != stages[0] && frame != "bye" && frame != "hello" && name != "(a message) nothing" {
		t.Errorf("%s, %s: the connection was lost: %q", name, st.name, answers)
	}
	if closed && slices.ContainsFunc(answers, func(a string) bool { return strings.HasPrefix(a, "error invalid_argument") }) {
		t.Errorf("%s: closed with an ordinary code: %q", name, answers)
	}
	for _, a := range answers {
		for _, secret := range []string{"secret", "unheardOf", "abcdabcd"} {
			if strings.Contains(a, secret) {
				t.Errorf("%s: what the client wrote is quoted: %s", name, a)
			}
		}
		// What is no frame at all has no field.
		if strings.Contains(a, "invalid_argument") && !strings.Contains(a, "field=") && !strings.Contains(a, "the message is no frame") {
			t.Errorf("%s: no field is named: %s", name, a)
		}
		if strings.HasPrefix(a, "error ") && strings.Contains(a, "field=") && !strings.Contains(a, "frame=") {
			t.Errorf("%s: a field of no frame: %s", name, a)
		}
	}
}

// hear says a message and then one that is good, and returns what is answered to the
// first.
func (w *world) hear(codec wire.Codec, user, text string, st stage) (answers []string, closed bool) {
	p := w.dial(codec)
	defer p.nc.Close()
	then, last := hello(user+"-then", "d1", wire.DeviceClass_DEVICE_CLASS_PHONE), "welcome "+user+"-then"
	if st != stages[0] {
		p.send(hello(user, "d1", wire.DeviceClass_DEVICE_CLASS_PHONE))
		p.want("welcome " + user)
		then, last = wire.NewClientFrame(&wire.Sync{Number: 4242}), "delta 4242 p1"
	}
	if st == stages[2] {
		w.g.TurnAway(true, 0)
		defer w.g.TurnAway(false, 0)
		p.want("go_away")
	}
	p.raw([]byte(text))
	synctest.Wait() // Calls are answered in any order
	p.send(then)
	for {
		f, err := p.next()
		switch {
		case errors.Is(err, io.EOF):
			return append(answers, "closed"), true
		case err != nil:
			w.t.Fatalf("%.80q: %v", text, err)
		case brief(f) != last:
			answers = append(answers, strings.ReplaceAll(full(f), user, "$userids"))
			continue
		case len(answers) == 0:
			answers = []string{"nothing"}
		}
		return answers, false
	}
}

// compareTables compares a table with the golden file, or writes it.
func compareTables(t *testing.T, got, file string) {
	t.Helper()
	if *updateBadInput {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("%s:%d\ngot  %s\nwant %s\nif that is meant, run with -update and look at the difference", file, i+1, a, b)
		}
	}
}
