package wire_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// bounded reports that a frame was refused for its depth or number of
// elements, which the reference implementations do not bound.
func bounded(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "too deeply") || strings.Contains(err.Error(), "too many elements"))
}

func frames(server bool) (ours, theirs proto.Message) {
	if server {
		return &wire.ServerFrame{}, &wire.ServerFrame{}
	}
	return &wire.ClientFrame{}, &wire.ClientFrame{}
}

// FuzzProtobufDecode: the same verdict and the same result as proto.Unmarshal,
// and what was decoded survives encoding.
func FuzzProtobufDecode(f *testing.F) {
	for _, v := range clientVectors(&testing.T{}) {
		data, _ := proto.Marshal(v.frame)
		f.Add(data, false)
	}
	for _, v := range serverVectors(&testing.T{}) {
		data, _ := proto.Marshal(v.frame)
		f.Add(data, true)
	}
	f.Add([]byte{0x9a, 0x06, 0x01, 'x'}, false)                 // unknown field
	f.Add([]byte{0x22, 0x02, 0x10, 0x80}, false)                // varint cut off
	f.Add([]byte{0x22, 0x03, 0x12, 0x01, '5'}, false)           // other wire type
	f.Add([]byte{0x8a, 0x80, 0x80, 0x80, 0x80, 0x01, 0}, false) // field number beyond 32 bits
	f.Add([]byte{0x0b, 0x0c}, false)                            // group
	f.Fuzz(func(t *testing.T, data []byte, server bool) {
		ours, theirs := frames(server)
		err, want := wire.Protobuf().Decode(data, ours), proto.Unmarshal(data, theirs)
		if bounded(err) {
			return
		}
		if (err == nil) != (want == nil) {
			t.Fatalf("ours: %v, reference: %v", err, want)
		}
		if err != nil {
			return
		}
		if !proto.Equal(ours, theirs) {
			t.Fatalf("ours: %v\nreference: %v", ours, theirs)
		}
		encoded, err := wire.Protobuf().Append(nil, ours)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := frames(server)
		if err := wire.Protobuf().Decode(encoded, again); err != nil || !proto.Equal(again, theirs) {
			t.Fatalf("encoded and decoded again: %v (%v)\nbefore: %v", again, err, theirs)
		}
		if reference, err := (proto.MarshalOptions{Deterministic: true}).Marshal(theirs); err == nil {
			if err := proto.Unmarshal(encoded, again); err != nil || !proto.Equal(again, theirs) {
				t.Fatalf("the reference reads our encoding as %v (%v)", again, err)
			}
			if len(reference) != len(encoded) {
				t.Fatalf("our encoding is %x, the reference's %x", encoded, reference)
			}
		}
	})
}

// FuzzJSONDecode: the same verdict and result as protojson, and what was
// decoded survives encoding in either codec.
func FuzzJSONDecode(f *testing.F) {
	for _, v := range clientVectors(&testing.T{}) {
		data, _ := wire.JSON().Append(nil, v.frame)
		f.Add(data, false)
	}
	for _, v := range serverVectors(&testing.T{}) {
		data, _ := wire.JSON().Append(nil, v.frame)
		f.Add(data, true)
	}
	for _, s := range []string{
		` { "read" : { "seq" : 5 , "x" : [ 1 , "\u00e9\ud83d\ude00" ] } } `, `{"read":{"seq":"1e3"}}`, `{"read":null}`,
		`{"send":{"content":{"data":"_-8"}}}`, `{"push":{"entries":[{"kind":"NEW"},{"kind":1}]}}`, `{"bye":{},"bye":{}}`,
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, server bool) {
		ours, theirs := frames(server)
		err, want := wire.JSON().Decode(data, ours), protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, theirs)
		if bounded(err) {
			return
		}
		if (err == nil) != (want == nil) {
			t.Fatalf("ours: %v, reference: %v", err, want)
		}
		if err != nil {
			return
		}
		if !proto.Equal(ours, theirs) {
			t.Fatalf("ours: %v\nreference: %v", ours, theirs)
		}
		for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
			encoded, err := codec.Append(nil, ours)
			if err != nil {
				if _, jsonErr := protojson.Marshal(theirs); jsonErr == nil && !bounded(err) {
					t.Fatalf("%s: %v", codec.Name(), err)
				}
				continue
			}
			again, _ := frames(server)
			if err := codec.Decode(encoded, again); err != nil && !bounded(err) {
				t.Fatalf("%s: its own encoding: %v", codec.Name(), err)
			} else if err == nil && !proto.Equal(again, theirs) {
				t.Fatalf("%s: encoded and decoded again: %v\nbefore: %v", codec.Name(), again, theirs)
			}
		}
		compact, err := wire.JSON().Append(nil, ours)
		reference, want := protojson.Marshal(theirs)
		if (err == nil) != (want == nil) {
			t.Fatalf("encoding: %v, reference: %v", err, want)
		}
		_, _ = compact, reference
		if errors.Is(err, nil) && strings.ContainsAny(string(compact), "\n\r\t") {
			t.Fatalf("white space: %s", compact)
		}
	})
}
