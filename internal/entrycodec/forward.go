package entrycodec

import (
	"encoding/json"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Source is a message that is forwarded: where it is, and as it is stored.
type Source struct {
	Conversation im.ConversationID
	Seq          uint64
	Entry        im.Entry
	// Name is its author's display name, for Merged.
	Name string
}

// ForwardHash is the hash of a copy, or of a message that holds all of several: of what
// was asked for, not of what the sources say, so that who asks again is answered as
// before whatever became of them.
func ForwardHash(c im.ConversationID, from []Source, merge *wire.ForwardMerge, silent bool) uint64 {
	w := wire.Entry{Silent: silent, Forward: &wire.Forward{}}
	for i := range from {
		w.Mentions = append(w.Mentions, string(from[i].Conversation), strconv.FormatUint(from[i].Seq, 10))
	}
	if merge != nil {
		w.Forward.Merged = uint32(len(from))
		w.Content = &wire.Content{Type: "merged", Fallback: merge.GetTitle()}
	}
	return hashOf(c, im.EntryMessage, 0, &w)
}

// Copy is the body of a copy: what the message says, the uploads that it names, where that
// comes from, and that its links are to be left alone, if they were.
func Copy(from *Source, silent bool) ([]byte, error) {
	var w wire.Entry
	if err := Decode(from.Entry.Body, &w); err != nil {
		return nil, err
	}
	out := wire.Entry{Content: w.Content, Silent: silent, Forward: origin(from, &w), Media: w.Media, NoPreview: w.NoPreview}
	if p := w.Poll; p != nil { // what it asks
		out.Poll = &wire.Poll{Multiple: p.Multiple, Anonymous: p.Anonymous, UntilMs: p.UntilMs}
		for _, o := range p.Options {
			out.Poll.Options = append(out.Poll.Options, &wire.PollOption{Id: o.Id})
		}
	}
	return Encode(&out), nil
}

// origin is who wrote what a message says, and when.
func origin(from *Source, w *wire.Entry) *wire.Forward {
	if w.Forward.GetSender() != "" {
		return proto.Clone(w.Forward).(*wire.Forward)
	}
	return &wire.Forward{Sender: string(from.Entry.Sender), StoredAtMs: from.Entry.Stored.UnixMilli(), Merged: w.Forward.GetMerged()}
}

// Author is who wrote what a message says: of a copy the one who did so first.
func Author(e *im.Entry) (im.UserID, error) {
	var w wire.Entry
	if err := Decode(e.Body, &w); err != nil {
		return "", err
	}
	return im.UserID(origin(&Source{Entry: *e}, &w).Sender), nil
}

// merged is the body of a content of the type `merged`, SPEC §11.2.
type merged struct {
	Title   string        `json:"title"`
	Entries []mergedEntry `json:"entries"`
}

type mergedEntry struct {
	Sender   string `json:"sender"`
	Name     string `json:"name"`
	AtMs     int64  `json:"at_ms"`
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Fallback string `json:"fallback,omitempty"`
}

// Merged is the body of a message that holds all of several, and how long its content is.
func Merged(title string, from []Source, silent bool) (body []byte, size int, err error) {
	m := merged{Title: title}
	for i := range from {
		var w wire.Entry
		if err := Decode(from[i].Entry.Body, &w); err != nil {
			return nil, 0, err
		}
		o := origin(&from[i], &w)
		m.Entries = append(m.Entries, mergedEntry{
			Sender: o.Sender, Name: from[i].Name, AtMs: o.StoredAtMs,
			Type: w.GetContent().GetType(), Text: w.GetContent().GetText(), Fallback: w.GetContent().GetFallback(),
		})
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, 0, err
	}
	return Encode(&wire.Entry{
		Content: &wire.Content{Type: "merged", Body: &wire.Content_Text{Text: string(text)}, Fallback: title},
		Silent:  silent, Forward: &wire.Forward{Merged: uint32(len(from))},
	}), len(text), nil
}
