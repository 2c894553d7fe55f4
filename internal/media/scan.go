package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media/scan"
)

// Scanning says how uploads are shown to a scanner before they are ready: while that is
// under way nobody may name or fetch them, and the answer to the last byte waits.
type Scanning struct {
	// Scan returns what was found, "" if nothing. An error: there is no verdict.
	Scan *scan.Clamd
	// Time is how long one upload may take.
	Time time.Duration
	// AtOnce is how many are shown at a time; others wait, as long as Time, and are
	// refused then (overloaded): that is no silence of the scanner's.
	AtOnce int
	// Open: without a verdict an upload is taken. Otherwise it is not ready until there is one.
	Open bool
}

// errInfected is of an upload in which the scanner found something.
var errInfected = errors.New("infected")

// verdicts are how scans end, as the metric names them.
const (
	scanClean    = "clean"
	scanInfected = "infected"
	scanFailed   = "failed"
)

// scanned shows an upload to the scanner, if there is one. errInfected: it is to be thrown
// away, as what is too long for a scanner that has to have looked. What the server wrote
// itself has nothing of what it was made of, and is shown to nobody.
func (s *Service) scanned(ctx context.Context, u *im.Upload, pieces []im.MediaPiece) error {
	o := s.o.Scanning
	if o.Scan == nil || u.Owner == im.ServerUploads {
		return nil
	}
	if err := s.scanTurn(ctx); err != nil {
		return err
	}
	defer func() { <-s.scans }()
	ctx, cancel := context.WithTimeout(ctx, o.Time)
	defer cancel()
	begun := time.Now()
	all := &joined{ctx: ctx, store: s.o.Store, pieces: pieces}
	defer all.Close()
	bytes := &noting{r: all}
	found, err := o.Scan.Scan(ctx, bytes)
	s.m.scanSeconds.Observe(time.Since(begun).Seconds())
	switch {
	case err == nil && found == "":
		s.m.scans.WithLabelValues(scanClean).Inc()
		return nil
	case err == nil:
		s.m.scans.WithLabelValues(scanInfected).Inc()
		s.o.Logger.Warn("media: an upload is infected, and was thrown away", "upload", u.ID, "user", u.Owner, "found", fmt.Sprintf("%.200q", found))
		return errInfected
	case bytes.err != nil && ctx.Err() == nil:
		return bytes.err // it was not the scanner
	}
	s.m.scans.WithLabelValues(scanFailed).Inc()
	s.o.Logger.Error("media: the scanner gave no verdict", "upload", u.ID, "taken", o.Open, "err", err)
	switch {
	case o.Open:
		return nil
	case errors.Is(err, scan.ErrTooLong):
		return err
	}
	e := im.Wrap(err, im.CodeUnavailable, "the upload cannot be looked at for viruses just now; ask again later")
	e.RetryAfter = 5 * time.Second
	return e
}

// scanTurn waits for one of the places at the scanner.
func (s *Service) scanTurn(ctx context.Context) error {
	late := time.NewTimer(s.o.Scanning.Time)
	defer late.Stop()
	select {
	case s.scans <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
	}
	e := im.Errorf(im.CodeOverloaded, "many uploads wait for the scanner; ask again later")
	e.RetryAfter = s.o.Scanning.Time
	return e
}

// noting counts, and remembers why it ended, if that was not the end.
type noting struct {
	r   io.Reader
	n   int64
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	n.n += int64(k)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return k, err
}
