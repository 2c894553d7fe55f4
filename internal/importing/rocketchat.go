package importing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rocketchat reads what mongoexport makes of the collections of Rocket.Chat, one document a
// line: users.json, rocketchat_room.json, rocketchat_subscription.json,
// rocketchat_message.json and rocketchat_uploads.json, in a directory or a zip. Files are
// uploads/ID or uploads/ID.EXTENSION, as the server's FileSystem storage keeps them.
type rocketchat struct {
	*archive
	uploads map[string]rcUpload
	rooms   map[string]bool
}

func (s *rocketchat) System() string { return "rocketchat" }

func (s *rocketchat) Open(p string) (io.ReadCloser, int64, error) { return s.open(p) }

// rcTime is a date as mongoexport writes it: {"$date": "2024-…"}, {"$date": {"$numberLong":
// "…"}} or {"$date": 1704…}, in milliseconds since 1970.
type rcTime int64

func (t *rcTime) UnmarshalJSON(b []byte) error {
	var x struct {
		Date json.RawMessage `json:"$date"`
	}
	if string(b) == "null" {
		return nil
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	var long struct {
		N string `json:"$numberLong"`
	}
	var text string
	var n int64
	switch {
	case json.Unmarshal(x.Date, &text) == nil:
		at, err := time.Parse(time.RFC3339, text)
		*t = rcTime(at.UnixMilli())
		return err
	case json.Unmarshal(x.Date, &n) == nil:
		*t = rcTime(n)
		return nil
	case json.Unmarshal(x.Date, &long) == nil && long.N != "":
		n, err := strconv.ParseInt(long.N, 10, 64)
		*t = rcTime(n)
		return err
	}
	return errors.New("no date of mongoexport")
}

type rcRef struct {
	ID       string `json:"_id"`
	Username string `json:"username"`
	Name     string `json:"name"`
}

type rcUser struct {
	rcRef
	Type   string   `json:"type"`
	Active *bool    `json:"active"`
	Roles  []string `json:"roles"`
	Bio    string   `json:"bio"`
	Emails []struct {
		Address string `json:"address"`
	} `json:"emails"`
}

type rcRoom struct {
	ID          string   `json:"_id"`
	T           string   `json:"t"`
	Name        string   `json:"name"`
	FName       string   `json:"fname"`
	Topic       string   `json:"topic"`
	Description string   `json:"description"`
	TS          rcTime   `json:"ts"`
	U           rcRef    `json:"u"`
	Archived    bool     `json:"archived"`
	ReadOnly    bool     `json:"ro"`
	UIDs        []string `json:"uids"`
}

type rcSubscription struct {
	RID   string   `json:"rid"`
	U     rcRef    `json:"u"`
	Roles []string `json:"roles"`
}

type rcUpload struct {
	ID       string `json:"_id"`
	Name     string `json:"name"`
	Complete *bool  `json:"complete"`
}

type rcMessage struct {
	ID        string  `json:"_id"`
	RID       string  `json:"rid"`
	T         string  `json:"t"`
	Msg       string  `json:"msg"`
	TS        rcTime  `json:"ts"`
	U         rcRef   `json:"u"`
	Alias     string  `json:"alias"`
	TMID      string  `json:"tmid"`
	TShow     bool    `json:"tshow"`
	EditedAt  *rcTime `json:"editedAt"`
	Hidden    bool    `json:"_hidden"`
	Pinned    bool    `json:"pinned"`
	Reactions map[string]struct {
		Usernames []string `json:"usernames"`
	} `json:"reactions"`
	File        *rcUpload  `json:"file"`
	Files       []rcUpload `json:"files"`
	Attachments []struct {
		Title       string `json:"title"`
		Text        string `json:"text"`
		Description string `json:"description"`
		Type        string `json:"type"`
		Link        string `json:"message_link"`
	} `json:"attachments"`
}

func (s *rocketchat) Read(ctx context.Context, to *Collector) error {
	for _, need := range []string{"users.json", "rocketchat_room.json", "rocketchat_message.json"} {
		if !s.has(need) {
			return fmt.Errorf("%s is missing: this is no export of the collections of Rocket.Chat", need)
		}
	}
	s.uploads, s.rooms = map[string]rcUpload{}, map[string]bool{}
	for _, c := range []struct {
		file string
		take func(where string, text []byte) error
	}{
		{"users.json", func(where string, text []byte) error { return document(to, where, text, "", s.user) }},
		{"rocketchat_room.json", func(where string, text []byte) error { return document(to, where, text, "", s.room) }},
		{"rocketchat_subscription.json", func(where string, text []byte) error { return document(to, where, text, "", s.subscription) }},
		{"rocketchat_uploads.json", func(where string, text []byte) error { return document(to, where, text, "", s.upload) }},
		{"rocketchat_message.json", func(where string, text []byte) error { return document(to, where, text, "message", s.message) }},
	} {
		if !s.has(c.file) {
			to.Problem(c.file, "it is missing: what it says is not known")
			continue
		}
		r, _, err := s.open(c.file)
		if err != nil {
			return err
		}
		where := func(line int) string { return fmt.Sprintf("%s:%d", c.file, line) }
		err = lines(ctx, r, func(line int, err error) {
			to.Problem(where(line), err.Error())
			if c.file == "rocketchat_message.json" {
				to.LeaveOut(&Message{}, "it cannot be read")
			}
		}, func(line int, text []byte) error { return c.take(where(line), text) })
		if err := errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("%s: %w", c.file, err)
		}
	}
	return nil
}

// document decodes a document; what cannot be decoded is told, and of a message counted.
func document[T any](to *Collector, where string, text []byte, what string, take func(to *Collector, where string, x *T) error) error {
	var x T
	if err := json.Unmarshal(text, &x); err != nil {
		to.Problemf(where, "it cannot be read: %v", err)
		if what == "message" {
			to.LeaveOut(&Message{}, "it cannot be read")
		}
		return nil
	}
	return take(to, where, &x)
}

func (s *rocketchat) user(to *Collector, where string, u *rcUser) error {
	email := ""
	if len(u.Emails) > 0 {
		email = u.Emails[0].Address
	}
	to.User(where, User{
		Key: u.ID, Name: u.Username, Display: cmp.Or(u.Name, u.Username), Email: email, About: u.Bio,
		Bot: u.Type == "bot" || slices.Contains(u.Roles, "bot"), Gone: u.Active != nil && !*u.Active,
	})
	return nil
}

func (s *rocketchat) room(to *Collector, where string, r *rcRoom) error {
	v := Conversation{
		Key: r.ID, Name: cmp.Or(r.FName, r.Name), Topic: r.Topic, Purpose: r.Description, CreatedMs: int64(r.TS), Creator: r.U.ID,
		Archived: r.Archived || r.ReadOnly, Members: r.UIDs, Where: where,
	}
	switch {
	case r.T == "c":
		v.Kind = Public
	case r.T == "p":
		v.Kind = Private
	case r.T == "d" && len(r.UIDs) <= 2:
		v.Kind = Direct
	case r.T == "d":
		v.Kind = Several
	default: // live chats with guests of web sites and such
		to.Problemf(where, "a room of type %.80q, which does not come over", r.T)
		return nil
	}
	if r.T == "d" {
		v.Name, v.Creator = "", ""
	}
	s.rooms[r.ID] = true
	to.Conversation(v)
	return nil
}

func (s *rocketchat) subscription(to *Collector, _ string, x *rcSubscription) error {
	if s.rooms[x.RID] && x.U.ID != "" {
		to.Member(x.RID, x.U.ID, slices.Contains(x.Roles, "owner") || slices.Contains(x.Roles, "moderator"))
	}
	return nil
}

func (s *rocketchat) upload(_ *Collector, _ string, u *rcUpload) error {
	s.uploads[u.ID] = *u
	return nil
}

func (s *rocketchat) message(to *Collector, where string, x *rcMessage) error {
	m := Message{
		Key: x.ID, Conversation: x.RID, Author: x.U.ID, AuthorName: cmp.Or(x.Alias, x.U.Name, x.U.Username), At: int64(x.TS) * 1000, Text: x.Msg,
		Root: x.TMID, InMain: x.TMID != "" && x.TShow, Pinned: x.Pinned, Where: where,
	}
	switch {
	case x.T == "rm" || x.Hidden:
		to.LeaveOut(&m, "deleted")
		return nil
	case x.T == "e2e":
		to.LeaveOut(&m, "encrypted from end to end")
		return nil
	case x.T != "":
		to.LeaveOut(&m, "system message")
		return nil
	case !s.rooms[x.RID]:
		to.LeaveOut(&m, "its channel is in no list")
		return nil
	}
	if x.EditedAt != nil {
		m.EditedMs = int64(*x.EditedAt)
	}
	names := make([]string, 0, len(x.Reactions))
	for name := range x.Reactions {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		m.Reactions = append(m.Reactions, Reaction{strings.Trim(name, ":"), x.Reactions[name].Usernames})
	}
	s.files(&m, x)
	for _, a := range x.Attachments {
		add := cmp.Or(a.Description, a.Text)
		if a.Link != "" && a.Text != "" { // what is quoted
			add = "> " + strings.ReplaceAll(a.Text, "\n", "\n> ")
			m.Text = strings.TrimPrefix(add+"\n\n"+m.Text, "\n")
			continue
		}
		if add != "" {
			m.Text = strings.TrimPrefix(m.Text+"\n"+add, "\n")
		}
	}
	return to.Message(m)
}

// files are those of a message, without the small pictures that the server made of them.
func (s *rocketchat) files(m *Message, x *rcMessage) {
	all := x.Files
	if len(all) == 0 && x.File != nil {
		all = []rcUpload{*x.File}
	}
	for _, f := range all {
		if strings.HasPrefix(f.Name, "thumb-") && len(all) > 1 {
			continue
		}
		u := s.uploads[f.ID]
		name := cmp.Or(u.Name, f.Name, f.ID)
		p := ""
		if !strings.ContainsAny(f.ID, `/\`) { // who wrote the message may have said what its id is
			p = path.Join("uploads", f.ID)
			if ext := path.Ext(name); !s.has(p) && ext != "" {
				p += ext
			}
		}
		m.Files = append(m.Files, File{Name: name, Path: p})
	}
}
