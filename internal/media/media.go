// Package media takes uploads, looks at them, gives them to whom they are to read, and
// throws away what nothing names (SPEC §13).
//
// It owns the life of an upload: begun, received in pieces, looked at, named by messages,
// thrown away. It must not know stores, sockets, HTTP or what a message says: the rows
// are Uploads' and Names', the bytes Store's, and Messages tells what the journal has.
//
// Two stores that can fail apart keep it: rows in the directory, bytes in the blob
// store; and the journal, which has the messages, is a third. What holds them together:
//
//   - bytes are trash before they are written, until the transaction that has them
//     (Uploads.AddPiece, FinishUpload). So after a crash at any moment nothing lies
//     there that no row knows, and no row has what is not there;
//   - a blob is doomed, by a transaction after which nothing can have it any more, before
//     it is removed. A name of a blob is never used twice;
//   - a message that names an upload is noted in the directory before it is appended
//     (Name), and one that is taken back, or given up by the store, is doubted before (Doubt). What became of it the
//     journal is asked an hour later, and every month from then on. So a message that is
//     stored has its note, whatever crashed, and an upload without notes is named by
//     nothing;
//   - who names and who throws away hold the same lock, the upload's row;
//   - where there is a scanner, an upload is ready only after it had its verdict, on
//     whatever node and after whatever crash: ready is what names and fetches ask for.
//
// Whatever is done twice, here or by another process, is done once: a piece is added at
// the offset where it begins, an upload is finished once, a note is settled only as it
// was read.
//
// Goroutines: one, from Start to Close, that sweeps. Locks: Service.mu around the ids of
// uploads that are written to here, for a map operation.
package media

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media/picture"
)

// Uploads keeps what is known of uploads. internal/directory is one; its comments say more.
type Uploads interface {
	CreateUpload(ctx context.Context, u im.Upload, q im.MediaQuota) error
	Upload(ctx context.Context, id string) (im.Upload, error)
	AddPiece(ctx context.Context, id string, p im.MediaPiece) error
	Pieces(ctx context.Context, id string) ([]im.MediaPiece, error)
	FinishUpload(ctx context.Context, u im.Upload, now time.Time) error
	DropUpload(ctx context.Context, id string, owner im.UserID, now time.Time) error
	DiscardBlobs(ctx context.Context, blobs []string, at time.Time) error
}

// Names keeps which messages name uploads, or may, and what is to be thrown away.
type Names interface {
	NameMedia(ctx context.Context, ids []string, n im.MediaName, shared bool) ([]im.Upload, error)
	DoubtMedia(ctx context.Context, ns []im.MediaName, at time.Time) error
	DueNames(ctx context.Context, now time.Time, limit int) ([]im.MediaName, error)
	SettleName(ctx context.Context, n im.MediaName, names bool, at time.Time) error
	NamesFor(ctx context.Context, media string, u im.UserID, limit int) ([]im.MediaName, error)
	DueUploads(ctx context.Context, now time.Time, limit int) ([]string, error)
	DoomBlobs(ctx context.Context, now time.Time, limit int) ([]string, error)
	ForgetBlobs(ctx context.Context, blobs []string) error
}

// Store keeps bytes. internal/media/blob has two; its comments say more.
type Store interface {
	Put(ctx context.Context, name string, r io.Reader) (int64, error)
	Get(ctx context.Context, name string, offset int64) (io.ReadCloser, error)
	Delete(ctx context.Context, name string) error
	Free(ctx context.Context) (uint64, error)
}

// Messages is what the journal tells of messages.
type Messages interface {
	// MediaOf returns the ids of the uploads that a message names, to whom it is to read;
	// otherwise an error.
	MediaOf(ctx context.Context, u im.UserID, c im.ConversationID, seq uint64) ([]string, error)
	// NamesMedia tells whether a message is stored, was not taken back, and names the upload;
	// and if it is stored its seq.
	NamesMedia(ctx context.Context, n im.MediaName) (names bool, seq uint64, err error)
}

// Options say what a Service needs. Those that are not told to be optional must be set.
type Options struct {
	Uploads Uploads
	// Elsewhere is set where the directory is another node's. It is Uploads then; there are
	// no Names and no Messages, and nothing is swept here.
	Elsewhere *Elsewhere
	Names     Names
	Store     Store
	// Messages may be set after New, before anything is asked (Use).
	Messages Messages
	// Waits tells whether a message that is not stored yet, and names an upload, is kept to be
	// stored at its time. Optional.
	Waits func(ctx context.Context, n im.MediaName) (bool, error)
	// Left tells whether the account of a user was deleted: a link is theirs no more. Optional.
	Left func(ctx context.Context, u im.UserID) (bool, error)
	// Shows tells whether an upload is one that everybody who is signed in may fetch: the
	// picture of a sticker, a user or a group. Optional.
	Shows    func(ctx context.Context, id string) (bool, error)
	Pictures *picture.Maker
	// Scanning is optional.
	Scanning Scanning
	Quota    im.MediaQuota
	// MaxBytes is how long an upload may be.
	MaxBytes int64
	// UploadTime is how long one may be incomplete. Default a day.
	UploadTime time.Duration
	// MinFree is how many bytes the store keeps free.
	MinFree int64
	// Key is the secret that links are made with.
	Key    []byte
	Now    func() time.Time // optional
	Logger *slog.Logger     // optional
	// Registerer gets the metrics. Optional.
	Registerer prometheus.Registerer
}

const (
	// unnamedTime is how long an upload stays that nothing names.
	unnamedTime = 24 * time.Hour
	// checkAfter is when the journal is asked what became of a message: whoever was to
	// append it has given up long before. checkAgain is when it is asked again.
	checkAfter = time.Hour
	checkAgain = 30 * 24 * time.Hour
	// pieceBytes is how much of an upload is made durable at a time.
	pieceBytes = 8 << 20
	// leastPiece: a request has so many bytes, or all that are missing; of one that is cut
	// off less than this is not worth a piece.
	leastPiece = 16 << 10
	// writeTime bounds how long the writing of a blob takes, and trashTime is after which
	// time one is removed that nothing has: longer.
	writeTime = time.Hour
	trashTime = 2 * time.Hour
	// looks is how many messages are looked at for one that somebody may read.
	looks = 32
)

// Service takes uploads and gives them. It is safe for concurrent use.
type Service struct {
	o    Options
	m    *metrics
	life context.Context
	end  context.CancelFunc
	done sync.WaitGroup

	spent chan struct{} // holds one: an upload was made ready, its pieces are trash
	scans chan struct{} // has one for each upload that is shown to the scanner

	mu   sync.Mutex
	busy map[string]bool
	same atomic.Bool // bytes are where the other nodes keep theirs
}

// New makes a Service; Start begins to sweep.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Waits == nil {
		o.Waits = func(context.Context, im.MediaName) (bool, error) { return false, nil }
	}
	if o.Shows == nil {
		o.Shows = func(context.Context, string) (bool, error) { return false, nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.UploadTime == 0 {
		o.UploadTime = 24 * time.Hour
	}
	m := newMetrics(o.Registerer)
	o.Store = counted{o.Store, m}
	s := &Service{o: o, m: m, scans: make(chan struct{}, o.Scanning.AtOnce), busy: map[string]bool{}, spent: make(chan struct{}, 1)}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Use sets who tells of messages.
func (s *Service) Use(m Messages) { s.o.Messages = m }

// MaxBytes is how long an upload may be.
func (s *Service) MaxBytes() int64 { return s.o.MaxBytes }

// errNone is the one answer for all that somebody may not have, whatever the reason.
var errNone = im.Errorf(im.CodeNotFound, "no such upload")

// enter lets one at a time write to an upload, in this process.
func (s *Service) enter(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[id] {
		return false
	}
	s.busy[id] = true
	return true
}

func (s *Service) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, id)
}

// newID makes the id of an upload: 130 random bits.
func newID() string { return rand.Text() }

// newBlob makes a name of a blob that nobody used or will.
func newBlob(begin string) string { return begin + "-" + strings.ToLower(rand.Text()) }

// failed tells what an error of the blob store means to who waits.
func failed(err error) error {
	var e *im.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return err
	case errors.Is(err, syscall.ENOSPC):
		return im.Wrap(err, im.CodeStorageFull, "the server has no room for this")
	case errors.Is(err, fs.ErrNotExist):
		return im.Wrap(err, im.CodeUnavailable, "the server does not have the bytes")
	}
	w := im.Wrap(err, im.CodeUnavailable, "the server cannot keep, or read, the bytes now")
	w.RetryAfter = time.Second
	return w
}
