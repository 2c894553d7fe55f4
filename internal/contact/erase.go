package contact

import (
	"context"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// erasePage is how many pairs are parted at a time, at first.
const erasePage = 100

// Erase ends all that a user whose account was deleted is to others, and they to them:
// contacts, requests, blocks, remarks and tags. The others are told as of any contact that
// ended. Done again it does nothing more.
func (s *Service) Erase(ctx context.Context, user im.UserID) error {
	for limit := erasePage; ; {
		peers, err := s.store.KnownTo(ctx, user, limit)
		if err != nil {
			return fmt.Errorf("contacts of %s: %w", user, err)
		}
		n := 0
		for _, peer := range peers {
			_, err := s.change(ctx, im.Actor{User: user}, peer, func(mine, theirs *Contact) (event, error) {
				for _, side := range [...]*Contact{mine, theirs} {
					side.Blocked, side.AskAfter, side.Refusals = false, time.Time{}, 0
				}
				return part(mine, theirs, im.EventContactRemoved), nil
			})
			switch {
			case err == nil:
				n++
			case im.CodeOf(err) != im.CodeNotFound: // an account that is deleted as well parts by itself
				return err
			}
		}
		if len(peers) < limit {
			return nil
		}
		if n == 0 { // those are in the way of the others
			limit *= 2
		}
	}
}
