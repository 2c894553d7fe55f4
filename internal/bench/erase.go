package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/skein-im/skein/wire"
)

// EraseReport is what the erasing of a user takes, with what they wrote, and what others
// see of them then.
type EraseReport struct {
	// Seconds until EraseUser tells that all was done, CPUSeconds of the server meanwhile.
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_s"`
	// What the others list of the conversations with the user: Entries in all, OfUser those
	// of them that the user wrote, of which only the place is left, and Said those of these
	// that still say something.
	Entries int `json:"entries"`
	OfUser  int `json:"of_user"`
	Said    int `json:"said"`
	// Files of theirs that messages named, and how many of them somebody may still fetch.
	Files   int `json:"files"`
	Fetched int `json:"fetched"`
	// Found are messages of theirs that searches of the others find, once the index knows.
	Found int `json:"found"`
	// Named: others are told a name of the user.
	Named bool `json:"named"`
	// Bytes are of the journal on disk.
	BytesBefore int64 `json:"bytes_before"`
	BytesAfter  int64 `json:"bytes_after"`
}

// eraseTime bounds one erasing, and how long the index may be behind it.
const eraseTime = 30 * time.Minute

// friendsOf is how many others the first user of an export writes to: the 15 that follow.
const friendsOf = 15

// erased erases the first user, and looks what the others see of them. Nobody sends.
func (b *uploads) erased(ctx context.Context, x *EraseReport) error {
	var err error
	if x.BytesBefore, err = b.s.journalBytes(ctx); err != nil {
		return err
	}
	from, err := b.s.usage(ctx)
	if err != nil {
		return err
	}
	b.o.progress("the user is erased")
	began := time.Now()
	for done := false; !done; {
		var resp wire.EraseUserResponse
		if err := b.s.call(ctx, b.s.key, "skein.v1.AdminService/EraseUser", &wire.EraseUserRequest{User: b.users[0].ID, Messages: true}, &resp); err != nil {
			return err
		}
		if done = resp.DoneAtMs > 0; !done && time.Since(began) > eraseTime {
			return errors.New("the user is not erased in time")
		}
		if err := b.wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	x.Seconds = time.Since(began).Seconds()
	to, err := b.s.usage(ctx)
	if err != nil {
		return err
	}
	x.CPUSeconds = (to.cpu - from.cpu).Seconds()
	if err := b.remains(ctx, x); err != nil {
		return err
	}
	if x.BytesAfter, err = b.s.journalBytes(ctx); err != nil {
		return err
	}
	if x.Said > 0 || x.Fetched > 0 || x.Found > 0 || x.Named {
		return fmt.Errorf("something of who was erased is left: %+v", *x)
	}
	return nil
}

// remains looks at the user with the eyes of everybody whom they wrote to.
func (b *uploads) remains(ctx context.Context, x *EraseReport) error {
	gone := b.users[0].ID
	for i := 1; i <= friendsOf; i++ {
		if err := b.listed(ctx, b.users[i], dmName(gone, b.users[i].ID), x); err != nil {
			return err
		}
		found, err := b.foundOf(ctx, b.users[i].Token, gone)
		if err != nil {
			return err
		}
		x.Found += found
	}
	x.Files = len(b.named)
	for _, id := range b.named {
		got, err := b.fetched(ctx, 1, id)
		if err != nil {
			return err
		}
		if got {
			x.Fetched++
		}
	}
	var users wire.GetUsersResponse
	if err := b.s.call(ctx, b.users[1].Token, "skein.v1.UserService/GetUsers", &wire.GetUsersRequest{Ids: []string{gone}}, &users); err != nil {
		return err
	}
	for _, u := range users.Users {
		x.Named = x.Named || u.Username != "" || !u.Deleted // the display name of all who are deleted is the same
	}
	return nil
}

// listed counts what a friend is told of the conversation.
func (b *uploads) listed(ctx context.Context, friend userPlan, conversation string, x *EraseReport) error {
	for from := uint64(1); ; {
		var page wire.ListEntriesResponse
		if _, err := b.s.timed(ctx, friend.Token, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: conversation, From: from, Limit: 500}, &page); err != nil {
			return err
		}
		for _, e := range page.Entries {
			x.Entries++
			if e.Sender == b.users[0].ID && e.Target == 0 {
				x.OfUser++
				if e.Content != nil || len(e.Media) > 0 || !e.Recalled {
					x.Said++
				}
			}
			from = e.Seq + 1
		}
		if len(page.Entries) == 0 {
			return nil
		}
	}
}

// foundOf is how many messages of the user's a search finds that knows of all.
func (b *uploads) foundOf(ctx context.Context, token, user string) (int, error) {
	for end := time.Now().Add(eraseTime); time.Now().Before(end); {
		var resp wire.SearchMessagesResponse
		if _, err := b.s.timed(ctx, token, "MessageService/SearchMessages", &wire.SearchMessagesRequest{Sender: user, Types: []string{"text", "file"}, Limit: 50}, &resp); err != nil {
			return 0, err
		}
		if resp.Complete && (resp.Next == "" || len(resp.Found) > 0) {
			return len(resp.Found), nil
		}
		if err := b.wait(ctx, 200*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("the index does not catch up")
}

// fetched reports whether a user may fetch an upload.
func (b *uploads) fetched(ctx context.Context, user int, id string) (bool, error) {
	for {
		resp, err := b.ask(ctx, user, http.MethodGet, "/media/"+id, nil)
		if err == nil {
			return true, resp.Body.Close()
		}
		if resp == nil {
			return false, err
		}
		switch resp.StatusCode {
		case http.StatusNotFound, http.StatusForbidden:
			return false, nil
		case http.StatusTooManyRequests: // its turn comes
		default:
			return false, err
		}
		if err := b.wait(ctx, 100*time.Millisecond); err != nil {
			return false, err
		}
	}
}

// erasedAll are the lines of an erasing.
func (r *Report) erasedAll(line func(name, format string, args ...any)) {
	x := r.Erase
	if x == nil {
		return
	}
	line("erased", "%10.1f s, %.1f s of CPU; the journal %.1f MB before, %.1f after", x.Seconds, x.CPUSeconds, float64(x.BytesBefore)/1e6, float64(x.BytesAfter)/1e6)
	line("what remains", "%10d entries, %d of them places of what the user wrote; %d say something; %d of %d files can be fetched; %d found; named: %t", x.Entries, x.OfUser, x.Said, x.Fetched, x.Files, x.Found, x.Named)
}
