package im

import (
	"fmt"
	"strings"
)

// Pair is what a store, the journal or the directory, knows of the pair that the
// two are. Each is of no use without the other: a directory without its journal
// has groups nobody can read, a journal without its directory has messages that
// belong to nobody, and the next who takes a user name would not be the last.
// So each keeps the pair's identity and how far the other was, and a start
// compares before it changes anything (ComparePair).
//
// In two embedded stores:
//   - Identity is made when the two are first opened together, and kept in both;
//   - Changes counts the directory's commits. The directory adds one in each
//     transaction, and no commit is answered before the journal has the number
//     durably. So a directory that lost a commit which was answered has fewer than
//     the journal knows;
//   - Position is the journal's. The directory notes it with each commit, so a
//     journal that is replaced as a whole, witness and all, is found as well.
//
// In one database (PostgreSQL) both come back together, whatever is restored, and
// its own log orders them: nothing is counted there, and a start only refuses one
// that is empty beside the other.
//
// A restore sets what it put in place on purpose: a new Identity in both stores,
// with the Changes and Position that they have (Join), and a new timeline.
type Pair struct {
	// Identity names the pair; empty in a store that has not been joined to one.
	Identity string
	// Changes is how many commits the directory has made, as far as the store knows.
	Changes uint64
	// Position is that of the journal, as far as the store knows.
	Position uint64
}

// PairError is why two stores are refused together.
type PairError struct {
	// Store is the one that is missing something: directory or journal.
	Store string
	// Reason is what is wrong with it.
	Reason string
}

func (e *PairError) Error() string {
	return fmt.Sprintf("the %s %s; nothing was changed. Restore both, directory and journal, from one backup, or put back what was moved; "+
		"or start once with --accept-loss, which serves what is left under a new timeline, so that clients notice", e.Store, e.Reason)
}

// joining marks an identity that the other store may not have yet.
const joining = "joining "

// Again is what a journal keeps when a loss was accepted: the next start joins the
// two again, whatever they knew of each other.
func (p Pair) Again() Pair {
	if !strings.HasPrefix(p.Identity, joining) {
		p.Identity = joining + p.Identity
	}
	return p
}

// Join makes two stores a pair, new or again. It is cut short anywhere without
// harm: ComparePair then tells to join again.
func (p Pair) Join(journal, directory func(Pair) error) error {
	if err := directory(p.Again()); err != nil {
		return err
	}
	if err := journal(p); err != nil {
		return err
	}
	return directory(p)
}

// ComparePair compares what journal and directory know. Where neither was ever
// joined, such as in a new place, or both hold what an older version stored, or
// joining them was cut short, they are to be joined (join).
func ComparePair(journal, directory Pair) (join bool, err error) {
	if strings.HasPrefix(journal.Identity, joining) {
		return true, nil
	}
	if identity, ok := strings.CutPrefix(directory.Identity, joining); ok {
		if journal.Identity != "" && journal.Identity != identity {
			return false, mixed()
		}
		return true, nil
	}
	switch {
	case journal.Identity == "" && directory.Identity == "":
		return true, nil
	case directory.Identity == "":
		return false, DirectoryMissing()
	case journal.Identity == "":
		return false, JournalMissing()
	case journal.Identity != directory.Identity:
		return false, mixed()
	case directory.Changes < journal.Changes:
		return false, &PairError{"directory", fmt.Sprintf("(users, sessions, groups) is older than the journal beside it: it has %d changes, %d were answered; the latest are missing", directory.Changes, journal.Changes)}
	case journal.Position < directory.Position:
		return false, &PairError{"journal", fmt.Sprintf("(messages) is older than the directory beside it: it ends at position %d, and was at %d", journal.Position, directory.Position)}
	}
	return false, nil
}

// DirectoryMissing is the error for a journal without its directory.
func DirectoryMissing() error {
	return &PairError{"directory", "(users, sessions, groups) is missing or empty, and the journal (messages) beside it is not"}
}

// JournalMissing is the error for a directory without its journal.
func JournalMissing() error {
	return &PairError{"journal", "(messages) is missing or empty, and the directory (users, groups) beside it is not"}
}

func mixed() error {
	return &PairError{"journal", "(messages) is not the one that belongs to the directory (users, groups): one of the two is of another server, or was restored without the other"}
}
