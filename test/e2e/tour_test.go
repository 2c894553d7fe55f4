package e2e

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/skein-im/skein/examples/tour/story"
)

// tour: every method there is, through both doors, and what three devices hear of it.
func tour(t *testing.T, w World) {
	at := story.Server{URL: w.HTTP(), AdminKey: w.AdminKey(), Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return w.Dial(ctx, "ws")
	}}
	for _, door := range []story.Door{story.Connection, story.HTTP} {
		var out strings.Builder
		if _, err := story.Tell(t.Context(), at, door, &out); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
	}
}
