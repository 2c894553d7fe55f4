//go:build !skein_next

package directory

import "io/fs"

// ownMigrations are those of the program.
func ownMigrations() (fs.FS, error) { return fs.Sub(migrations, "migrations") }
