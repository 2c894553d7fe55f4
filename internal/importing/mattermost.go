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
	"strings"
)

// mattermost reads a bulk export of Mattermost (mmctl export create, or mattermost export
// bulk): a zip or directory with one .jsonl at its top, and files below data/; or the .jsonl
// alone. Things have no ids there: users, teams and channels go by their names, and a post by
// its channel, author, time and text.
type mattermost struct {
	*archive
	file string
	// posts counts those of one name, so that the second of two that are the same is another.
	posts map[uint64]int
}

func (s *mattermost) System() string { return "mattermost" }

func (s *mattermost) Open(p string) (io.ReadCloser, int64, error) { return s.open(p) }

type mmLine struct {
	Type          string     `json:"type"`
	Version       int        `json:"version"`
	Team          *mmTeam    `json:"team"`
	Channel       *mmChannel `json:"channel"`
	User          *mmUser    `json:"user"`
	Post          *mmPost    `json:"post"`
	DirectChannel *mmDirect  `json:"direct_channel"`
	DirectPost    *mmPost    `json:"direct_post"`
	Bot           *mmBot     `json:"bot"`
}

type mmTeam struct {
	Name    string `json:"name"`
	Display string `json:"display_name"`
}

type mmBot struct {
	Username string `json:"username"`
	Display  string `json:"display_name"`
	DeleteAt int64  `json:"delete_at"`
}

type mmChannel struct {
	Team      string `json:"team"`
	Name      string `json:"name"`
	Display   string `json:"display_name"`
	Type      string `json:"type"`
	Header    string `json:"header"`
	Purpose   string `json:"purpose"`
	DeletedAt int64  `json:"deleted_at"`
}

type mmUser struct {
	Username string `json:"username"`
	Email    string `json:"email"`
	Nickname string `json:"nickname"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Position string `json:"position"`
	Picture  string `json:"profile_image"`
	DeleteAt int64  `json:"delete_at"`
	IsBot    bool   `json:"is_bot"`
	Teams    []struct {
		Name     string `json:"name"`
		Channels []struct {
			Name  string `json:"name"`
			Roles string `json:"roles"`
		} `json:"channels"`
	} `json:"teams"`
}

type mmDirect struct {
	Members      []string `json:"members"`
	Participants []struct {
		Username string `json:"username"`
	} `json:"participants"`
	Header string `json:"header"`
}

type mmPost struct {
	Team      string   `json:"team"`
	Channel   string   `json:"channel"`
	Members   []string `json:"channel_members"`
	User      string   `json:"user"`
	Type      string   `json:"type"`
	Message   string   `json:"message"`
	CreateAt  int64    `json:"create_at"`
	EditAt    int64    `json:"edit_at"`
	DeleteAt  int64    `json:"delete_at"`
	Pinned    bool     `json:"is_pinned"`
	Replies   []mmPost `json:"replies"`
	Reactions []struct {
		User  string `json:"user"`
		Emoji string `json:"emoji_name"`
	} `json:"reactions"`
	Attachments []struct {
		Path string `json:"path"`
	} `json:"attachments"`
	Props struct {
		Attachments []struct {
			Fallback string `json:"fallback"`
			Pretext  string `json:"pretext"`
			Title    string `json:"title"`
			Text     string `json:"text"`
		} `json:"attachments"`
	} `json:"props"`
}

func (s *mattermost) Read(ctx context.Context, to *Collector) error {
	r, _, err := s.open(s.file)
	if err != nil {
		return err
	}
	defer r.Close()
	s.posts = map[uint64]int{}
	said := false
	where := func(line int) string { return fmt.Sprintf("%s:%d", s.file, line) }
	return lines(ctx, r, func(line int, err error) {
		to.Problem(where(line), err.Error())
		to.LeaveOut(&Message{}, "it cannot be read")
	}, func(line int, text []byte) error {
		var x mmLine
		if err := json.Unmarshal(text, &x); err != nil {
			to.Problemf(where(line), "it cannot be read: %v", err)
			if !json.Valid(text) || x.Type == "post" || x.Type == "direct_post" {
				to.LeaveOut(&Message{}, "it cannot be read")
			}
			return nil
		}
		if x.Type == "version" {
			said = true
			if x.Version != 1 {
				return fmt.Errorf("%s: the export is of version %d; version 1 is known", where(line), x.Version)
			}
			return nil
		}
		if !said {
			return fmt.Errorf("%s: the first line tells no version: this is no bulk export of Mattermost", where(line))
		}
		return s.line(to, where(line), &x)
	})
}

// mmIgnored are types that say nothing of what people said.
var mmIgnored = strings.Fields("role scheme emoji")

func (s *mattermost) line(to *Collector, where string, x *mmLine) error {
	switch {
	case x.Type == "team" && x.Team != nil, slices.Contains(mmIgnored, x.Type):
	case x.Type == "channel" && x.Channel != nil:
		c := x.Channel
		kind := Public
		if c.Type == "P" {
			kind = Private
		}
		to.Conversation(Conversation{Key: mmKey(c.Team, c.Name), Kind: kind, Name: cmp.Or(c.Display, c.Name), Topic: c.Header, Purpose: c.Purpose, Archived: c.DeletedAt > 0, Where: where})
	case x.Type == "user" && x.User != nil:
		s.user(to, where, x.User)
	case x.Type == "bot" && x.Bot != nil:
		to.User(where, User{Key: x.Bot.Username, Name: x.Bot.Username, Display: cmp.Or(x.Bot.Display, x.Bot.Username), Bot: true, Gone: x.Bot.DeleteAt > 0})
	case x.Type == "direct_channel" && x.DirectChannel != nil:
		d := x.DirectChannel
		for _, p := range d.Participants {
			d.Members = append(d.Members, p.Username)
		}
		direct(to, where, d.Members, d.Header)
	case x.Type == "post" && x.Post != nil:
		return s.post(to, where, mmKey(x.Post.Team, x.Post.Channel), x.Post)
	case x.Type == "direct_post" && x.DirectPost != nil:
		return s.post(to, where, direct(to, where, x.DirectPost.Members, ""), x.DirectPost)
	default:
		to.Problemf(where, "of type %.80q, which is not known", x.Type)
	}
	return nil
}

// mmKey names a channel of a team.
func mmKey(team, channel string) string { return team + "/" + channel }

// direct is the chat of some users.
func direct(to *Collector, where string, members []string, topic string) string {
	members = slices.Compact(slices.Sorted(slices.Values(members)))
	kind := Several
	if len(members) <= 2 {
		kind = Direct
	}
	key := "direct:" + strings.Join(members, ",")
	if to.convs[key] == nil {
		to.Conversation(Conversation{Key: key, Kind: kind, Members: members, Topic: topic, Where: where})
	}
	return key
}

func (s *mattermost) user(to *Collector, where string, u *mmUser) {
	picture := File{}
	if u.Picture != "" {
		picture.Path = s.dataFile(u.Picture)
	}
	to.User(where, User{
		Key: u.Username, Name: u.Username, Display: cmp.Or(u.Nickname, strings.TrimSpace(u.First+" "+u.Last), u.Username),
		Email: u.Email, About: u.Position, Picture: picture, Bot: u.IsBot, Gone: u.DeleteAt > 0,
	})
	for _, t := range u.Teams {
		for _, c := range t.Channels {
			if !to.Member(mmKey(t.Name, c.Name), u.Username, strings.Contains(c.Roles, "channel_admin")) {
				to.Problemf(where, "%.80q is a member of %.200q, which the export does not have", u.Username, mmKey(t.Name, c.Name))
			}
		}
	}
}

// dataFile is where a file is that the export names: below data/, or beside the lines; "" is
// nowhere: neither the lines themselves nor what is above is a file of anybody's.
func (s *mattermost) dataFile(name string) string {
	p := path.Join("data", name)
	switch {
	case !strings.HasPrefix(p, "data/"):
		return ""
	case s.has(p) || !s.has(name):
		return p
	case path.Clean(name) == path.Clean(s.file):
		return ""
	}
	return name
}

// post takes a post and the replies to it.
func (s *mattermost) post(to *Collector, where, conversation string, p *mmPost) error {
	root := s.message(conversation, "", where, p)
	if err := s.tell(to, root, p); err != nil {
		return err
	}
	for i := range p.Replies {
		r := &p.Replies[i]
		if len(r.Replies) > 0 {
			to.Problem(where, "a reply has replies; they are left out")
			for k := range r.Replies {
				to.LeaveOut(s.message(conversation, root.Key, where, &r.Replies[k]), "a reply to a reply")
			}
		}
		if err := s.tell(to, s.message(conversation, root.Key, where, r), r); err != nil {
			return err
		}
	}
	return nil
}

func (s *mattermost) tell(to *Collector, m *Message, p *mmPost) error {
	switch {
	case strings.HasPrefix(p.Type, "system_"):
		to.LeaveOut(m, "system message")
	case p.DeleteAt > 0:
		to.LeaveOut(m, "deleted")
	case to.convs[m.Conversation] == nil:
		to.Problemf(m.Where, "the export does not have the channel %.200q", m.Conversation)
		to.LeaveOut(m, "its channel is in no list")
	default:
		return to.Message(*m)
	}
	return nil
}

func (s *mattermost) message(conversation, root, where string, p *mmPost) *Message {
	key := fmt.Sprintf("%s\n%s\n%d\n%s", root, p.User, p.CreateAt, p.Message)
	name := threadKey(conversation, key)
	if s.posts[name]++; s.posts[name] > 1 {
		key = fmt.Sprintf("%s\n%d", key, s.posts[name])
	}
	m := &Message{Key: key, Conversation: conversation, Author: p.User, At: p.CreateAt * 1000, Text: p.Message, Root: root, Pinned: p.Pinned, Where: where}
	if p.EditAt > p.CreateAt {
		m.EditedMs = p.EditAt
	}
	by := map[string][]string{}
	var order []string
	for _, r := range p.Reactions {
		if by[r.Emoji] == nil {
			order = append(order, r.Emoji)
		}
		by[r.Emoji] = append(by[r.Emoji], r.User)
	}
	for _, name := range order {
		m.Reactions = append(m.Reactions, Reaction{name, by[name]})
	}
	for _, a := range p.Attachments {
		m.Files = append(m.Files, File{Name: path.Base(a.Path), Path: s.dataFile(a.Path)})
	}
	for _, a := range p.Props.Attachments {
		if add := attachedText(a.Pretext, a.Title, a.Text, a.Fallback); add != "" {
			m.Text = strings.TrimPrefix(m.Text+"\n"+add, "\n")
		}
	}
	return m
}

// findLines is the file with the lines of an export.
func findLines(a *archive) (string, error) {
	names, err := a.list("")
	if err != nil {
		return "", err
	}
	var found []string
	for _, n := range names {
		if !strings.Contains(n, "/") && strings.HasSuffix(n, ".jsonl") {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		return "", errors.Join(fmt.Errorf("there are %d files .jsonl at the top; a bulk export of Mattermost has one", len(found)))
	}
	return found[0], nil
}
