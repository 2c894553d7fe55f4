// Package exporttest makes exports of Slack, Mattermost and Rocket.Chat for tests: one story in
// the form of each, so that what an import made of it can be compared with the story.
//
// It owns no state, starts no goroutine and takes no lock.
package exporttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Story is what was said.
type Story struct {
	Users []User
	Rooms []Room
}

// User is somebody.
type User struct {
	Name, Display string
	Gone          bool
}

// Room is a channel, or a chat.
type Room struct {
	Name string
	// Kind is public, private, direct or several.
	Kind     string
	Members  []int // of Users; the first made it, and is its admin
	Archived bool
	Messages []Message // in the order of their times
}

// Message is what somebody said.
type Message struct {
	Author int
	AtMs   int64
	Text   string
	// Root is the message in whose thread it is, by its place in the room; -1: in none.
	Root      int
	InMain    bool
	EditedMs  int64
	Reactions []Reaction
	// File is the content of a file, "" for none.
	File, FileName string
	// System: nobody said it, it was noted that somebody joined.
	System bool
}

// Reaction is who reacted with what: a short name that all systems know.
type Reaction struct {
	Name  string
	Users []int
}

// Counts are what an import of the story comes to.
func (s *Story) Counts() (messages, system, replies, reactions, files int64) {
	for _, r := range s.Rooms {
		for _, m := range r.Messages {
			if messages++; m.System {
				system++
				continue
			}
			if m.Root >= 0 {
				replies++
			}
			if m.File != "" {
				files++
			}
			for _, x := range m.Reactions {
				reactions += int64(len(x.Users))
			}
		}
	}
	return messages, system, replies, reactions, files
}

// Start is when stories begin.
var Start = time.Date(2021, 5, 3, 7, 0, 0, 0, time.UTC)

// Random makes a story of so many messages: channels with threads, reactions, edits and files,
// and chats of two and three.
func Random(messages int, seed uint64) *Story {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &Story{}
	for i := range 12 {
		s.Users = append(s.Users, User{Name: fmt.Sprintf("user%02d", i), Display: fmt.Sprintf("User Number %d", i), Gone: i == 11})
	}
	all := make([]int, len(s.Users))
	for i := range all {
		all[i] = i
	}
	s.Rooms = []Room{
		{Name: "general", Kind: "public", Members: all}, {Name: "random", Kind: "public", Members: all[:8]}, {Name: "secret", Kind: "private", Members: []int{2, 3, 4}},
		{Name: "old", Kind: "public", Members: all[:5], Archived: true}, {Kind: "direct", Members: []int{0, 1}}, {Kind: "direct", Members: []int{2, 11}}, {Kind: "several", Members: []int{0, 1, 2, 3}},
	}
	at := Start.UnixMilli()
	for i := range messages {
		at += r.Int64N(60_000) + 1
		room := &s.Rooms[min(r.IntN(10), len(s.Rooms)-1)]
		pick := func() int { return room.Members[r.IntN(len(room.Members))] }
		m := Message{Author: pick(), AtMs: at, Text: fmt.Sprintf("message %d of %s with Grüße 你好", i, room.Name), Root: -1}
		switch n := r.IntN(40); {
		case n < 8 && len(room.Messages) > 3:
			root := len(room.Messages) - 1 - r.IntN(min(len(room.Messages), 200))
			if x := &room.Messages[root]; x.Root < 0 && !x.System {
				m.Root, m.InMain = root, n == 0
			}
		case n < 12:
			m.Reactions = []Reaction{{"+1", []int{pick()}}, {"tada", slices.Compact(slices.Sorted(slices.Values([]int{pick(), pick()})))}}
		case n == 13:
			m.EditedMs = at + 5000
		case n == 14:
			m.System = true
		case n == 15:
			m.File, m.FileName = fmt.Sprintf("content of file %d\n%0*d", i, r.IntN(3000), i), fmt.Sprintf("file%d.txt", i)
		}
		room.Messages = append(room.Messages, m)
	}
	return s
}

// Write writes the story as an export of a system into a directory.
func Write(dir, system string, s *Story) error {
	w := &writing{dir: dir, s: s}
	switch system {
	case "slack":
		w.slack()
	case "mattermost":
		w.mattermost()
	case "rocketchat":
		w.rocketchat()
	default:
		return fmt.Errorf("no such system: %s", system)
	}
	for _, f := range w.open {
		w.fail(f.Flush())
	}
	for _, f := range w.files {
		w.fail(f.Close())
	}
	return w.err
}

type writing struct {
	dir   string
	s     *Story
	open  map[string]*bufio.Writer
	files []*os.File
	err   error
}

func (w *writing) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// to is a file of the export.
func (w *writing) to(name string) *bufio.Writer {
	if f := w.open[name]; f != nil {
		return f
	}
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	w.fail(os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.Create(path)
	if err != nil {
		w.fail(err)
		return bufio.NewWriter(nil)
	}
	if w.open == nil {
		w.open = map[string]*bufio.Writer{}
	}
	w.open[name], w.files = bufio.NewWriter(f), append(w.files, f)
	return w.open[name]
}

type object = map[string]any

// line writes an object on a line of its own.
func (w *writing) line(name string, x any) {
	b, err := json.Marshal(x)
	w.fail(err)
	_, err = w.to(name).Write(append(b, '\n'))
	w.fail(err)
}

// whole writes a file that is one value.
func (w *writing) whole(name string, x any) {
	b, err := json.MarshalIndent(x, "", "  ")
	w.fail(err)
	_, err = w.to(name).Write(b)
	w.fail(err)
}

func (w *writing) text(name, content string) {
	_, err := w.to(name).WriteString(content)
	w.fail(err)
	f := w.open[name]
	delete(w.open, name) // there are many of them
	w.fail(f.Flush())
	w.fail(w.files[len(w.files)-1].Close())
	w.files = w.files[:len(w.files)-1]
}

func slackUserID(n int) string { return fmt.Sprintf("U%04d", n) }

func slackTS(ms int64) string { return fmt.Sprintf("%d.%06d", ms/1000, ms%1000*1000) }

func (w *writing) slack() {
	var users []object
	for i, u := range w.s.Users {
		users = append(users, object{"id": slackUserID(i), "name": u.Name, "deleted": u.Gone, "profile": object{"display_name": u.Display, "email": u.Name + "@example.com"}})
	}
	w.whole("users.json", users)
	lists := map[string][]object{"public": {}, "private": {}, "direct": {}, "several": {}}
	for n, r := range w.s.Rooms {
		id := fmt.Sprintf("%c%04d", map[string]rune{"public": 'C', "private": 'G', "direct": 'D', "several": 'G'}[r.Kind], n)
		dir := r.Name
		if r.Kind == "direct" {
			dir = id
		} else if r.Kind == "several" {
			dir = fmt.Sprintf("mpdm-%d", n)
		}
		var members []string
		for _, m := range r.Members {
			members = append(members, slackUserID(m))
		}
		c := object{"id": id, "created": Start.Unix() - 1000, "members": members}
		if r.Kind != "direct" {
			c["name"], c["creator"], c["is_archived"] = dir, members[0], r.Archived
		}
		lists[r.Kind] = append(lists[r.Kind], c)
		w.slackDays(dir, &r)
	}
	for kind, file := range map[string]string{"public": "channels.json", "private": "groups.json", "direct": "dms.json", "several": "mpims.json"} {
		w.whole(file, lists[kind])
	}
}

func (w *writing) slackDays(dir string, r *Room) {
	days := map[string][]object{}
	roots := map[int]bool{}
	for _, m := range r.Messages {
		if m.Root >= 0 {
			roots[m.Root] = true
		}
	}
	for i, m := range r.Messages {
		x := object{"type": "message", "user": slackUserID(m.Author), "ts": slackTS(m.AtMs), "text": m.Text}
		if m.System {
			x["subtype"] = "channel_join"
		}
		if roots[i] {
			x["thread_ts"] = x["ts"]
		}
		if m.Root >= 0 {
			if x["thread_ts"] = slackTS(r.Messages[m.Root].AtMs); m.InMain {
				x["subtype"] = "thread_broadcast"
			}
		}
		if m.EditedMs > 0 {
			x["edited"] = object{"user": slackUserID(m.Author), "ts": slackTS(m.EditedMs)}
		}
		var reactions []object
		for _, re := range m.Reactions {
			var by []string
			for _, u := range re.Users {
				by = append(by, slackUserID(u))
			}
			reactions = append(reactions, object{"name": re.Name, "users": by, "count": len(by)})
		}
		x["reactions"] = reactions
		if m.File != "" {
			id := fmt.Sprintf("F%s%06d", dir, i)
			x["files"] = []object{{"id": id, "name": m.FileName, "mode": "hosted", "url_private": "https://files.slack.com/files-pri/T1-" + id + "/" + m.FileName}}
			w.text("__uploads/"+id+"/"+m.FileName, m.File)
		}
		day := time.UnixMilli(m.AtMs).UTC().Format("2006-01-02")
		days[day] = append(days[day], x)
	}
	for day, all := range days {
		w.whole(dir+"/"+day+".json", all)
	}
}

func (w *writing) mattermost() {
	const file = "import.jsonl"
	w.line(file, object{"type": "version", "version": 1})
	w.line(file, object{"type": "team", "team": object{"name": "team", "display_name": "The Team", "type": "O"}})
	for _, r := range w.s.Rooms {
		if r.Name == "" {
			continue
		}
		kind, deleted := "O", int64(0)
		if r.Kind == "private" {
			kind = "P"
		}
		if r.Archived {
			deleted = Start.UnixMilli()
		}
		w.line(file, object{"type": "channel", "channel": object{"team": "team", "name": r.Name, "display_name": r.Name, "type": kind, "deleted_at": deleted}})
	}
	for i, u := range w.s.Users {
		var channels []object
		for _, r := range w.s.Rooms {
			if r.Name != "" && slices.Contains(r.Members, i) {
				roles := "channel_user"
				if r.Members[0] == i {
					roles += " channel_admin"
				}
				channels = append(channels, object{"name": r.Name, "roles": roles})
			}
		}
		deleted := int64(0)
		if u.Gone {
			deleted = Start.UnixMilli()
		}
		w.line(file, object{"type": "user", "user": object{
			"username": u.Name, "email": u.Name + "@example.com", "nickname": u.Display, "delete_at": deleted, "teams": []object{{"name": "team", "channels": channels}},
		}})
	}
	for _, r := range w.s.Rooms {
		var members []string
		for _, m := range r.Members {
			members = append(members, w.s.Users[m].Name)
		}
		if r.Name == "" {
			w.line(file, object{"type": "direct_channel", "direct_channel": object{"members": members}})
		}
		for i, m := range r.Messages {
			if m.Root >= 0 {
				continue
			}
			p := w.mmPost(&r, i)
			var replies []object
			for k := i + 1; k < len(r.Messages); k++ {
				if r.Messages[k].Root == i {
					replies = append(replies, w.mmPost(&r, k))
				}
			}
			p["replies"] = replies
			if r.Name == "" {
				p["channel_members"] = members
				w.line(file, object{"type": "direct_post", "direct_post": p})
				continue
			}
			p["team"], p["channel"] = "team", r.Name
			w.line(file, object{"type": "post", "post": p})
		}
	}
}

func (w *writing) mmPost(r *Room, i int) object {
	m := &r.Messages[i]
	p := object{"user": w.s.Users[m.Author].Name, "message": m.Text, "create_at": m.AtMs, "edit_at": m.EditedMs}
	if m.System {
		p["type"] = "system_join_channel"
	}
	var reactions []object
	for _, re := range m.Reactions {
		for _, u := range re.Users {
			reactions = append(reactions, object{"user": w.s.Users[u].Name, "emoji_name": re.Name, "create_at": m.AtMs + 1})
		}
	}
	p["reactions"] = reactions
	if m.File != "" {
		path := fmt.Sprintf("20210503/teams/t/channels/%d/%s", i, m.FileName)
		p["attachments"] = []object{{"path": path}}
		w.text("data/"+path, m.File)
	}
	return p
}

func (w *writing) rocketchat() {
	ref := func(n int) object {
		return object{"_id": fmt.Sprintf("rcuser%d", n), "username": w.s.Users[n].Name, "name": w.s.Users[n].Display}
	}
	date := func(ms int64) object {
		return object{"$date": time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")}
	}
	for i, u := range w.s.Users {
		x := ref(i)
		x["active"], x["type"], x["emails"] = !u.Gone, "user", []object{{"address": u.Name + "@example.com"}}
		w.line("users.json", x)
	}
	w.to("rocketchat_uploads.json")
	for n, r := range w.s.Rooms {
		rid := fmt.Sprintf("room%d", n)
		x := object{"_id": rid, "t": map[string]string{"public": "c", "private": "p", "direct": "d", "several": "d"}[r.Kind], "ts": date(Start.UnixMilli() - 1000)}
		if r.Name != "" {
			x["name"], x["u"], x["archived"] = r.Name, ref(r.Members[0]), r.Archived
		}
		var uids []string
		for i, m := range r.Members {
			uids = append(uids, fmt.Sprintf("rcuser%d", m))
			var roles []string
			if i == 0 {
				roles = []string{"owner"}
			}
			w.line("rocketchat_subscription.json", object{"_id": fmt.Sprint(rid, "-", m), "rid": rid, "u": ref(m), "roles": roles})
		}
		if r.Name == "" {
			x["uids"] = uids
		}
		w.line("rocketchat_room.json", x)
		for i, m := range r.Messages {
			d := object{"_id": fmt.Sprintf("%s-%d", rid, i), "rid": rid, "msg": m.Text, "ts": date(m.AtMs), "u": ref(m.Author)}
			if m.System {
				d["t"] = "uj"
			}
			if m.Root >= 0 {
				d["tmid"], d["tshow"] = fmt.Sprintf("%s-%d", rid, m.Root), m.InMain
			}
			if m.EditedMs > 0 {
				d["editedAt"] = date(m.EditedMs)
			}
			reactions := object{}
			for _, re := range m.Reactions {
				var by []string
				for _, u := range re.Users {
					by = append(by, w.s.Users[u].Name)
				}
				reactions[":"+re.Name+":"] = object{"usernames": by}
			}
			d["reactions"] = reactions
			if m.File != "" {
				id := fmt.Sprintf("file-%s-%d", rid, i)
				d["file"] = object{"_id": id, "name": m.FileName}
				w.line("rocketchat_uploads.json", object{"_id": id, "name": m.FileName, "complete": true})
				w.text("uploads/"+id, m.File)
			}
			w.line("rocketchat_message.json", d)
		}
	}
}
