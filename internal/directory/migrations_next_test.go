//go:build skein_next

package directory

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// The two steps of the version to come follow the program's newest, each with a number
// of its own. Once a new step of the program had the number of the first of them: the
// next version changed nothing, and `test/faults cluster --fault upgrade` could not run.
func TestNextFollowsTheNewest(t *testing.T) {
	all, err := ownMigrations()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(all, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names { // in the order of their names
		if want := fmt.Sprintf("%05d_", i+1); !strings.HasPrefix(name, want) {
			t.Errorf("step %d is %s", i+1, name)
		}
	}
	last, err := fs.ReadFile(all, names[len(names)-1])
	if want := fmt.Sprintf("least = %d;", len(names)); err != nil || !strings.Contains(string(last), want) {
		t.Errorf("%s does not say %q: %v\n%s", names[len(names)-1], want, err, last)
	}
}
