package importing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// conversation is one of the export, here.
type conversation struct {
	*Conversation
	id      im.ConversationID
	members []im.UserID
	head    im.Head
	// refused is why nothing more of it is written, "" if it is.
	refused string
	made    bool
	// last is the last entry that is of the import, up to where all have read.
	last, lastCount uint64
	roots           map[uint64]*root
	read            reading
	batch           []*saidBy
	size            int
	// ids are those of the messages of the time idsAt.
	ids   map[im.MessageID]bool
	idsAt time.Time
}

// conversation makes what a conversation becomes, if it is not there. first is the time of its
// first message, 0 if it has none.
func (w *writer) conversation(ctx context.Context, key string, first int64) (*conversation, error) {
	if v := w.lists[key]; v != nil {
		return v, nil
	}
	at := w.c.convs[key]
	if at == nil {
		return &conversation{Conversation: &Conversation{Key: key}, refused: "its channel is in no list"}, nil
	}
	v := &conversation{Conversation: at, roots: map[uint64]*root{}, read: reading{}}
	w.lists[key] = v
	for _, k := range at.Members {
		if p := w.people[k]; at.Kind == Direct || !p.now.Deleted {
			v.members = append(v.members, p.id)
		}
	}
	slices.Sort(v.members)
	v.members = slices.Compact(v.members)
	var err error
	if at.Kind == Direct {
		err = w.direct(ctx, v, first)
	} else {
		err = w.group(ctx, v, first)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case v.refused != "":
		w.r.leave("conversation", v.refused, 1)
		if v.refused != empty {
			w.c.Problemf(at.Where, "the conversation %.80q is left out: %s", cmp.Or(at.Name, key), v.refused)
		}
		return v, nil
	case v.made:
		w.r.Written.Conversations++
		if at.Kind == Direct {
			w.r.Directs++
		} else {
			w.r.Groups++
		}
	default:
		w.r.Already.Conversations++
	}
	heads := make([]im.Head, 1)
	err = w.t.Journal.Heads(ctx, []im.ConversationID{v.id}, heads)
	v.head = heads[0]
	return v, err
}

// empty is why a direct chat is left out in which nothing was said.
const empty = "nothing was said in it"

// direct makes a direct chat, and its users contacts.
func (w *writer) direct(ctx context.Context, v *conversation, first int64) error {
	switch n := len(v.members); {
	case first == 0:
		v.refused = empty
		return nil
	case n == 1:
		v.id = im.Saved(v.members[0])
	case n == 2:
		v.id = im.DM(v.members[0], v.members[1])
	default:
		v.refused = fmt.Sprintf("a direct chat of %d users", n)
		return nil
	}
	a, b, _ := v.id.DMMembers()
	if _, there, err := w.t.Directory.Membership(ctx, a, v.id); err != nil || there {
		return err
	}
	v.made = true
	gone := slices.ContainsFunc(v.Members, func(k string) bool { return w.people[k].now.Deleted })
	if a != b && !gone {
		now := w.t.Now()
		_, err := w.t.Directory.UpdateContacts(ctx, a, b, func(mine, theirs *im.Contact) ([]im.Promise, error) {
			for _, side := range []*im.Contact{mine, theirs} {
				if side.State != im.ContactFriend && !mine.Blocked && !theirs.Blocked {
					side.State, side.Changed, side.Message = im.ContactFriend, now, ""
				}
			}
			return nil, nil
		})
		if err != nil {
			return err
		}
	}
	return w.t.Directory.OpenDM(ctx, v.id)
}

// group makes a group, or ends what an earlier run had begun. One that is there is its
// members' own: it is left as it is.
func (w *writer) group(ctx context.Context, v *conversation, first int64) error {
	v.id = w.groupID(v.Key)
	g, _, err := w.t.Directory.Group(ctx, v.id, v.members)
	if err != nil {
		return err
	}
	if g.Conversation == "" {
		if g.Owner = w.owner(v); g.Owner == "" {
			v.refused = "nobody is in it"
			return nil
		}
		v.made = true
		if err := w.createGroup(ctx, v, g.Owner, first); err != nil {
			return err
		}
	} else if v.Kind != Public {
		if v.refused, err = w.stillPrivate(ctx, v, &g); err != nil || v.refused != "" {
			return err
		}
	}
	pending, err := w.t.Directory.PendingOf(ctx, v.id)
	if err != nil {
		return err
	}
	for _, p := range pending {
		if err := w.drive(ctx, p); err != nil {
			return err
		}
	}
	g, members, err := w.t.Directory.Group(ctx, v.id, v.members)
	if err != nil {
		return err
	}
	heads := make([]im.Head, 1)
	if err := w.t.Journal.Heads(ctx, []im.ConversationID{v.id}, heads); err != nil {
		return err
	}
	// With a message in it, it was made to its end.
	if heads[0].Count > 0 || g.Rev == 0 {
		return nil
	}
	return w.admins(ctx, v, g, members)
}

// stillPrivate looks at a group that is there, for what only the members of its conversation may
// read: who else is in it is told. refused: everybody may come in, because it was public.
func (w *writer) stillPrivate(ctx context.Context, v *conversation, g *im.GroupInfo) (refused string, err error) {
	if g.Settings.Join == im.JoinOpen && g.Settings.Extra[importedKind] == string(Public) {
		return "it is private there now, and open to join here: have it joined by invitation first", nil
	}
	_, err = w.t.Directory.Roster(ctx, v.id, func(m im.Member, _ uint64) {
		if _, listed := slices.BinarySearch(v.members, m.User); !listed {
			w.c.Problemf(v.Where, "%.80q is in the group %q here, and not in the conversation there any more: they read what is new in it", m.User, v.id)
		}
	})
	return "", err
}

// importedKind is under what a group says what kind of conversation it was.
const importedKind = "imported.kind"

// admins gives those their role who had it there.
func (w *writer) admins(ctx context.Context, v *conversation, g im.GroupInfo, members []im.Member) error {
	rev := g.Rev
	for _, key := range v.Admins {
		id := w.people[key].id
		i := slices.IndexFunc(members, func(m im.Member) bool { return m.User == id })
		if i < 0 || members[i].Role != im.RoleMember {
			continue
		}
		p := im.Promise{
			ID: w.messageID(g.Created, "admin", v.Key, key), Conversation: v.id, Sender: g.Owner, IfRoster: rev, SetRoster: rev + 1,
			Event: im.Event{Type: im.EventRoleChanged, Users: []im.UserID{id}, Role: im.RoleAdmin},
		}
		if ok, err := w.t.Directory.PromiseRoster(ctx, p); err != nil || !ok {
			return errors.Join(err, fmt.Errorf("the roster of %s was changed by somebody else", v.id))
		}
		if err := w.drive(ctx, p); err != nil {
			return err
		}
		rev++
	}
	return nil
}

// owner is whose the group is: its creator's, or an admin's, or a member's; rather somebody
// who can come in.
func (w *writer) owner(v *conversation) im.UserID {
	var keys []string
	if slices.Contains(v.Members, v.Creator) {
		keys = append(keys, v.Creator)
	}
	keys = append(append(keys, v.Admins...), v.Members...)
	there := slices.DeleteFunc(keys, func(k string) bool { return w.people[k].now.Deleted })
	if len(there) == 0 && len(keys) > 0 {
		return ""
	}
	keys = there
	for _, k := range keys {
		if p := w.people[k]; !p.Gone && !p.Bot {
			return p.id
		}
	}
	switch {
	case len(keys) > 0:
		return w.people[keys[0]].id
	case v.Creator != "" && !w.people[v.Creator].now.Deleted:
		return w.people[v.Creator].id
	}
	return ""
}

// createGroup makes a group with its members, as of when it was made there.
func (w *writer) createGroup(ctx context.Context, v *conversation, owner im.UserID, first int64) error {
	at := w.t.Now()
	if v.CreatedMs > 0 && v.CreatedMs < at.UnixMilli() {
		at = time.UnixMilli(v.CreatedMs)
	}
	if first > 0 && first/1000 < at.UnixMilli() {
		at = time.UnixMilli(first / 1000)
	}
	name := v.Name
	if v.Kind == Several && name == "" {
		var names []string
		for _, k := range v.Members {
			names = append(names, w.people[k].display)
		}
		name = cut(strings.Join(names, ", "), maxGroupName)
	}
	text := cleaned(v.Purpose)
	if topic := cleaned(v.Topic); topic != "" && topic != text {
		text = strings.TrimPrefix(text+"\n"+topic, "\n")
	}
	text = cut(text, maxDescription)
	settings := im.NewGroupSettings()
	change := &im.GroupChange{
		Description: &text, History: im.HistoryAll, Extra: map[string]string{"imported.from": w.o.System, importedKind: string(v.Kind)},
	}
	if v.Kind == Public {
		change.Join = im.JoinOpen
	}
	if v.Archived {
		change.Post = im.GroupPowerAdmins
	}
	change = change.Of(&settings)
	g := im.GroupInfo{Conversation: v.id, Name: shownName(name, v.Key, maxGroupName), Owner: owner, Created: at, Settings: settings.With(change)}
	users := append([]im.UserID{owner}, slices.DeleteFunc(slices.Clone(v.members), func(u im.UserID) bool { return u == owner })...)
	p := im.Promise{
		ID: w.messageID(at, "created", v.Key), Conversation: v.id, Sender: owner, SetRoster: 1,
		Event: im.Event{Type: im.EventGroupCreated, Users: users, Text: g.Name, Group: change},
	}
	_, err := w.t.Directory.CreateGroup(ctx, g, "", p)
	return err
}

// drive stores the entry of a promise as of the promise's time, and makes the change.
func (w *writer) drive(ctx context.Context, p im.Promise) error {
	e := im.Entry{Conversation: p.Conversation, ID: p.ID, Sender: p.Sender, Kind: im.EntryEvent, Body: entrycodec.Event(&p.Event)}
	out := make([]im.Appended, 1)
	err := w.t.Journal.AppendDated(ctx, []im.Append{{Entry: e, IfRoster: p.IfRoster, SetRoster: p.SetRoster}}, []time.Time{p.ID.Time()}, out)
	if err != nil {
		return err
	}
	if s := out[0].Status; s != im.Stored && s != im.Duplicate {
		return fmt.Errorf("the entry of a change of %s was not stored (%d)", p.Conversation, s)
	}
	return w.t.Directory.Apply(ctx, p, out[0].Seq)
}

// messageID is the id of an entry: of its time, and of what it is.
func (w *writer) messageID(at time.Time, parts ...string) im.MessageID {
	return im.NewMessageID(at, [10]byte(w.mix(parts...)[:10]))
}
