//go:build skein_next

package directory

import (
	"embed"
	"io/fs"
	"testing/fstest"
)

//go:embed migrations_next/*.sql
var nextMigrations embed.FS

// ownMigrations are those of the program, and of a version after it, as it may
// come: one that expands and one that contracts.
func ownMigrations() (fs.FS, error) {
	all := fstest.MapFS{}
	for dir, files := range map[string]embed.FS{"migrations": migrations, "migrations_next": nextMigrations} {
		entries, err := files.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			data, err := files.ReadFile(dir + "/" + e.Name())
			if err != nil {
				return nil, err
			}
			all[e.Name()] = &fstest.MapFile{Data: data}
		}
	}
	return all, nil
}
