package api

import (
	"time"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
)

// Limits of requests that services.proto names.
const (
	maxNameChars     = 64
	maxRequestChars  = 200
	minPasswordChars = 8
	maxPasswordChars = 200
	maxTokenBytes    = 512
	maxUsernameBytes = 200 // longer than any that exists; account decides on the alphabet
	maxGetUsers      = 200
	maxMembers       = 1000
	maxLifetime      = 366 * 24 * time.Hour
	defaultLifetime  = 24 * time.Hour
	// maxMillis is the end of the year 9999.
	maxMillis = 253402300799999
)

// userID checks a required user id.
func userID(field, s string) (im.UserID, error) {
	if !im.ValidID(s) {
		return "", im.Wrong(field, "must match [A-Za-z0-9_-]{1,64}")
	}
	return im.UserID(s), nil
}

// userIDs checks a list of user ids.
func userIDs(field string, s []string, least, most int) ([]im.UserID, error) {
	if len(s) < least {
		return nil, im.Wrong(field, "must have at least %d user", least)
	}
	if len(s) > most {
		return nil, im.TooLarge(field, "has %d users; at most %d are allowed", len(s), most)
	}
	return contract.Users(field, s)
}

// sessionID checks a session id; an empty one only where it may be.
func sessionID(s string, mayBeEmpty bool) (im.SessionID, error) {
	if s == "" && mayBeEmpty {
		return "", nil
	}
	if !im.ValidID(s) {
		return "", im.Wrong("session", "must match [A-Za-z0-9_-]{1,64}")
	}
	return im.SessionID(s), nil
}

// groupID checks the conversation of a group.
func groupID(s string) (im.ConversationID, error) {
	c := im.ConversationID(s)
	if c.Kind() != im.KindGroup {
		return "", im.Wrong("conversation", "must be grp:<id>, id [A-Za-z0-9_-]{1,64}")
	}
	return c, nil
}

// pageLimit checks the size of a page: 0 is the default.
func pageLimit(n uint32, def, most int) (int, error) {
	switch {
	case n == 0:
		return def, nil
	case uint64(n) > uint64(most):
		return 0, im.Wrong("limit", "is %d; at most %d is allowed", n, most)
	}
	return int(n), nil
}

// cursor checks a page cursor.
func cursor(s string) (string, error) {
	if len(s) > contract.MaxCursorBytes {
		return "", im.Wrong("cursor", "is longer than %d bytes", contract.MaxCursorBytes)
	}
	return s, nil
}

// opaque checks a string that is looked up or hashed and never shown: UTF-8,
// not empty, bounded.
func opaque(field, s string, most int) error {
	switch {
	case s == "":
		return im.Wrong(field, "is missing")
	case len(s) > most:
		return im.TooLarge(field, "has %d bytes; at most %d are allowed", len(s), most)
	case !utf8.ValidString(s):
		return im.Wrong(field, "must be UTF-8")
	}
	return nil
}

// opaqueIf checks such a string that may be absent.
func opaqueIf(field, s string, most int) error {
	if s == "" {
		return nil
	}
	return opaque(field, s, most)
}

// knownPassword checks a password of anybody's, good or not: account decides
// whether it is long enough for a new one.
func knownPassword(field, s string) error {
	if n := utf8.RuneCountInString(s); n > maxPasswordChars {
		return im.TooLarge(field, "has %d characters; at most %d are allowed", n, maxPasswordChars)
	}
	return opaque(field, s, maxPasswordChars*utf8.UTFMax)
}

// moment checks a time in Unix milliseconds; 0 is the zero time.
func moment(field string, ms int64) (time.Time, error) {
	switch {
	case ms == 0:
		return time.Time{}, nil
	case ms < 0 || ms > maxMillis:
		return time.Time{}, im.Wrong(field, "must be Unix milliseconds between 0 and %d", int64(maxMillis))
	}
	return time.UnixMilli(ms), nil
}

// first returns the first error, for checks that do not depend on each other.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
