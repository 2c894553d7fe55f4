package prototext

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// Every frame there is survives the way out and back.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("../../proto/vectors/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d vectors, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var frame, back proto.Message = &wire.ServerFrame{}, &wire.ServerFrame{}
			if strings.HasPrefix(filepath.Base(file), "client_") {
				frame, back = &wire.ClientFrame{}, &wire.ClientFrame{}
			}
			var vector struct{ JSON json.RawMessage }
			if err := json.Unmarshal(raw, &vector); err != nil {
				t.Fatal(err)
			}
			if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(vector.JSON, frame); err != nil {
				t.Fatal(err)
			}
			text, err := Codec{}.Append([]byte("before"), frame)
			if err != nil {
				t.Fatal(err)
			}
			if err := (Codec{}).Decode(text[len("before"):], back); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if !proto.Equal(frame, back) {
				t.Errorf("%v became %v", frame, back)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		in string
		ok bool
	}{
		{`ping: {}`, true},
		{`dance: { steps: 3 }`, true},
		{`bye: {} later: "x"`, true},
		{`typing: { conversation: "` + "\xff" + `" }`, false},
		{`{"ping":{}}`, false},
		{`ping: {`, false},
	} {
		if err := (Codec{}).Decode([]byte(c.in), &wire.ClientFrame{}); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.in, err)
		} else if err != nil && strings.Contains(err.Error(), "conversation") {
			t.Errorf("%q: the error quotes its input: %v", c.in, err)
		}
	}
}
