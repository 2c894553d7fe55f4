package e2e

import (
	"bytes"
	"errors"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/skein-im/skein/internal/media/scan/scantest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// TestUploadScanned: with a scanner a device is told `infected` of what is, and nobody gets
// it; what is clean is sent; and an upload whose scanner is silent is sent once it speaks,
// without the device beginning anew.
func TestUploadScanned(t *testing.T) {
	t.Parallel()
	clamd, err := scantest.New("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer clamd.Close()
	w := mediaNode(t, map[string]string{"media.scanner": clamd.URL(), "media.scan_time": "200ms"})
	ann := join(t, w, "ann", 1)
	ctx := deadline(t)
	bad := append(content(1<<20, 1), scantest.EICAR...)
	for range 2 {
		if _, err := ann.Saved().SendFile(ctx, &skein.Upload{Body: bytes.NewReader(bad), Size: int64(len(bad))}, ""); !errors.Is(err, skein.ErrInfected) {
			t.Errorf("what is infected: %v", err)
		}
	}
	a := ann.uploader(w)
	id := a.begin(len(scantest.EICAR))
	resp, body, err := a.ask(http.MethodPatch, "/media/uploads/"+id, bytes.NewReader([]byte(scantest.EICAR)), "Upload-Offset", "0", "Content-Type", "application/offset+octet-stream", "Tus-Resumable", "1.0.0")
	if err != nil || resp.StatusCode != http.StatusUnprocessableEntity || !bytes.Contains(body, []byte(`"infected"`)) {
		t.Errorf("over HTTP: %v, %v, %s", resp, err, body)
	}
	a.expect(http.StatusNotFound, http.MethodGet, "/media/"+id, nil)

	good := content(1<<20, 2)
	clamd.Behave(scantest.Behaviour{Silent: true})
	for len(clamd.Arrived()) > 0 {
		<-clamd.Arrived()
	}
	var m *wire.Media
	done := make(chan error, 1)
	go func() {
		var err error
		m, err = ann.Upload(ctx, &skein.Upload{Body: bytes.NewReader(good), Size: int64(len(good))})
		done <- err
	}()
	<-clamd.Arrived()
	<-clamd.Arrived() // it was asked for again
	clamd.Behave(scantest.Behaviour{})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	a.has(m.Id, good)
	if _, err := ann.Saved().Send(ctx, "x", skein.Attach(m.Id)); err != nil {
		t.Error(err)
	}
}
