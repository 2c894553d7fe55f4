package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

// copyPages is how many pages are copied between two looks at the context.
const copyPages = 256

// copyTo copies what the connection's open transaction sees to a new file. The
// library's online backup takes the source's transaction as it is, so nothing
// that is written meanwhile makes it begin anew.
func copyTo(ctx context.Context, conn *sql.Conn, to string) (err error) {
	if to, err = filepath.Abs(to); err != nil { // a URI takes no other
		return err
	}
	f, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	err = conn.Raw(func(driverConn any) (err error) {
		from, ok := driverConn.(interface {
			NewBackup(dst string) (*sqlite.Backup, error)
		})
		if !ok {
			return errors.New("the SQLite driver cannot copy")
		}
		u := url.URL{Scheme: "file", Path: to, RawQuery: url.Values{"vfs": {sumsVFS}}.Encode()}
		b, err := from.NewBackup(u.String())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.Finish()) }()
		for more := true; more; {
			if err := ctx.Err(); err != nil {
				return err
			}
			if more, err = b.Step(copyPages); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, f.Sync())
}
