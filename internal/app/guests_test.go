package app

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
)

// A guest has a tenth of a user's bytes for uploads, until they are a user.
func TestGuestsUploadATenth(t *testing.T) {
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.UnixMilli(1_700_000_000_000)
	gus := im.User{ID: "guest-a", DisplayName: "Gus", DMPolicy: im.DMContacts, Guest: true, Created: now}
	if err := db.CreateUser(t.Context(), im.Credentials{User: gus}); err != nil {
		t.Fatal(err)
	}
	upload := func(id string, size int64) error {
		u := im.Upload{ID: id, Owner: gus.ID, Size: size, Created: now, Expires: now.Add(time.Hour)}
		return guestUploads{db}.CreateUpload(t.Context(), u, im.MediaQuota{Bytes: 1000, Open: 20, PerHour: 20})
	}
	if err := upload("m1", 100); err != nil {
		t.Error(err)
	}
	if err := upload("m2", 1); err == nil {
		t.Error("a guest has more than a tenth")
	}
	up := im.GuestUpgrade{User: gus.ID, Username: "gus", PasswordHash: "hash", At: now}
	if _, err := db.UpgradeGuest(t.Context(), up); err != nil {
		t.Fatal(err)
	}
	if err := upload("m2", 800); err != nil {
		t.Error(err)
	}
}
