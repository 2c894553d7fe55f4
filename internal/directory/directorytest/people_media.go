package directorytest

import (
	"fmt"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// quota lets a user have what the tests need.
var quota = im.MediaQuota{Bytes: 1000, Open: 3, PerHour: 10}

func upload(id string, owner im.UserID, size int64) im.Upload {
	return im.Upload{ID: id, Owner: owner, Size: size, Created: at, Expires: at.Add(time.Hour), MediaFacts: im.MediaFacts{Name: "a.txt", Duration: 1500 * time.Millisecond, Waveform: []byte{1, 2}}}
}

// piece adds the next part of an upload, as who uploads does: trash first.
func (p *people) piece(id string, start, size int64) {
	p.Helper()
	b := fmt.Sprintf("%s/%d", id, start)
	p.ok(p.db.DiscardBlobs(p.ctx, []string{b}, at.Add(time.Hour)))
	p.ok(p.db.AddPiece(p.ctx, id, im.MediaPiece{Start: start, Size: size, Blob: b}))
}

// ready makes a complete upload of a content.
func (p *people) ready(id string, owner im.UserID, size int64, hash string) im.Upload {
	p.Helper()
	return p.readyAs("text/plain", id, owner, size, hash)
}

func (p *people) readyAs(mime, id string, owner im.UserID, size int64, hash string) im.Upload {
	p.Helper()
	u := upload(id, owner, size)
	p.ok(p.db.CreateUpload(p.ctx, u, quota))
	p.piece(id, 0, size)
	u.Hash, u.Blob, u.MIME, u.Expires = hash, hash+"-"+id, mime, at.Add(24*time.Hour)
	p.ok(p.db.DiscardBlobs(p.ctx, []string{u.Blob}, at.Add(time.Hour)))
	p.ok(p.db.FinishUpload(p.ctx, u, at))
	return u
}

func (p *people) doomed(now time.Time) []string {
	p.Helper()
	b, err := p.db.DoomBlobs(p.ctx, now, 100)
	p.ok(err)
	return b
}

// uploads: what was received is kept in its order, each part once; a complete upload has
// its blob, and its parts are trash. Two with the same content share a blob, which goes
// with the last of them.
func uploads(p *people) {
	p.users("a", "b")
	u := upload("one", "a", 10)
	p.ok(p.db.CreateUpload(p.ctx, u, quota))
	p.piece("one", 0, 4)
	equal(p, "the same place again", im.CodeOf(p.db.AddPiece(p.ctx, "one", im.MediaPiece{Start: 0, Size: 4, Blob: "x"})), im.CodeConflict)
	equal(p, "too far", im.CodeOf(p.db.AddPiece(p.ctx, "one", im.MediaPiece{Start: 4, Size: 7, Blob: "x"})), im.CodeConflict)
	equal(p, "what was never trash", im.CodeOf(p.db.AddPiece(p.ctx, "one", im.MediaPiece{Start: 4, Size: 6, Blob: "x"})), im.CodeUnavailable)
	got, err := p.db.Upload(p.ctx, "one")
	p.ok(err)
	u.Received = 4
	equal(p, "what is kept", got, u)
	equal(p, "not complete", im.CodeOf(p.db.FinishUpload(p.ctx, u, at)), im.CodeConflict)
	p.piece("one", 4, 6)
	pieces, err := p.db.Pieces(p.ctx, "one")
	p.ok(err)
	equal(p, "pieces", pieces, []im.MediaPiece{{Start: 0, Size: 4, Blob: "one/0"}, {Start: 4, Size: 6, Blob: "one/4"}})

	p.ok(p.db.DiscardBlobs(p.ctx, []string{"h-one", "t-one"}, at.Add(time.Hour)))
	u.Size, u.Received, u.Ready, u.Hash, u.Blob, u.Thumbnail, u.MIME, u.Width, u.Height, u.Blurhash = 8, 10, true, "h", "h-one", "t-one", "image/png", 3, 4, "L"
	u.Expires = at.Add(24 * time.Hour)
	p.ok(p.db.FinishUpload(p.ctx, u, at))
	equal(p, "twice", im.CodeOf(p.db.FinishUpload(p.ctx, u, at)), im.CodeConflict)
	got, err = p.db.Upload(p.ctx, "one")
	p.ok(err)
	equal(p, "complete", got, u)
	equal(p, "a part more", im.CodeOf(p.db.AddPiece(p.ctx, "one", im.MediaPiece{Start: 8, Size: 1, Blob: "x"})), im.CodeNotFound)
	equal(p, "trash", p.doomed(at.Add(2*time.Hour)), []string{"one/0", "one/4"})

	p.ready("two", "b", 8, "h")
	got, err = p.db.Upload(p.ctx, "two")
	p.ok(err)
	equal(p, "the same content", got.Blob, "h-one")
	p.ok(p.db.ForgetBlobs(p.ctx, p.doomed(at.Add(2*time.Hour)))) // two's parts, and its blob
	equal(p, "of another one", im.CodeOf(p.db.DropUpload(p.ctx, "one", "b", at)), im.CodeNotFound)
	p.ok(p.db.DropUpload(p.ctx, "one", "a", at))
	equal(p, "what one leaves", p.doomed(at.Add(2*time.Hour)), []string{"t-one"})
	equal(p, "too early", im.CodeOf(p.db.DropUpload(p.ctx, "two", "", at)), im.CodeNotFound)
	due, err := p.db.DueUploads(p.ctx, at.Add(24*time.Hour), 9)
	p.ok(err)
	equal(p, "due", due, []string{"two"})
	p.ok(p.db.DropUpload(p.ctx, "two", "", at.Add(24*time.Hour)))
	equal(p, "what is left", p.doomed(at.Add(24*time.Hour)), []string{"t-one", "h-one"})
}

// blobsDoomed: what is to be removed is nobody's any more, so that who was too slow does
// not get what is gone.
func blobsDoomed(p *people) {
	p.users("a")
	p.ok(p.db.CreateUpload(p.ctx, upload("one", "a", 10), quota))
	p.ok(p.db.DiscardBlobs(p.ctx, []string{"slow"}, at))
	equal(p, "doomed", p.doomed(at), []string{"slow"})
	equal(p, "too late", im.CodeOf(p.db.AddPiece(p.ctx, "one", im.MediaPiece{Size: 4, Blob: "slow"})), im.CodeUnavailable)
	got, err := p.db.Upload(p.ctx, "one")
	p.ok(err)
	equal(p, "received", got.Received, 0)
	p.ok(p.db.ForgetBlobs(p.ctx, []string{"slow"}))
	equal(p, "forgotten", p.doomed(at.Add(time.Hour)), nil)
}

// uploadQuotas: a user has so many bytes, so many incomplete uploads and begins so many
// in an hour, however many come at once.
func uploadQuotas(p *people) {
	p.users("a", "b")
	var tried sync.WaitGroup
	codes := make([]im.Code, 8)
	for i := range codes {
		tried.Go(func() { codes[i] = im.CodeOf(p.db.CreateUpload(p.ctx, upload(fmt.Sprint("u", i), "a", 10), quota)) })
	}
	tried.Wait()
	made := 0
	for _, c := range codes {
		if c != im.CodeTooLarge {
			made++
		}
	}
	equal(p, "incomplete at a time", made, quota.Open)
	many := im.MediaQuota{Bytes: 1000, Open: 100, PerHour: 5}
	equal(p, "bytes", im.CodeOf(p.db.CreateUpload(p.ctx, upload("big", "a", 971), many)), im.CodeTooLarge)
	p.ok(p.db.CreateUpload(p.ctx, upload("fits", "a", 970), many))
	p.ok(p.db.DropUpload(p.ctx, "fits", "a", at)) // gives its bytes back
	p.ok(p.db.CreateUpload(p.ctx, upload("again", "a", 970), many))
	p.ok(p.db.CreateUpload(p.ctx, upload("b", "b", 1000), many))
	many.Bytes = 0
	p.ok(p.db.CreateUpload(p.ctx, upload("fifth", "a", 5000), many))
	err := p.db.CreateUpload(p.ctx, upload("sixth", "a", 1), many)
	equal(p, "in an hour", im.CodeOf(err), im.CodeRateLimited)
	equal(p, "wait", im.Public(err).RetryAfter, time.Hour)
	later := upload("later", "a", 1)
	later.Created = at.Add(time.Hour)
	p.ok(p.db.CreateUpload(p.ctx, later, many))
}

// mediaNames: what a message names stays until the journal says that no message does;
// who names it meanwhile keeps it.
func mediaNames(p *people) {
	p.users("a", "b")
	p.ready("one", "a", 5, "h1")
	p.ready("two", "a", 5, "h2")
	p.ok(p.db.CreateUpload(p.ctx, upload("open", "a", 5), quota))
	check := at.Add(time.Hour)
	name := func(n byte, sender im.UserID) im.MediaName {
		return im.MediaName{Conversation: "dm:a:b", Sender: sender, ID: im.NewMessageID(at, [10]byte{n}), Hash: 1<<63 + 5, CheckAt: check}
	}
	for _, ids := range [][]string{{"one", "nothing"}, {"one", "open"}} {
		_, err := p.db.NameMedia(p.ctx, ids, name(1, "a"), false)
		equal(p, "not there", im.CodeOf(err), im.CodeNotFound)
		equal(p, "which", im.Public(err).Field, "[1]")
	}
	_, err := p.db.NameMedia(p.ctx, []string{"one"}, name(1, "b"), false)
	equal(p, "another one's", im.CodeOf(err), im.CodeNotFound)
	due, err := p.db.DueNames(p.ctx, check, 9)
	p.ok(err)
	equal(p, "nothing of what was refused", len(due), 0)

	got, err := p.db.NameMedia(p.ctx, []string{"two", "one"}, name(1, "a"), false)
	p.ok(err)
	equal(p, "in their order", []string{got[0].ID, got[1].ID, got[0].Blob}, []string{"two", "one", "h2-two"})
	_, err = p.db.NameMedia(p.ctx, []string{"one"}, name(2, "b"), true) // a copy
	p.ok(err)
	equal(p, "named", im.CodeOf(p.db.DropUpload(p.ctx, "one", "a", at)), im.CodePermissionDenied)
	equal(p, "for ever", im.CodeOf(p.db.DropUpload(p.ctx, "one", "", at.Add(10000*time.Hour))), im.CodeNotFound)

	p.ok(p.db.OpenDM(p.ctx, "dm:a:b"))
	seen, err := p.db.NamesFor(p.ctx, "one", "b", 9)
	p.ok(err)
	equal(p, "the latest first", []im.MessageID{seen[0].ID, seen[1].ID}, []im.MessageID{name(2, "b").ID, name(1, "a").ID})
	seen, err = p.db.NamesFor(p.ctx, "one", "c", 9)
	p.ok(err)
	equal(p, "for who is in none of them", len(seen), 0)

	due, err = p.db.DueNames(p.ctx, check, 9)
	p.ok(err)
	equal(p, "to be asked", len(due), 3)
	for _, n := range due {
		p.ok(p.db.SettleName(p.ctx, n, n.Media == "two", at.Add(48*time.Hour)))
	}
	due, err = p.db.DueNames(p.ctx, check.Add(time.Hour), 9)
	p.ok(err)
	equal(p, "settled", len(due), 0)
	equal(p, "not yet", im.CodeOf(p.db.DropUpload(p.ctx, "one", "", at.Add(47*time.Hour))), im.CodeNotFound)

	// The message that names two is taken back, and sent again by who did not hear of it.
	p.ok(p.db.DoubtMedia(p.ctx, []im.MediaName{name(1, "a")}, check))
	due, err = p.db.DueNames(p.ctx, check, 9)
	p.ok(err)
	equal(p, "doubted", len(due), 1)
	again := name(1, "a")
	again.CheckAt = check.Add(time.Hour)
	_, err = p.db.NameMedia(p.ctx, []string{"two"}, again, false)
	p.ok(err)
	p.ok(p.db.SettleName(p.ctx, due[0], false, at.Add(48*time.Hour)))
	equal(p, "named since", im.CodeOf(p.db.DropUpload(p.ctx, "two", "a", at)), im.CodePermissionDenied)
	p.ok(p.db.DropUpload(p.ctx, "one", "", at.Add(48*time.Hour)))
}

// mediaRaced: of who names an upload and who throws it away at the same moment one
// succeeds.
func mediaRaced(p *people) {
	for i := range 20 {
		id, owner := fmt.Sprint("u", i), im.UserID(fmt.Sprint("a", i)) // each has an hour's uploads
		p.users(owner)
		p.ready(id, owner, 1, id)
		var both sync.WaitGroup
		var named, dropped error
		both.Go(func() {
			_, named = p.db.NameMedia(p.ctx, []string{id}, im.MediaName{Conversation: "dm:a:b", Sender: owner, ID: im.NewMessageID(at, [10]byte{byte(i)}), CheckAt: at}, false)
		})
		both.Go(func() { dropped = p.db.DropUpload(p.ctx, id, owner, at) })
		both.Wait()
		if (named == nil) == (dropped == nil) {
			p.Fatalf("naming: %v, throwing away: %v", named, dropped)
		}
		_, err := p.db.Upload(p.ctx, id)
		equal(p, "it is there", err == nil, named == nil)
	}
}
