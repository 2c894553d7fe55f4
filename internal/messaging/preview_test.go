package messaging

import (
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const teaLink = "https://tea.example/green"

func (w *world) wants(seq uint64) string {
	w.t.Helper()
	link, _, err := w.WantsPreview(w.t.Context(), ab, seq)
	if err != nil {
		w.t.Fatal(err)
	}
	return link
}

func (w *world) preview(seq uint64, url, title, image string) error {
	return w.AddPreview(w.t.Context(), ab, seq, &im.Preview{URL: url, Title: title, Description: "d", Site: "s", Image: image})
}

// A message gets the preview of its link, once; its readers read it with the message, and
// its picture is named before that is stored. An edit that gives it another link takes it
// away, a recall erases it; both are doubted before.
func TestPreview(t *testing.T) {
	w, f := mediaWorld(t, atStored(time.Minute))
	f.of["pic"] = im.ServerUploads
	w.say("alice", ab, "no link")
	seq := w.say("alice", ab, "see "+teaLink)
	if w.wants(1) != "" || w.wants(seq) != teaLink {
		t.Fatal(w.wants(1), w.wants(seq))
	}
	wantCode(t, w.preview(seq, "https://other.example", "T", ""), im.CodeTooLate)
	wantCode(t, w.preview(1, teaLink, "T", ""), im.CodeTooLate)
	if err := w.preview(seq, teaLink, "Green", "pic"); err != nil {
		t.Fatal(err)
	}
	e := w.told("bob", ab, seq)
	if p := e.GetPreview(); p.GetTitle() != "Green" || p.GetUrl() != teaLink || p.GetDescription() != "d" || p.GetSite() != "s" || p.GetImage().GetId() != "pic" || e.Amended != 3 || e.GetContent().GetText() != "see "+teaLink {
		t.Errorf("%v", e)
	}
	if len(f.named) != 1 || f.named[0].Sender != "" || !f.shared[0] || f.at[0] != 2 {
		t.Fatalf("noted: %+v at %v", f.named, f.at)
	}
	name := f.named[0]
	name.Media = "pic"
	if names, at, err := w.NamesMedia(t.Context(), name); err != nil || !names || at != seq {
		t.Error(names, at, err)
	}
	ids, err := w.MediaOf(t.Context(), "bob", ab, seq)
	if err != nil || !slices.Equal(ids, []string{"pic"}) {
		t.Error(ids, err)
	}
	_, err = w.MediaOf(t.Context(), "stranger", ab, seq)
	wantCode(t, err, im.CodeNotFound)
	wantCode(t, w.preview(seq, teaLink, "Again", ""), im.CodeTooLate)
	if w.wants(seq) != "" {
		t.Error("it wants a second one")
	}

	w.edits("alice", seq, "now "+teaLink+" is better")
	if e := w.told("bob", ab, seq); e.GetPreview().GetTitle() != "Green" || e.Edits != 1 || len(f.doubts) != 0 {
		t.Errorf("after an edit with the same link: %v, %v", e, f.doubts)
	}
	w.edits("alice", seq, "https://other.example")
	if e := w.told("bob", ab, seq); e.Preview != nil || w.wants(seq) != "https://other.example" || !slices.Contains(f.doubts, name.ID) {
		t.Errorf("after an edit with another link: %v, %v", e, f.doubts)
	}
	if names, _, err := w.NamesMedia(t.Context(), name); err != nil || names {
		t.Error("the picture is named yet", names, err)
	}
	w.edits("alice", seq, teaLink)
	f.doubts = nil
	if err := w.preview(seq, teaLink, "Once more", "pic"); err != nil {
		t.Fatal(err)
	}
	if again := f.named[1]; again.ID == name.ID {
		t.Error("two previews have one id")
	}
	if _, err := w.send("alice", im.Message{Conversation: ab, ID: w.early(), Kind: im.EntryRecall, Target: seq, Hash: entrycodec.RecallHash(ab, seq)}); err != nil {
		t.Fatal(err)
	}
	if e := w.told("bob", ab, seq); e.Preview != nil || !slices.Contains(f.doubts, f.named[1].ID) {
		t.Errorf("after a recall: %v, %v", e, f.doubts)
	}
	wantCode(t, w.preview(seq, teaLink, "T", ""), im.CodeTooLate)
	if ids, err := w.MediaOf(t.Context(), "bob", ab, seq); err == nil {
		t.Errorf("%v are to be fetched after a recall", ids)
	}
	// Nothing of it is kept beside the message.
	all, err := w.journal.Read(t.Context(), ab, 1, false, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all[1:] {
		if e.Kind == im.EntryPreview && len(e.Body) != 0 {
			t.Errorf("entry %d has a preview of its own", e.Seq)
		}
	}
}

func (w *world) edits(u im.UserID, seq uint64, to string) {
	w.t.Helper()
	if _, err := w.edit(u, ab, seq, to); err != nil {
		w.t.Fatal(err)
	}
}

// No member makes a preview, and who asks for none has none.
func TestPreviewsAreTheServers(t *testing.T) {
	w, _ := mediaWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, teaLink)
	m := im.Message{Conversation: ab, ID: w.early(), Kind: im.EntryPreview, Target: seq}
	m.Body, m.Hash = entrycodec.Preview(ab, seq, &im.Preview{URL: teaLink, Title: "Mine"}, nil)
	_, err := w.send("alice", m)
	wantCode(t, err, im.CodeInvalidArgument)
	if e := w.told("bob", ab, seq); e.Preview != nil {
		t.Errorf("%v", e)
	}
	none := im.Message{Conversation: ab, ID: w.early(), Kind: im.EntryMessage}
	none.Body, none.Hash = entrycodec.Message(ab, &wire.Send{Content: text(teaLink), NoPreview: true})
	ack, err := w.send("alice", none)
	if err != nil || w.wants(ack.Seq) != "" || !w.told("bob", ab, ack.Seq).NoPreview {
		t.Error(w.wants(ack.Seq), err)
	}
	w.edits("alice", ack.Seq, teaLink+"/more")
	if w.wants(ack.Seq) != "" {
		t.Error("an edit makes it want one")
	}
}

// Several at once, and whoever does it again after a crash, give a message one preview.
func TestOnePreviewOnly(t *testing.T) {
	w, _ := mediaWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, teaLink)
	done := make(chan error, 8)
	for range cap(done) {
		go func() { done <- w.preview(seq, teaLink, "T", "") }()
	}
	for range cap(done) {
		select {
		case err := <-done:
			if err != nil && im.CodeOf(err) != im.CodeTooLate {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no answer")
		}
	}
	head, err := w.head(t.Context(), ab)
	if err != nil || head.Seq != seq+1 {
		t.Errorf("%d entries, %v", head.Seq, err)
	}
}
