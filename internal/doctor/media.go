package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
)

// Bounds of looking for blobs: a store may name millions, on a slow disk.
const (
	maxBlobs     = 100_000
	maxBlobsTime = 20 * time.Second
)

var errEnough = errors.New("enough was looked at")

// media looks whether what the embedded store names of pictures and files is there. It
// reads none of it: what a file holds is compared by a backup.
func (e *examiner) media(ctx context.Context) {
	if e.o.Media == nil {
		return
	}
	there := e.o.Media(e.c)
	if there == nil {
		return // none are taken, or they are in a bucket
	}
	seen, missing, begun := 0, []string{}, e.o.Now()
	_, err := sqlite.ExamineBlobs(ctx, filepath.Join(e.c.Data, "directory.db"), func(b directory.Blob) error {
		if !b.Named {
			return nil
		}
		if seen == maxBlobs || e.o.Now().Sub(begun) > maxBlobsTime {
			return errEnough
		}
		seen++
		err := there(b.Name)
		if errors.Is(err, fs.ErrNotExist) {
			missing, err = append(missing, b.Name), nil
		}
		return err
	})
	of := ""
	if errors.Is(err, errEnough) {
		of, err = " of those looked at first", nil
	}
	switch {
	case err != nil:
		e.add(Bad, "pictures and files", err.Error(), "the server's user must be able to read media.store")
	case len(missing) > 0:
		e.add(Bad, "pictures and files", fmt.Sprintf("%d of %d%s are not where media.store says: %s", len(missing), seen, of, strings.Join(missing[:min(len(missing), maxNamed)], ", ")),
			"is its disk mounted? Otherwise restore them: `skein restore`, or copy them from a backup")
	case seen > 0:
		e.add(OK, "pictures and files", fmt.Sprintf("%d%s, all are there", seen, of), "")
	}
}
