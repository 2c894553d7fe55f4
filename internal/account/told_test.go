package account_test

import (
	"context"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// What a user changes of their profile is told to all their devices, in the feed that is
// theirs alone, with the name if that is what changed; a change that is refused is not.
func TestProfileIsToldToItsOwner(t *testing.T) {
	f := start(t)
	var told []im.Promise
	f.options.Drive = func(ctx context.Context, c im.ConversationID) error {
		p, err := f.db.PendingOf(ctx, c)
		told = p
		return err
	}
	f.restart()
	ann := f.register("ann", phone("p"))
	name, about, bad := "Ann Lee", "at sea", "\x00"
	for i, c := range []struct {
		change im.ProfileChange
		code   im.Code
		text   string
	}{
		{im.ProfileChange{DisplayName: &name}, "", name},
		{im.ProfileChange{About: &about}, "", ""},
		{im.ProfileChange{DisplayName: &bad}, im.CodeInvalidArgument, ""},
	} {
		before := len(told)
		_, err := f.UpdateProfile(t.Context(), actorOf(ann), c.change)
		if im.CodeOf(err) != c.code {
			t.Fatalf("change %d: %v", i, err)
		}
		if c.code != "" {
			if len(told) != before {
				t.Errorf("change %d was refused, and told", i)
			}
			continue
		}
		if len(told) != before+1 {
			t.Fatalf("change %d: %d notices, there were %d", i, len(told), before)
		}
		p := told[before]
		if p.Conversation != im.Me(ann.User) || p.Event.Type != im.EventProfileChanged || p.Event.Text != c.text {
			t.Errorf("change %d is told as %+v in %s", i, p.Event, p.Conversation)
		}
	}
}
