package importing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// slack reads an export of a Slack workspace, as its administrators download it: a zip (or the
// directory of one) with users.json, channels.json, groups.json (private channels), dms.json,
// mpims.json, and a directory of days for each of them, 2024-01-31.json. Files are links there,
// unless a tool has put them into the zip: __uploads/ID/NAME, or DIRECTORY/attachments/ID-NAME.
type slack struct {
	*archive
	uploads map[string]string // id of a file → where it is
}

func (s *slack) System() string { return "slack" }

func (s *slack) Open(p string) (io.ReadCloser, int64, error) { return s.open(p) }

type slackUser struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Deleted bool   `json:"deleted"`
	IsBot   bool   `json:"is_bot"`
	Real    string `json:"real_name"`
	Profile struct {
		Real    string `json:"real_name"`
		Display string `json:"display_name"`
		Email   string `json:"email"`
		Title   string `json:"title"`
		Image   string `json:"image_512"`
		Small   string `json:"image_192"`
		Custom  bool   `json:"is_custom_image"`
	} `json:"profile"`
}

type slackChannel struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Created  int64    `json:"created"`
	Creator  string   `json:"creator"`
	Archived bool     `json:"is_archived"`
	Members  []string `json:"members"`
	Topic    struct {
		Value string `json:"value"`
	} `json:"topic"`
	Purpose struct {
		Value string `json:"value"`
	} `json:"purpose"`
	Pins []struct {
		ID string `json:"id"`
	} `json:"pins"`
}

type slackMessage struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	User     string `json:"user"`
	Bot      string `json:"bot_id"`
	Username string `json:"username"`
	Text     string `json:"text"`
	TS       string `json:"ts"`
	Thread   string `json:"thread_ts"`
	Edited   *struct {
		TS string `json:"ts"`
	} `json:"edited"`
	Reactions []struct {
		Name  string   `json:"name"`
		Users []string `json:"users"`
	} `json:"reactions"`
	Files []struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Title    string `json:"title"`
		Mode     string `json:"mode"`
		URL      string `json:"url_private_download"`
		Private  string `json:"url_private"`
		External bool   `json:"is_external"`
	} `json:"files"`
	Attachments []struct {
		Fallback string `json:"fallback"`
		Pretext  string `json:"pretext"`
		Title    string `json:"title"`
		Text     string `json:"text"`
		From     string `json:"from_url"`
	} `json:"attachments"`
	UserProfile struct {
		Real string `json:"real_name"`
	} `json:"user_profile"`
}

func (s *slack) Read(ctx context.Context, to *Collector) error {
	users := "users.json"
	if !s.has(users) {
		users = "org_users.json"
	}
	if !s.has(users) {
		return errors.New("users.json is missing: this is no export of Slack")
	}
	if err := s.readUsers(ctx, to, users); err != nil {
		return err
	}
	if err := s.findUploads(); err != nil {
		return err
	}
	dirs := map[string]string{} // directory → conversation
	pins := map[string]bool{}
	for _, l := range []struct {
		file string
		kind ConversationKind
	}{{"channels.json", Public}, {"groups.json", Private}, {"dms.json", Direct}, {"mpims.json", Several}} {
		if err := s.readChannels(ctx, to, l.file, l.kind, dirs, pins); err != nil {
			return err
		}
	}
	return s.readDays(ctx, to, dirs, pins)
}

// each reads a file that is an array. What is wrong with it as a whole is told.
func (s *slack) each(ctx context.Context, to *Collector, file string, f func(where string, raw json.RawMessage) error) error {
	r, _, err := s.open(file)
	if err != nil {
		to.Problem(file, err.Error())
		return nil
	}
	defer r.Close()
	var bad *lineError
	err = array(ctx, r, func(line int, raw json.RawMessage) error { return f(fmt.Sprintf("%s:%d", file, line), raw) })
	if errors.As(err, &bad) {
		to.Problemf(fmt.Sprintf("%s:%d", file, bad.line), "the file is damaged here, and is read no further: %v", bad.err)
		return nil
	}
	var unreadable *json.SyntaxError
	if err != nil && !errors.As(err, &unreadable) {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func (s *slack) readUsers(ctx context.Context, to *Collector, file string) error {
	return s.each(ctx, to, file, func(where string, raw json.RawMessage) error {
		var u slackUser
		if err := json.Unmarshal(raw, &u); err != nil {
			to.Problemf(where, "no user that can be read: %v", err)
			return nil
		}
		p := &u.Profile
		to.User(where, User{
			Key: u.ID, Name: u.Name, Display: cmp.Or(p.Display, p.Real, u.Real, u.Name), Email: p.Email, About: p.Title,
			Picture: File{URL: cmp.Or(p.Image, p.Small)}, Bot: u.IsBot || u.ID == "USLACKBOT", Gone: u.Deleted,
		})
		return nil
	})
}

// findUploads finds the files that a tool has put into the export.
func (s *slack) findUploads() error {
	names, err := s.list("")
	if err != nil {
		return err
	}
	s.uploads = map[string]string{}
	for _, n := range names {
		parts := strings.Split(n, "/")
		switch {
		case len(parts) == 3 && parts[0] == "__uploads":
			s.uploads[parts[1]] = n
		case len(parts) == 3 && parts[1] == "attachments":
			if id, _, ok := strings.Cut(parts[2], "-"); ok {
				s.uploads[id] = n
			}
		}
	}
	return nil
}

// eitherChannel stands for the channel of a directory that two channels have. It is no channel's id.
const eitherChannel = "\x00"

func (s *slack) readChannels(ctx context.Context, to *Collector, file string, kind ConversationKind, dirs map[string]string, pins map[string]bool) error {
	if !s.has(file) {
		return nil // of an export of public channels there are no others
	}
	return s.each(ctx, to, file, func(where string, raw json.RawMessage) error {
		var c slackChannel
		if err := json.Unmarshal(raw, &c); err != nil || c.ID == "" {
			to.Problemf(where, "no channel that can be read: %v", err)
			return nil
		}
		v := Conversation{
			Key: c.ID, Kind: kind, Name: c.Name, Topic: c.Topic.Value, Purpose: c.Purpose.Value, CreatedMs: c.Created * 1000,
			Creator: c.Creator, Archived: c.Archived, Members: c.Members, Where: where,
		}
		dir := c.Name
		if kind == Direct || dir == "" {
			dir, v.Name = c.ID, ""
		}
		if kind == Several {
			v.Name = "" // it is made of the members' names
		}
		if other, taken := dirs[dir]; taken && other != c.ID {
			to.Problemf(where, "the channel %.80q has the same directory as another one, %.80q; the messages in it are left out, because they may be of either", c.ID, dir)
			dirs[dir] = eitherChannel
		} else {
			dirs[dir] = c.ID
		}
		for _, p := range c.Pins {
			pins[c.ID+"/"+p.ID] = true
		}
		to.Conversation(v)
		return nil
	})
}

// readDays reads the messages, directory by directory, day by day.
func (s *slack) readDays(ctx context.Context, to *Collector, dirs map[string]string, pins map[string]bool) error {
	names, err := s.list("")
	if err != nil {
		return err
	}
	unknown := map[string]bool{}
	for _, n := range names {
		dir, file := path.Split(n)
		dir = strings.TrimSuffix(dir, "/")
		if dir == "" || strings.Contains(dir, "/") || dir == "__uploads" || !strings.HasSuffix(file, ".json") {
			continue
		}
		id, ok := dirs[dir]
		if !ok {
			if !unknown[dir] {
				to.Problemf(n, "the lists of channels have no %.200q; its messages are left out", dir)
			}
			unknown[dir] = true
		}
		err := s.each(ctx, to, n, func(where string, raw json.RawMessage) error { return s.message(to, where, id, pins, raw) })
		if err != nil {
			return err
		}
	}
	return nil
}

// slackSystem are the subtypes of messages that nobody said.
var slackSystem = strings.Fields(`channel_join channel_leave channel_topic channel_purpose channel_name channel_archive channel_unarchive
	channel_convert_to_private channel_posting_permissions channel_canvas_updated group_join group_leave group_topic group_purpose group_name group_archive group_unarchive
	mpim_join mpim_leave bot_add bot_remove bot_enable bot_disable pinned_item unpinned_item reminder_add reminder_delete sh_room_created sh_room_shared huddle_thread
	tombstone message_deleted ekm_access_denied document_comment_root assistant_app_thread joiner_notification joiner_notification_for_inviter app_conversation_join`)

func isSlackSystem(subtype string) bool {
	for _, s := range slackSystem {
		if s == subtype {
			return true
		}
	}
	return false
}

func (s *slack) message(to *Collector, where, id string, pins map[string]bool, raw json.RawMessage) error {
	var x slackMessage
	if err := json.Unmarshal(raw, &x); err != nil {
		to.Problemf(where, "no message that can be read: %v", err)
		to.LeaveOut(&Message{}, "it cannot be read")
		return nil
	}
	m := Message{Key: x.TS, Conversation: id, Text: x.Text, Where: where}
	if x.Thread != "" && x.Thread != x.TS {
		m.Root, m.InMain = x.Thread, x.Subtype == "thread_broadcast"
	}
	switch {
	case isSlackSystem(x.Subtype):
		if x.Subtype == "tombstone" || x.Subtype == "message_deleted" {
			to.LeaveOut(&m, "deleted")
			return nil
		}
		to.LeaveOut(&m, "system message")
		return nil
	case x.Type != "" && x.Type != "message":
		to.Problemf(where, "of type %.80q, which is not known", x.Type)
		to.LeaveOut(&m, "unknown type")
		return nil
	case id == eitherChannel:
		to.LeaveOut(&m, "two channels have its directory")
		return nil
	case id == "":
		to.LeaveOut(&m, "its channel is in no list")
		return nil
	}
	m.Author, m.AuthorName = x.User, cmp.Or(x.UserProfile.Real, x.Username)
	if m.Author == "" && x.Bot != "" {
		m.Author = x.Bot
	}
	if m.Author == "" && x.Username != "" {
		m.Author = "name:" + x.Username
	}
	at, err := slackTime(x.TS)
	if err != nil {
		to.Problemf(where, "the time %.80q of a message cannot be read", x.TS)
		to.LeaveOut(&m, "its time cannot be")
		return nil
	}
	m.At, m.Pinned = at, pins[id+"/"+x.TS]
	if x.Edited != nil {
		if at, err := slackTime(x.Edited.TS); err == nil {
			m.EditedMs = at / 1000
		}
	}
	for _, r := range x.Reactions {
		m.Reactions = append(m.Reactions, Reaction{r.Name, r.Users})
	}
	for _, f := range x.Files {
		if f.Mode == "tombstone" { // it was deleted there
			continue
		}
		file := File{Name: cmp.Or(f.Name, f.Title, f.ID), Path: s.uploads[f.ID], URL: cmp.Or(f.URL, f.Private)}
		if f.External || f.Mode == "hidden_by_limit" || f.Mode == "quip" || f.Mode == "canvas" { // those are pages of Slack's
			file.URL = ""
		}
		m.Files = append(m.Files, file)
	}
	for _, a := range x.Attachments {
		if a.From != "" && m.Text != "" {
			continue // what a link led to
		}
		if add := attachedText(a.Pretext, a.Title, a.Text, a.Fallback); add != "" {
			m.Text = strings.TrimPrefix(m.Text+"\n"+add, "\n")
		}
	}
	return to.Message(m)
}

// attachedText is what a block beside a message says.
func attachedText(pretext, title, text, fallback string) string {
	var parts []string
	for _, p := range []string{pretext, title, text} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return fallback
	}
	return strings.Join(parts, "\n")
}

// slackTime is a time like 1483125339.020269 in microseconds.
func slackTime(s string) (int64, error) {
	whole, part, _ := strings.Cut(s, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || seconds > maxMicros/1_000_000 || len(part) > 9 {
		return 0, errors.Join(err, errors.New("no time"))
	}
	micros, err := strconv.ParseUint((part + "000000")[:6], 10, 32)
	return seconds*1_000_000 + int64(micros), err
}
