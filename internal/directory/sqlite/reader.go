package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/skein-im/skein/internal/directory"
)

// OpenReader opens the directory in the file at path for reading it whole. It
// changes nothing, and refuses a schema that is not this program's.
func OpenReader(ctx context.Context, path string) (*directory.Reader, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	found, err := Examine(ctx, path)
	if err != nil {
		return nil, err
	}
	values := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)"}, "_dqs": {"0"}}
	if found.Summed {
		if err := registerSums(); err != nil {
			return nil, err
		}
		values.Set("vfs", sumsVFS)
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: values.Encode()}
	connector, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, fmt.Errorf("directory: open %s: %w", path, err)
	}
	r := directory.NewReader(sql.OpenDB(connector), "sqlite3")
	if err := r.Check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), r.Close())
	}
	return r, nil
}
