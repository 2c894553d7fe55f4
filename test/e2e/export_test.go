package e2e

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// exporting: everything of a user's comes as one zip that is whole, by whichever node; what
// it says is what was said, and is gone from it when it was taken back.
func exporting(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	a, b := ann.uploader(w), bob.uploader(w)
	befriend(t, ann, bob)
	dm := ann.DM("bob").ID()
	content := noise(300_000, 7)
	id := a.up(content)
	a.shows(dm, "what ann shows", id)
	taken := b.shows(dm, "what bob takes back")
	export := func(entries int) []byte {
		t.Helper()
		var begun wire.BeginExportResponse
		if err := skein.Post(deadline(t), w.HTTP(), "skein.v1.AccountService/BeginExport", ann.device.token, &wire.BeginExportRequest{}, &begun); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		n, err := skein.DownloadExport(deadline(t), w.HTTP(), begun.Path, &got)
		if err != nil || n != int64(got.Len()) {
			t.Fatal(n, err)
		}
		m, err := skein.VerifyExport(bytes.NewReader(got.Bytes()), n)
		if err != nil {
			t.Fatal(err)
		}
		if !m.Complete || m.Media != 1 || m.Conversations != 1 || m.Entries < entries || m.Bytes < 300_000 {
			t.Errorf("%+v", m)
		}
		if !bytes.Contains(got.Bytes(), content) { // it is not compressed
			t.Error("it does not have what ann uploaded")
		}
		if cut := got.Len() - 1000; cut > 0 {
			if _, err := skein.VerifyExport(bytes.NewReader(got.Bytes()[:cut]), int64(cut)); err == nil {
				t.Error("what was cut off is whole")
			}
		}
		return part(t, got.Bytes(), "conversations/"+strings.ReplaceAll(dm, ":", ".")+".jsonl")
	}
	if said := export(2); !bytes.Contains(said, []byte("what bob takes back")) || !bytes.Contains(said, []byte("what ann shows")) {
		t.Errorf("%s", said)
	}
	err := skein.Post(deadline(t), w.HTTP(), "skein.v1.MessageService/RecallMessage", bob.device.token, &wire.RecallMessageRequest{Conversation: dm, Seq: taken}, &wire.RecallMessageResponse{})
	if err != nil {
		t.Fatal(err)
	}
	if said := export(2); bytes.Contains(said, []byte("what bob takes back")) || !bytes.Contains(said, []byte(`"recalled":true`)) {
		t.Errorf("%s", said)
	}
}

// part is one file of a zip.
func part(t *testing.T, z []byte, name string) []byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(z), int64(len(z)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
