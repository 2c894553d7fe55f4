package importing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// Mapping says what becomes of the users of an export. It is written as a file that somebody
// may edit and give again.
type Mapping struct {
	System    string       `json:"system"`
	Workspace string       `json:"workspace"`
	Users     []MappedUser `json:"users"`
	// UsersMade: the accounts were made as they are to be, and are their users' from then on.
	UsersMade bool `json:"users_made,omitempty"`
}

// MappedUser is what becomes of a user.
type MappedUser struct {
	// Key is the user's there, Name and Email what they are known by.
	Key   string `json:"key"`
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	// Username is that of the account that is made; "": it has none, and nobody logs in to it.
	Username string `json:"username,omitempty"`
	// User is the id of an account that there is already, which the user becomes.
	User string `json:"user,omitempty"`
	// Note says why the username is not the name.
	Note string `json:"note,omitempty"`
}

// ReadMapping reads the file of a mapping, nil if there is none.
func ReadMapping(name string) (*Mapping, error) {
	raw, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &Mapping{}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// Follow takes from the mapping of an earlier run what stays made. It is an error if somebody
// became who they do not become now: what they wrote has that author, and would come twice.
func (m *Mapping) Follow(earlier *Mapping) error {
	m.UsersMade = earlier.UsersMade
	now, was := map[string]string{}, map[string]string{}
	for _, u := range m.Users {
		now[u.Key] = u.User
	}
	for _, u := range earlier.Users {
		was[u.Key] = u.User
		to, there := now[u.Key]
		if !there && u.User != "" {
			return fmt.Errorf("does not name %q, whom an earlier run made the account %q: what they wrote has that author", u.Key, u.User)
		}
		if there && to != u.User {
			return fmt.Errorf("makes %q the account %q, and an earlier run %q: what they wrote has that author", u.Key, to, u.User)
		}
	}
	return nil
}

// ErrMappingMissing: an earlier run decided who becomes who, and nobody says what.
var ErrMappingMissing = errors.New("the store has an earlier import of this workspace, and not the mapping of it")

// anew refuses an import without a mapping if there was one before: who had become an account of
// another id would come a second time.
func (w *writer) anew(ctx context.Context) error {
	var ids []im.UserID
	for _, key := range w.c.order {
		ids = append(ids, w.userID(key))
	}
	there, err := w.t.Directory.Users(ctx, ids)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return ErrMappingMissing
	}
	for _, v := range w.c.inOrder {
		if v.Kind == Direct {
			continue
		}
		g, _, err := w.t.Directory.Group(ctx, w.groupID(v.Key), nil)
		if err != nil {
			return err
		}
		if g.Conversation != "" {
			return ErrMappingMissing
		}
	}
	return nil
}

// Write writes it to a file, as a whole or not at all.
func (m *Mapping) Write(name string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	part := name + ".new"
	if err := os.WriteFile(part, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(part, name)
}

// mix is what all ids are made of: where something comes from, and what it is.
func (w *writer) mix(parts ...string) []byte {
	h := sha256.New()
	for _, p := range append([]string{"skein import", w.o.System, w.o.Workspace}, parts...) {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return h.Sum(nil)
}

var lower32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// userID is the id of a user of the export, as long as those of users who register.
func (w *writer) userID(key string) im.UserID {
	return im.UserID(lower32.EncodeToString(w.mix("user", key)[:8]))
}

func (w *writer) groupID(key string) im.ConversationID {
	return im.Group(lower32.EncodeToString(w.mix("conversation", key)[:15]))
}

// person is a user of the export here.
type person struct {
	*User
	id       im.UserID
	username string
	display  string
	// there: the account is there already. given: it is one that the mapping named.
	there, given bool
	now          im.User // as it is, if there
}

// mentioned is by what name one is mentioned.
func (p *person) mentioned() string { return cmp.Or(p.username, p.display) }

// plan decides who becomes who. What it decides is a mapping again, and the same the next time.
func (w *writer) plan(ctx context.Context, given *Mapping) (*Mapping, error) {
	wanted := map[string]*MappedUser{}
	out := &Mapping{System: w.o.System, Workspace: w.o.Workspace}
	if given != nil {
		if given.System != w.o.System || given.Workspace != w.o.Workspace {
			return nil, fmt.Errorf("the mapping is of %s %q, and the import of %s %q", given.System, given.Workspace, w.o.System, w.o.Workspace)
		}
		out.UsersMade = given.UsersMade
		for i := range given.Users {
			u := &given.Users[i]
			if wanted[u.Key] != nil {
				return nil, fmt.Errorf("the mapping names the user %q twice", u.Key)
			}
			wanted[u.Key] = u
		}
	}
	var ids []im.UserID
	for _, key := range w.c.order {
		p := &person{User: w.c.users[key], id: w.userID(key)}
		if m := wanted[key]; m != nil && m.User != "" {
			p.id, p.given = im.UserID(m.User), true
		}
		w.people[key] = p
		ids = append(ids, p.id)
	}
	there, err := w.t.Directory.Users(ctx, ids)
	if err != nil {
		return nil, err
	}
	known := map[im.UserID]im.User{}
	for _, u := range there {
		known[u.ID] = u
	}
	taken := map[string]bool{}
	for _, u := range there {
		taken[u.Username] = true
	}
	var absent []MappedUser
	for key, m := range wanted {
		if w.people[key] == nil {
			if m.User != "" { // a later export may have them again
				absent = append(absent, *m)
			}
			w.c.Problemf("the mapping", "the export has no user %.80q", key)
		} else if m.User == "" && m.Username != "" {
			taken[m.Username] = true // before what others are given
		}
	}
	for _, key := range w.c.order {
		p := w.people[key]
		p.now, p.there = known[p.id]
		m, err := w.planOne(ctx, p, wanted[key], taken)
		if err != nil {
			return nil, err
		}
		out.Users = append(out.Users, m)
	}
	slices.SortFunc(absent, func(a, b MappedUser) int { return cmp.Compare(a.Key, b.Key) })
	out.Users = append(out.Users, absent...)
	return out, nil
}

// planOne decides about one user.
func (w *writer) planOne(ctx context.Context, p *person, m *MappedUser, taken map[string]bool) (MappedUser, error) {
	out := MappedUser{Key: p.Key, Name: p.Name, Email: p.Email}
	p.display = shownName(p.Display, cmp.Or(p.Name, p.Key), maxDisplay)
	switch {
	case p.given && !p.there:
		return out, fmt.Errorf("the mapping makes %q the account %q, which is not there", p.Key, p.id)
	case p.given && p.now.Deleted:
		return out, fmt.Errorf("the mapping makes %q the account %q, which was deleted", p.Key, p.id)
	case p.given:
		out.User = string(p.id)
	case m != nil && m.Username != "" && !p.there:
		if !validUsername(m.Username) {
			return out, fmt.Errorf("the mapping gives %q the username %q: it must match [a-z0-9_.-]{3,32}", p.Key, m.Username)
		}
		free, err := w.free(ctx, m.Username, p.id)
		if err != nil || !free {
			return out, cmp.Or(err, fmt.Errorf("the mapping gives %q the username %q, which is taken: give another one, or name the account as user", p.Key, m.Username))
		}
		p.username, out.Note = m.Username, m.Note
	case m != nil || p.Name == "":
	case !p.there:
		var err error
		if p.username, out.Note, err = w.propose(ctx, p, taken); err != nil {
			return out, err
		}
	}
	if p.now.Deleted {
		w.c.Problemf("user "+p.Key, "their account was deleted here: nobody is their contact, and they are in no group")
	}
	if p.there {
		p.username, p.display = p.now.Username, cmp.Or(p.now.DisplayName, p.display)
	}
	if out.User == "" {
		out.Username = p.username
	}
	if out.Note != "" && m == nil {
		w.c.Problemf("user "+p.Key, "%s", out.Note)
	}
	return out, nil
}

// free tells whether nobody has a username, and it is held for nobody.
func (w *writer) free(ctx context.Context, name string, for_ im.UserID) (bool, error) {
	u, err := w.t.Directory.UserByName(ctx, name)
	if im.CodeOf(err) == im.CodeNotFound {
		u, err = w.t.Directory.UserByFormerName(ctx, name, w.t.Now())
	}
	if im.CodeOf(err) == im.CodeNotFound {
		return true, nil
	}
	return err == nil && u.ID == for_, err
}

// propose finds a username by the rules of this server that is near the one there.
func (w *writer) propose(ctx context.Context, p *person, taken map[string]bool) (name, note string, err error) {
	base := usernameOf(p.Name)
	for n := 1; n < 10000; n++ {
		name = base
		if n > 1 {
			end := fmt.Sprintf("-%d", n)
			name = base[:min(len(base), 32-len(end))] + end
		}
		if taken[name] {
			continue
		}
		free, err := w.free(ctx, name, p.id)
		if err != nil {
			return "", "", err
		}
		if !free {
			continue
		}
		taken[name] = true
		switch {
		case n > 1:
			note = fmt.Sprintf("the username %q is taken; proposed is %q", base, name)
		case name != strings.ToLower(p.Name): // usernames are of any case there
			note = fmt.Sprintf("%.80q is no username here; proposed is %q", p.Name, name)
		}
		return name, note, nil
	}
	return "", "", fmt.Errorf("there is no username left like %q", base)
}

func validUsername(s string) bool { return usernameOf(s) == s }

// usernameOf makes a name match [a-z0-9_.-]{3,32}.
func usernameOf(s string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
			return r
		}
		return '_'
	}, s)
	for len(name) < 3 {
		name += "_"
	}
	return name[:min(len(name), 32)]
}

// The limits of accounts and groups (internal/account, internal/group).
const (
	maxDisplay     = 64
	maxAbout       = 200
	maxGroupName   = 64
	maxDescription = 500
)

// shownName makes a name by the rules of this server: without what is not seen, on one line,
// at most most characters. What nothing is left of is other.
func shownName(name, other string, most int) string {
	for _, s := range []string{name, other} {
		var out []rune
		for _, r := range strings.Join(strings.Fields(cleaned(s[:min(len(s), 1000)])), " ") {
			if try := append(out, r); len(try) <= most && im.CheckName("name", string(try), 0, most) == nil {
				out = try
			}
		}
		if s := strings.TrimSpace(string(out)); im.CheckName("name", s, 1, most) == nil {
			return s
		}
	}
	return "?"
}

// cut is the first of a text's characters.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
