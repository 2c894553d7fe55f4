package api

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// stickerCells are the rows of the matrix about stickers.
var stickerCells = []cell{
	{"MediaService/ListStickers", "", users, func(*scene) proto.Message { return &wire.ListStickersRequest{} }},
	{"MediaService/LinkMedia", "the picture of a sticker", users, func(s *scene) proto.Message {
		return &wire.LinkMediaRequest{Media: &wire.MediaPlace{Id: s.sticks()}}
	}},
	{"MessageService/SendMessage", "a sticker to the group", inGroup, func(s *scene) proto.Message {
		s.sticks()
		return &wire.SendMessageRequest{Conversation: s.group, Content: stickerOf("cats", "wave")}
	}},
	{"AdminService/SetStickerPack", "", admins, func(s *scene) proto.Message {
		return &wire.SetStickerPackRequest{Name: "dogs", Title: "Dogs", Stickers: []*wire.NewSticker{{Name: "sit", Media: s.sticks(), Alt: "a dog"}}}
	}},
	{"AdminService/SetCustomEmoji", "", admins, func(s *scene) proto.Message {
		return &wire.SetCustomEmojiRequest{Name: "dog", Media: s.sticks()}
	}},
}

// draws uploads a picture of so many pixels a side.
func (w *world) draws(p person, side int) string {
	w.t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		w.t.Fatal(err)
	}
	return w.upload(p, b.String())
}

// sticks is the picture of bob's that the sticker wave of the pack cats has.
func (s *scene) sticks() string {
	s.t.Helper()
	if s.stuck == "" {
		s.stuck = s.draws(s.bob, 8)
		s.must(adminKey, "AdminService/SetStickerPack", packOf("cats", s.stuck), nil)
	}
	return s.stuck
}

func packOf(name string, pictures ...string) *wire.SetStickerPackRequest {
	r := &wire.SetStickerPackRequest{Name: name}
	for i, id := range pictures {
		r.Title = "The " + name
		r.Stickers = append(r.Stickers, &wire.NewSticker{Name: []string{"wave", "nod"}[i], Media: id, Alt: "a waving cat", Emoji: []string{"👋"}})
	}
	return r
}

func stickerOf(pack, name string) *wire.Content {
	return &wire.Content{Type: "sticker", Body: &wire.Content_Text{Text: fmt.Sprintf(`{"pack":%q,"name":%q}`, pack, name)}, Fallback: "a waving cat"}
}

// refused makes a call that is refused, with its field.
func (w *world) refused(token, method string, in proto.Message, want im.Code, of string) {
	w.t.Helper()
	if code, field := w.refusal(token, method, in); code != want || field != of {
		w.t.Errorf("%s %v: %s of %q; %s of %q wanted", method, in, code, field, want, of)
	}
}

// Packs and emoji are listed to everybody who is signed in, with a revision; their pictures
// are theirs to fetch as long as they are listed, and a stranger's never.
func TestStickersAreListed(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	list := func(since uint64) *wire.ListStickersResponse {
		t.Helper()
		var r wire.ListStickersResponse
		w.must(bob.token, "MediaService/ListStickers", &wire.ListStickersRequest{Since: since}, &r)
		return &r
	}
	if r := list(0); r.Revision != 0 || len(r.Packs)+len(r.Emoji) != 0 {
		t.Fatal(r)
	}
	wave, party := w.draws(ann, 8), w.draws(ann, 9)
	fetch := func(token, id string) int {
		return do(w.http, request{method: "GET", path: mediaPath + id, header: http.Header{"Authorization": {"Bearer " + token}}}).Code
	}
	if fetch(bob.token, wave) != http.StatusNotFound {
		t.Error("an upload of ann's is bob's")
	}
	w.must(adminKey, "AdminService/SetStickerPack", packOf("cats", wave), nil)
	var set wire.SetCustomEmojiResponse
	w.must(adminKey, "AdminService/SetCustomEmoji", &wire.SetCustomEmojiRequest{Name: "party", Media: party}, &set)
	r := list(0)
	if r.Revision != set.Revision || len(r.Packs) != 1 || len(r.Emoji) != 1 || r.Next != 0 {
		t.Fatal(r)
	}
	if s := r.Packs[0].Stickers[0]; s.Name != "wave" || s.Media.Id != wave || s.Media.Width != 8 || s.Alt != "a waving cat" || !slices.Equal(s.Emoji, []string{"👋"}) {
		t.Error(r.Packs)
	}
	if again := list(r.Revision); again.Revision != r.Revision || len(again.Packs)+len(again.Emoji) != 0 {
		t.Errorf("nothing changed: %v", again)
	}
	if fetch(bob.token, wave) != http.StatusOK || fetch(bob.token, party) != http.StatusOK || fetch("", wave) != http.StatusUnauthorized {
		t.Error("a picture that is listed is not bob's, or is a stranger's")
	}
	w.must(adminKey, "AdminService/SetStickerPack", packOf("cats"), nil)
	w.must(adminKey, "AdminService/SetCustomEmoji", &wire.SetCustomEmojiRequest{Name: "party"}, nil)
	if now := list(r.Revision); now.Revision <= r.Revision || len(now.Packs)+len(now.Emoji) != 0 || fetch(bob.token, wave) != http.StatusNotFound {
		t.Errorf("withdrawn: %v", now)
	}
}

// A message with a sticker shows its picture whatever becomes of the pack: to who reads it,
// also of a copy. A new one of what was withdrawn is refused; a resend is not.
func TestStickerIsSent(t *testing.T) {
	w := newWorld(t)
	ann, bob, eve := w.person("ann"), w.person("bob"), w.person("eve")
	w.befriend(ann, bob)
	c := string(im.DM(im.UserID(ann.id), im.UserID(bob.id)))
	wave := w.draws(eve, 8)
	w.refused(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: c, Content: stickerOf("cats", "wave")}, im.CodeNotFound, "content.text")
	w.must(adminKey, "AdminService/SetStickerPack", packOf("cats", wave), nil)
	w.refused(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: c, Content: stickerOf("cats", "nod")}, im.CodeNotFound, "content.text")
	w.refused(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: c, Content: stickerOf("", "")}, im.CodeInvalidArgument, "content.text")
	w.refused(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: c, Content: stickerOf("cats", "wave"), Media: []string{w.draws(ann, 4)}}, im.CodeInvalidArgument, "media")
	id := im.NewMessageID(time.Now(), [10]byte{1})
	first := &wire.SendMessageRequest{Conversation: c, Id: id[:], Content: stickerOf("cats", "wave")}
	var sent, again wire.SendMessageResponse
	w.must(ann.token, "MessageService/SendMessage", first, &sent)
	w.must(adminKey, "AdminService/SetStickerPack", packOf("cats"), nil)
	w.refused(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: c, Content: stickerOf("cats", "wave")}, im.CodeNotFound, "content.text")
	w.must(ann.token, "MessageService/SendMessage", first, &again)
	if again.Seq != sent.Seq {
		t.Errorf("a resend has %d, not %d", again.Seq, sent.Seq)
	}
	w.must(bob.token, "MessageService/ForwardMessages", &wire.ForwardMessagesRequest{Conversation: c, Messages: []*wire.ForwardSource{{Conversation: c, Seq: sent.Seq}}}, nil)
	var got wire.ListEntriesResponse
	w.must(bob.token, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: c}, &got)
	n := 0
	for _, e := range got.Entries {
		if e.GetContent().GetType() != "sticker" {
			continue
		}
		if n++; len(e.Media) != 1 || e.Media[0].Id != wave || e.Media[0].Width != 8 {
			t.Errorf("the sticker has %v", e.Media)
		}
	}
	if n != 2 {
		t.Errorf("%d stickers: %v", n, got.Entries)
	}
	link := &wire.LinkMediaRequest{Media: &wire.MediaPlace{Id: wave}}
	w.must(bob.token, "MediaService/LinkMedia", link, nil)
	if code := w.call(w.person("dan").token, "MediaService/LinkMedia", link, nil); code != im.CodeNotFound {
		t.Errorf("who cannot read the message: %s", code)
	}
	edit := func(seq uint64, to *wire.Content) *wire.EditMessageRequest {
		return &wire.EditMessageRequest{Conversation: c, Seq: seq, Content: to}
	}
	if code := w.call(ann.token, "MessageService/EditMessage", edit(sent.Seq, text("no")), nil); code != im.CodePermissionDenied {
		t.Errorf("an edit of a sticker: %s", code)
	}
	w.refused(ann.token, "MessageService/EditMessage", edit(sent.Seq, stickerOf("cats", "wave")), im.CodeInvalidArgument, "content.type")
}

// A custom emoji is there when somebody reacts with it; withdrawn it stays where it is, and
// goes where it is taken away.
func TestCustomReaction(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	w.befriend(ann, bob)
	c := string(im.DM(im.UserID(ann.id), im.UserID(bob.id)))
	var sent wire.SendMessageResponse
	w.must(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: c, Content: text("hi")}, &sent)
	react := func(reaction string, remove bool) *wire.ReactToMessageRequest {
		return &wire.ReactToMessageRequest{Conversation: c, Seq: sent.Seq, Reaction: reaction, Remove: remove}
	}
	w.refused(bob.token, "MessageService/ReactToMessage", react(":party:", false), im.CodeNotFound, "reaction")
	w.must(bob.token, "MessageService/ReactToMessage", react(":No:", false), nil) // no name of one
	w.must(adminKey, "AdminService/SetCustomEmoji", &wire.SetCustomEmojiRequest{Name: "party", Media: w.draws(ann, 8)}, nil)
	w.must(bob.token, "MessageService/ReactToMessage", react(":party:", false), nil)
	w.must(adminKey, "AdminService/SetCustomEmoji", &wire.SetCustomEmojiRequest{Name: "party"}, nil)
	w.refused(ann.token, "MessageService/ReactToMessage", react(":party:", false), im.CodeNotFound, "reaction")
	var got wire.ListReactionsResponse
	w.must(ann.token, "MessageService/ListReactions", &wire.ListReactionsRequest{Conversation: c, Seq: sent.Seq, Reaction: ":party:"}, &got)
	if len(got.Reacted) != 1 {
		t.Errorf("withdrawn: %v", got.Reacted)
	}
	w.must(bob.token, "MessageService/ReactToMessage", react(":party:", true), nil)
}

// What cannot be a pack or an emoji is refused, with the field that is wrong.
func TestStickersAreChecked(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	ok, large, words := w.draws(ann, 8), w.draws(ann, im.MaxStickerPixels+1), w.upload(ann, "words")
	pack := func(change func(*wire.SetStickerPackRequest)) *wire.SetStickerPackRequest {
		r := packOf("cats", ok, ok)
		change(r)
		return r
	}
	for what, c := range map[string]struct {
		in    *wire.SetStickerPackRequest
		code  im.Code
		field string
	}{
		"name":       {pack(func(r *wire.SetStickerPackRequest) { r.Name = "Cats" }), im.CodeInvalidArgument, "name"},
		"title":      {pack(func(r *wire.SetStickerPackRequest) { r.Title = "" }), im.CodeInvalidArgument, "title"},
		"twice":      {pack(func(r *wire.SetStickerPackRequest) { r.Stickers[1].Name = "wave" }), im.CodeInvalidArgument, "stickers[1].name"},
		"alt":        {pack(func(r *wire.SetStickerPackRequest) { r.Stickers[1].Alt = "" }), im.CodeInvalidArgument, "stickers[1].alt"},
		"hint":       {pack(func(r *wire.SetStickerPackRequest) { r.Stickers[0].Emoji = []string{"a b"} }), im.CodeInvalidArgument, "stickers[0].emoji[0]"},
		"hints":      {pack(func(r *wire.SetStickerPackRequest) { r.Stickers[0].Emoji = []string{"a", "b", "c", "d"} }), im.CodeTooLarge, "stickers[0].emoji"},
		"no upload":  {pack(func(r *wire.SetStickerPackRequest) { r.Stickers[1].Media = "AAAAAAAAAAAAAAAAAAAAAAAAAA" }), im.CodeNotFound, "stickers[1].media"},
		"no id":      {pack(func(r *wire.SetStickerPackRequest) { r.Stickers[1].Media = "x" }), im.CodeInvalidArgument, "stickers[1].media"},
		"no picture": {pack(func(r *wire.SetStickerPackRequest) { r.Stickers[1].Media = words }), im.CodeInvalidArgument, "stickers[1].media"},
		"large":      {pack(func(r *wire.SetStickerPackRequest) { r.Stickers[0].Media = large }), im.CodeTooLarge, "stickers[0].media"},
		"too many": {pack(func(r *wire.SetStickerPackRequest) {
			r.Stickers = slices.Repeat(r.Stickers, im.MaxStickers/2+1)
		}), im.CodeTooLarge, "stickers"},
	} {
		if code, field := w.refusal(adminKey, "AdminService/SetStickerPack", c.in); code != c.code || field != c.field {
			t.Errorf("%s: %s of %q; %s of %q wanted", what, code, field, c.code, c.field)
		}
	}
	w.refused(adminKey, "AdminService/SetCustomEmoji", &wire.SetCustomEmojiRequest{Name: ":party:", Media: ok}, im.CodeInvalidArgument, "name")
	w.refused(adminKey, "AdminService/SetCustomEmoji", &wire.SetCustomEmojiRequest{Name: "party", Media: words}, im.CodeInvalidArgument, "media")
	w.refused(ann.token, "MediaService/ListStickers", &wire.ListStickersRequest{Since: 1, From: 1}, im.CodeInvalidArgument, "from")
	var got wire.ListStickersResponse
	w.must(ann.token, "MediaService/ListStickers", &wire.ListStickersRequest{}, &got)
	if got.Revision != 0 {
		t.Errorf("something changed: %v", &got)
	}
}

// Pages have all of them once, whatever ends where.
func TestPagesOfStickers(t *testing.T) {
	for _, n := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {stickersPage, 0}, {stickersPage, 1}, {stickersPage - 1, 1}, {stickersPage + 150, stickersPage * 2}} {
		all := im.Stickers{Revision: 7}
		for i := range n[0] {
			if i%200 == 0 {
				all.Packs = append(all.Packs, im.StickerPack{Name: fmt.Sprint("p", i)})
			}
			p := &all.Packs[len(all.Packs)-1]
			p.Stickers = append(p.Stickers, im.Sticker{Name: fmt.Sprint("s", i)})
		}
		for i := range n[1] {
			all.Emoji = append(all.Emoji, im.CustomEmoji{Name: fmt.Sprint("e", i)})
		}
		stickers, emoji := 0, 0
		for from, pages := 0, 0; ; pages++ {
			r := pageOfStickers(&all, from)
			for _, p := range r.Packs {
				for _, s := range p.Stickers {
					if s.Name != fmt.Sprint("s", stickers) {
						t.Fatalf("%v: %s is sticker %d", n, s.Name, stickers)
					}
					stickers++
				}
			}
			for _, e := range r.Emoji {
				if e.Name != fmt.Sprint("e", emoji) {
					t.Fatalf("%v: %s is emoji %d", n, e.Name, emoji)
				}
				emoji++
			}
			if from = int(r.Next); from == 0 {
				break
			} else if pages > 9 {
				t.Fatalf("%v: no end", n)
			}
		}
		if stickers != n[0] || emoji != n[1] {
			t.Errorf("%v: %d stickers, %d emoji", n, stickers, emoji)
		}
	}
}
