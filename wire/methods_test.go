package wire_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/skein-im/skein/wire"
)

func TestMethodsHaveTheirOwnTypes(t *testing.T) {
	all := wire.Methods()
	if len(all) < 30 {
		t.Fatalf("Methods() lists %d methods, services.proto has more", len(all))
	}
	for _, m := range all {
		found, ok := wire.LookupMethod(m.Name())
		if !ok || found != m {
			t.Errorf("LookupMethod(%q) = %v, %v", m.Name(), found, ok)
		}
		_, rpc, _ := strings.Cut(m.Name(), "/")
		if got := string(m.NewRequest().ProtoReflect().Descriptor().Name()); got != rpc+"Request" {
			t.Errorf("%s: request is %s", m.Name(), got)
		}
		if got := string(m.NewResponse().ProtoReflect().Descriptor().Name()); got != rpc+"Response" {
			t.Errorf("%s: response is %s", m.Name(), got)
		}
	}
}

func TestLookupMethodRefusesOtherNames(t *testing.T) {
	for _, name := range []string{
		"", "/", "GroupService/CreateGroup", "skein.v1.GroupService", "skein.v1.GroupService/", "skein.v1./CreateGroup",
		"skein.v1.GroupService/Nothing", "skein.v1.NoService/CreateGroup", "/skein.v1.GroupService/CreateGroup",
		"skein.v1.GroupService/CreateGroup/", "skein.v2.GroupService/CreateGroup",
	} {
		if m, ok := wire.LookupMethod(name); ok {
			t.Errorf("LookupMethod(%q) = %s", name, m.Name())
		}
	}
}

func structOf(t *testing.T, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStructToRequest(t *testing.T) {
	const recall = "skein.v1.MessageService/RecallMessage"
	body, err := wire.StructToRequest(recall, structOf(t, map[string]any{
		"conversation": "dm:a:b", "seq": "9007199254740993", "unknown": map[string]any{"x": 1.0},
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got wire.RecallMessageRequest
	if err := proto.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if got.GetConversation() != "dm:a:b" || got.GetSeq() != 1<<53+1 {
		t.Errorf("got %v", &got)
	}

	for name, in := range map[string]map[string]any{
		"rounded number": {"seq": float64(1<<53 + 2)},
		"wrong type":     {"conversation": 5.0},
		"negative":       {"seq": "-1"},
		"fraction":       {"seq": 1.5},
	} {
		if body, err := wire.StructToRequest(recall, structOf(t, in)); err == nil {
			t.Errorf("%s: accepted as %x", name, body)
		}
	}
	const mint = "skein.v1.AdminService/MintToken"
	if body, err := wire.StructToRequest(mint, structOf(t, map[string]any{"device": map[string]any{"class": -float64(1 << 60)}})); err == nil || !strings.Contains(err.Error(), "device.class") {
		t.Errorf("rounded inside: %x, %v", body, err)
	}
	if _, err := wire.StructToRequest(recall, structOf(t, map[string]any{"x": []any{map[string]any{"seq": -float64(1 << 60)}}})); err != nil {
		t.Errorf("a large number in an unknown field: %v", err)
	}
	if body, err := wire.StructToRequest(recall, nil); err != nil || len(body) != 0 {
		t.Errorf("nil Struct: %x, %v", body, err)
	}
	if _, err := wire.StructToRequest("skein.v1.X/Y", nil); !errors.Is(err, wire.ErrUnknownMethod) {
		t.Errorf("unknown method: %v", err)
	}
}

func TestResponseToStruct(t *testing.T) {
	const send = "skein.v1.MessageService/SendMessage"
	payload, err := proto.Marshal(&wire.SendMessageResponse{Id: []byte{1, 2}, Seq: 1<<53 + 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := wire.ResponseToStruct(send, payload)
	if err != nil {
		t.Fatal(err)
	}
	if s.Fields["seq"].GetStringValue() != "9007199254740993" || s.Fields["id"].GetStringValue() != "AQI=" {
		t.Errorf("got %v", s)
	}
	if _, err := wire.ResponseToStruct(send, []byte{0xff}); err == nil {
		t.Error("garbage accepted")
	}
	if _, err := wire.ResponseToStruct("x", nil); !errors.Is(err, wire.ErrUnknownMethod) {
		t.Errorf("unknown method: %v", err)
	}
}
