package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// FuzzJSONHotEncode: what is written by hand is byte for byte what protojson
// writes, less the white space, also of frames whose text is no UTF-8.
func FuzzJSONHotEncode(f *testing.F) {
	for server, vectors := range map[bool][]frameVector{false: clientVectors(&testing.T{}), true: serverVectors(&testing.T{})} {
		for _, v := range vectors {
			data, _ := proto.Marshal(v.frame)
			f.Add(data, server)
		}
	}
	f.Add([]byte{0x12, 0x03, 0x0a, 0x01, 0xff}, false)                             // a conversation that is no UTF-8
	f.Add([]byte{0x22, 0x04, 0x0a, 0x02, 0x30, 0x07}, true)                        // an unknown kind
	f.Add([]byte{0x12, 0x08, 0x1a, 0x06, 0x12, 0x04, 'a', '\n', 0x01, 'b'}, false) // escapes
	f.Fuzz(func(t *testing.T, data []byte, server bool) {
		frame, again := frames(server)
		// The generated code takes any bytes for a string.
		if frame.(interface{ UnmarshalVT([]byte) error }).UnmarshalVT(data) != nil {
			return
		}
		hot, ok := wire.AppendHot([]byte("before"), frame)
		if !ok {
			return
		}
		raw, err := protojson.Marshal(frame)
		if err != nil {
			t.Fatalf("written as %s, protojson: %v", hot, err)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, raw); err != nil {
			t.Fatal(err)
		}
		if string(hot) != "before"+want.String() {
			t.Fatalf("written as\n%s, protojson\n%s", hot, want.Bytes())
		}
		if err := wire.JSON().Decode(want.Bytes(), again); err != nil && !bounded(err) {
			t.Fatalf("%s is not read: %v", want.Bytes(), err)
		} else if wire.ReadIDs(frame); err == nil && !bytes.Equal(canonical(t, again), canonical(t, frame)) {
			t.Fatalf("%s is read as %v", want.Bytes(), again)
		}
	})
}

// FuzzJSONHotDecode: what is read by hand is what protojson reads. If an input
// is a frame, other spellings of it, good and bad, are tried too.
func FuzzJSONHotDecode(f *testing.F) {
	for server, vectors := range map[bool][]frameVector{false: clientVectors(&testing.T{}), true: serverVectors(&testing.T{})} {
		for i, v := range vectors {
			data, _ := wire.JSON().Append(nil, v.frame)
			f.Add(data, server, uint64(i))
		}
	}
	f.Add([]byte(`{"send":{"id":"01965b3c-4d5e-7001-8000-00000000abcd","insteadOf":"01965B3C-4D5E-7001-8000-00000000ABCD"}}`), false, uint64(0))
	f.Add([]byte(`{"sync":{"newest":{"id":"01965b3c-4d5e-7001-8000-00000000abcd"}}}`), false, uint64(0))
	for _, list := range spellings() {
		for i, in := range list {
			f.Add([]byte(in), false, uint64(i))
			f.Add([]byte(in), true, uint64(i))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, server bool, style uint64) {
		checkDecode(t, data, server)
		frame, _ := frames(server)
		if wire.DecodeJSON(data, frame) != nil {
			return
		}
		checkDecode(t, respell(t, canonical(t, frame), style), server)
	})
}

// TestOtherSpellings reads the hot vectors in many spellings, a third of them
// without mistakes and escapes.
func TestOtherSpellings(t *testing.T) {
	for server, vectors := range map[bool][]frameVector{false: clientVectors(t), true: serverVectors(t)} {
		for _, v := range vectors {
			data := canonical(t, v.frame)
			if empty, _ := frames(server); !wire.DecodeHot(data, empty) {
				continue
			}
			hot := 0
			for style := range uint64(300) {
				if checkDecode(t, respell(t, data, style), server) {
					hot++
				}
			}
			if hot < 60 {
				t.Errorf("%s: %d of 300 spellings are read by hand", v.name, hot)
			}
		}
	}
}

// respell writes canonical JSON in another way, which may mean something else
// or nothing. The same style does the same.
func respell(t *testing.T, data []byte, style uint64) []byte {
	s := speller{random: rand.New(rand.NewPCG(style, 0)), in: json.NewDecoder(bytes.NewReader(data))}
	s.escapes, s.mistakes = s.one(3), s.one(2)
	s.in.UseNumber()
	s.value(t)
	return s.out
}

// speller is what respell works with.
type speller struct {
	random            *rand.Rand
	escapes, mistakes bool
	in                *json.Decoder
	out               []byte
}

// one is true once in n times.
func (s *speller) one(n int) bool { return s.random.IntN(n) == 0 }

// wrong is true once in n times, if there are to be mistakes.
func (s *speller) wrong(n int) bool { return s.mistakes && s.one(n) }

func (s *speller) write(token string) {
	for s.one(6) {
		s.out = append(s.out, " \t\r\n"[s.random.IntN(4)])
	}
	s.out = append(s.out, token...)
}

func (s *speller) token(t *testing.T) json.Token {
	token, err := s.in.Token()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (s *speller) value(t *testing.T) {
	switch v := s.token(t).(type) {
	case json.Delim:
		s.inside(t, v)
	case string:
		s.text(v, true)
	case nil:
		s.write("null")
	default:
		s.write(fmt.Sprint(v))
	}
}

// inside writes what stands in an object or a list, up to its end.
func (s *speller) inside(t *testing.T, open json.Delim) {
	s.write(open.String())
	for n := 0; s.in.More(); n++ {
		if n > 0 {
			s.write(",")
		}
		if open == '{' {
			name, _ := s.token(t).(string)
			if s.wrong(60) {
				s.text(name, false)
				s.write(":null,") // and then a second time
			}
			if s.wrong(60) {
				name = strings.ToLower(name)
			}
			s.text(name, false)
			s.write(":")
		}
		s.value(t)
	}
	s.write(s.token(t).(json.Delim).String())
	if s.wrong(200) {
		s.write(open.String())
	}
}

// text writes a string, or if it is a value something that can stand for it.
func (s *speller) text(text string, value bool) {
	number := value && text != "" && strings.Trim(text, "0123456789") == ""
	switch {
	case number && s.one(3):
		s.write(text)
		return
	case number && s.wrong(20):
		s.write([]string{text + ".0", text + "e0", "-" + text, "0" + text, text + "0000000000", `"` + text + `e1"`}[s.random.IntN(6)])
		return
	case value && s.wrong(60):
		s.write([]string{"null", "true", "[]", "{}", `"`, "-1"}[s.random.IntN(6)])
		return
	}
	if raw, err := base64.StdEncoding.DecodeString(text); value && err == nil && s.one(2) {
		text = []*base64.Encoding{base64.URLEncoding, base64.RawURLEncoding, base64.RawStdEncoding}[s.random.IntN(3)].EncodeToString(raw)
	}
	s.write(`"`)
	some := s.escapes && s.one(3)
	for _, r := range text {
		s.character(r, some && s.one(4))
	}
	s.out = append(s.out, '"')
}

func (s *speller) character(r rune, escaped bool) {
	short := strings.IndexRune("\"\\/\b\f\n\r\t", r)
	switch {
	case (escaped || r < ' ' || r == '"' || r == '\\') && short >= 0 && !s.one(3):
		s.out = append(s.out, '\\', `"\/bfnrt`[short])
	case escaped && r > 0xffff:
		high, low := utf16.EncodeRune(r)
		s.out = fmt.Appendf(s.out, `\u%04x\u%04X`, high, low)
	case escaped || r < ' ' || r == '"' || r == '\\':
		s.out = fmt.Appendf(s.out, `\u%04x`, r)
	default:
		s.out = append(s.out, string(r)...)
	}
}
