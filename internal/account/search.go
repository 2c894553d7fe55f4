package account

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// Bounds of a search: characters of the prefix, and users of a page.
const (
	MaxPrefix     = 64
	MaxFound      = 50
	DefaultFound  = 20
	searchUsers   = "u" // the cursor's last one was found by the username
	searchDisplay = "n" // … by the display name
)

// foldChunk is how many users one transaction makes findable.
const foldChunk = 500

// SearchUsers returns a page of the users whose username, or else display name, begins
// with a prefix, of any case and width: those whom the actor may find. First those with
// such a username, in the order of these. limit is at most MaxFound, 0 means
// DefaultFound; next is the cursor of the next page, "" after the last.
func (s *Service) SearchUsers(ctx context.Context, actor im.Actor, prefix, cursor string, limit int) (users []User, next string, err error) {
	if actor.User == "" {
		return nil, "", noSession()
	}
	prefix = strings.TrimSpace(prefix)
	if n := utf8.RuneCountInString(prefix); n == 0 || n > MaxPrefix || !printable(prefix) {
		return nil, "", im.Wrong("prefix", "must have 1 to %d characters and no control characters", MaxPrefix)
	}
	if limit <= 0 {
		limit = DefaultFound
	}
	limit = min(limit, MaxFound)
	q := im.UserSearch{Viewer: actor.User, Prefix: prefix, Limit: limit + 1}
	if cursor != "" && !parseFound(cursor, &q) {
		return nil, "", im.Wrong("cursor", "is not one of this list")
	}
	var found []im.Found
	byUsername := 0
	if !q.Names {
		if found, err = s.store.SearchUsers(ctx, q); err != nil {
			return nil, "", fmt.Errorf("search users: %w", err)
		}
		byUsername = len(found)
		q.Names, q.After, q.Limit = true, "", limit+1-len(found)
	}
	if q.Limit > 0 {
		more, err := s.store.SearchUsers(ctx, q)
		if err != nil {
			return nil, "", fmt.Errorf("search users: %w", err)
		}
		found = append(found, more...)
	}
	if len(found) > limit {
		kind := searchDisplay
		if limit <= byUsername {
			kind = searchUsers
		}
		last := &found[limit-1]
		found, next = found[:limit], base64.RawURLEncoding.EncodeToString([]byte(kind+string(last.ID)+" "+last.Name))
	}
	users = make([]User, len(found))
	for i := range found {
		users[i] = found[i].User
	}
	return users, next, nil
}

// parseFound continues a search behind the user that a cursor names.
func parseFound(cursor string, q *im.UserSearch) bool {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	id, name, ok := strings.Cut(string(b), " ")
	if err != nil || !ok || id == "" || !im.ValidID(id[1:]) || !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 {
		return false
	}
	q.Names, q.AfterID, q.After = id[:1] == searchDisplay, im.UserID(id[1:]), name
	return q.Names || id[:1] == searchUsers
}

// fold makes users whom a program of before made findable by their display names.
func (s *Service) fold(ctx context.Context) error {
	for {
		if n, err := s.store.FoldNames(ctx, foldChunk); err != nil || n < foldChunk {
			return err
		}
		select {
		case <-s.stop:
			return nil
		default:
		}
	}
}
