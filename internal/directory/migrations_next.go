//go:build skein_next

package directory

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing/fstest"
)

//go:embed migrations_next/*.sql
var nextMigrations embed.FS

// ownMigrations are those of the program, and of a version after it, as it may
// come: one that expands and one that contracts. They have the numbers behind the
// program's newest, whichever that is.
func ownMigrations() (fs.FS, error) {
	all := fstest.MapFS{}
	entries, err := migrations.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	newest := 0
	for _, e := range entries {
		data, err := migrations.ReadFile("migrations/" + e.Name())
		if err != nil {
			return nil, err
		}
		all[e.Name()] = &fstest.MapFile{Data: data}
		number, _, _ := strings.Cut(e.Name(), "_")
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("%s: want a number, an underscore and a name: %w", e.Name(), err)
		}
		newest = max(newest, n)
	}
	for i, name := range []string{"next.sql", "next_contract.sql"} {
		data, err := nextMigrations.ReadFile("migrations_next/" + name)
		if err != nil {
			return nil, err
		}
		version := newest + 1 + i
		text := strings.ReplaceAll(string(data), "{version}", strconv.Itoa(version))
		all[fmt.Sprintf("%05d_%s", version, name)] = &fstest.MapFile{Data: []byte(text)}
	}
	return all, nil
}
