package push

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// How much of texts is told, in bytes. Together with all else it is less than MaxPayload,
// however JSON writes it (two bytes for one: encoded).
const (
	maxText = 800
	maxName = 120
)

// payload is what a device is told, as JSON (SPEC §14.4).
type payload struct {
	// Type is message or close.
	Type         string `json:"type"`
	Conversation string `json:"conversation"`
	Seq          uint64 `json:"seq,string"`
	// StoredMs is when the message was stored.
	StoredMs int64 `json:"storedAtMs,string,omitempty"`
	// The rest is missing where the user wants no text to be told.
	Sender string `json:"sender,omitempty"`
	Name   string `json:"name,omitempty"`
	Title  string `json:"title,omitempty"`
	// Content is the type of the content, Text what it says: its text, or its fallback.
	Content string `json:"content,omitempty"`
	Text    string `json:"text,omitempty"`
	Mention bool   `json:"mention,omitempty"`
	// More is how many messages there are besides it.
	More int `json:"more,omitempty"`
}

// payloadOf is what is told of a message.
func payloadOf(w *im.PushWork, t *telling) []byte {
	p := payload{Type: "message", Conversation: string(w.Conversation), Seq: t.seq, StoredMs: t.stored.UnixMilli()}
	if !w.Settings.HideText {
		p.Sender, p.Name, p.Title = string(t.sender), cut(t.names.Sender, maxName), cut(t.names.Title, maxName)
		p.Content, p.Text = t.content.GetType(), t.content.GetFallback()
		if p.Content == "text" {
			p.Text = t.content.GetText()
		}
		p.Text, p.Mention, p.More = cut(p.Text, maxText), t.mentions(w.User), t.more
	}
	return encoded(&p)
}

// closing tells a device to take its notification of a conversation away.
func closing(w *im.PushWork) []byte {
	return encoded(&payload{Type: "close", Conversation: string(w.Conversation), Seq: w.Shown})
}

func encoded(p *payload) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it would write one byte as six
	if err := e.Encode(p); err != nil {
		panic(err) // no payload fails to
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// cut is the beginning of a text, in one line, without what cannot be seen.
func cut(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || unicode.IsControl(r):
			return -1
		}
		return r
	}, s)
	if len(s) <= most {
		return s
	}
	end := most - len("…")
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
