package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// command is a line that begins with a slash.
type command struct {
	name, args, help string
	least            int // words it needs
	run              func(*Chat, context.Context, []string) error
}

func commands() []command { return slices.Concat(talk(), peopleAndGroups()) }

// talk are the commands about messages and conversations.
func talk() []command {
	return []command{
		{"list", "", "your conversations", 0, func(c *Chat, ctx context.Context, _ []string) error { return c.list(ctx) }},
		{"open", "N | @user | conversation", "show a conversation and write there", 1, (*Chat).openCmd},
		{"history", "[N]", "earlier messages (default 20)", 0, (*Chat).historyCmd},
		{"delete", "#N…", "delete messages for yourself alone", 1, (*Chat).deleteCmd},
		{"saved", "[text]", "open your notes to yourself, or add one", 0, (*Chat).savedCmd},
		{"folder", "[NAME]", "put the open conversation into a folder of yours; without a name: out of it", 0, (*Chat).folderCmd},
		{"goto", "DATE [TIME]", "messages from a date on, like 2026-03-31 or 2026-03-31 14:30", 1, (*Chat).gotoCmd},
		{"reply", "SEQ text", "answer a message", 2, (*Chat).replyCmd},
		{"thread", "SEQ [text]", "show the thread of a message, or say something in it", 1, (*Chat).threadCmd},
		{"threads", "[here]", "threads that you follow, or those of the open conversation", 0, (*Chat).threadsCmd},
		{"follow", "SEQ", "follow the thread of a message", 1, (*Chat).followCmd},
		{"unfollow", "SEQ", "end that", 1, (*Chat).unfollowCmd},
		{"recall", "SEQ", "take a message back", 1, (*Chat).recallCmd},
		{"edit", "SEQ text", "replace what a message of yours says", 2, (*Chat).editCmd},
		{"edits", "SEQ", "what a message said before it was edited", 1, (*Chat).editsCmd},
		{"react", "SEQ EMOJI", "react to a message", 2, (*Chat).reactCmd},
		{"unreact", "SEQ EMOJI", "take a reaction away", 2, (*Chat).unreactCmd},
		{"reactions", "SEQ", "who reacted to a message", 1, (*Chat).reactionsCmd},
		{"readby", "SEQ", "who of the group has read a message", 1, (*Chat).readByCmd},
		{"poll", "question / option / option…", "ask something; begin with ! to hide who chose what, with + to allow several", 3, (*Chat).pollCmd},
		{"vote", "SEQ [N…]", "choose options of a poll by their numbers; none takes it back", 1, (*Chat).voteCmd},
		{"votes", "SEQ", "who chose what", 1, (*Chat).votesCmd},
		{"endpoll", "SEQ", "end a poll", 1, (*Chat).endPollCmd},
		{"pin", "[SEQ]", "pin a message for everybody here; without one: keep the conversation on top of your list", 0, (*Chat).pinCmd},
		{"unpin", "[SEQ]", "end that", 0, (*Chat).unpinCmd},
		{"pins", "", "what is pinned here, the last first", 0, (*Chat).pinsCmd},
		{"disappear", "DURATION|off", "have what is said here from now on disappear after a time, e.g. 1h or 7d", 1, (*Chat).disappearCmd},
		{"forward", "SEQ[,SEQ…] @user|conversation", "copy messages from here to somebody", 2, (*Chat).forwardCmd},
		{"quiet", "text", "send a message that nobody is to be notified of", 1, (*Chat).quietCmd},
		{"later", "DURATION text", "send a message later, e.g. in 2h30m", 2, (*Chat).laterCmd},
		{"send", "FILE [caption]", "send a picture or a file; quotes around a path with spaces", 1, (*Chat).sendCmd},
		{"sticker", "[PACK [NAME]]", "send a sticker of this server; without a name: which there are", 0, (*Chat).stickerCmd},
		{"emoji", "", "this server's own emoji, for /react and texts", 0, (*Chat).emojiCmd},
		{"save", "SEQ[.N] [--replace] [--small] [PATH]", "save what a message has, the Nth of several, here or at a path; --small: the small picture", 1, (*Chat).saveCmd},
		{"stop", "", "end what is being sent or saved", 0, (*Chat).stopCmd},
		{"stream", "words…", "say a message word by word", 1, (*Chat).streamCmd},
		{"scheduled", "", "what you wrote for later", 0, (*Chat).scheduledCmd},
		{"cancel", "ID", "send one of them never", 1, (*Chat).cancelCmd},
		{"search", "[--here] [--files…] words…", "messages that say something, the newest last; --images, --files, --voices, --videos, --links: of a kind, also without words", 1, (*Chat).searchCmd},
		{"mentions", "", "messages that mention you, the newest first", 0, (*Chat).mentionsCmd},
	}
}

// peopleAndGroups are the others.
func peopleAndGroups() []command {
	return []command{
		{"contacts", "", "contacts and requests", 0, (*Chat).contactsCmd},
		{"find", "NAME", "people whose name begins so", 1, (*Chat).findCmd},
		{"tag", "@user [TAG…]", "your own tags of a contact, instead of those of before", 1, (*Chat).tagCmd},
		{"who", "@user", "what somebody shows of themselves", 1, (*Chat).whoCmd},
		{"profile", "name|picture|about|KEY [text]", "what you show of yourself; without text: take it away", 1, (*Chat).profileCmd},
		{"privacy", "find|write|groups|presence|reads WHO", "who may: anyone, contacts or nobody; without words: what is set", 0, (*Chat).privacyCmd},
		{"add", "@user [text]", "ask somebody to be your contact", 1, (*Chat).addCmd},
		{"accept", "@user", "accept a request", 1, onUser(func(c *Chat, ctx context.Context, id string) error {
			_, err := c.client.Contacts().Accept(ctx, id)
			return err
		})},
		{"refuse", "@user", "refuse a request", 1, onUser(func(c *Chat, ctx context.Context, id string) error { return c.client.Contacts().Refuse(ctx, id) })},
		{"remove", "@user", "end a contact", 1, onUser(func(c *Chat, ctx context.Context, id string) error { return c.client.Contacts().Remove(ctx, id) })},
		{"block", "@user", "hear nothing of somebody", 1, onUser(func(c *Chat, ctx context.Context, id string) error { return c.client.Contacts().Block(ctx, id) })},
		{"unblock", "@user", "end a block", 1, onUser(func(c *Chat, ctx context.Context, id string) error { return c.client.Contacts().Unblock(ctx, id) })},
		{"group", "NAME @user…", "make a group and open it", 1, (*Chat).groupCmd},
		{"members", "[BEGINNING OF A NAME]", "members of the open group", 0, (*Chat).membersCmd},
		{"invite", "@user…", "add to the open group", 1, (*Chat).inviteCmd},
		{"kick", "@user…", "remove from the open group", 1, (*Chat).kickCmd},
		{"nick", "[@user] [NAME]", "what you are called in the open group, or, for admins, a member; without a name: no more", 0, (*Chat).nickCmd},
		{"role", "@user admin|member", "change a role in the open group", 2, (*Chat).roleCmd},
		{"mute", "[@user] DURATION", "be notified of nothing here, e.g. for 8h, 7d or ever; off ends it. With @user: mute a member of the open group, 0 ends it", 1, (*Chat).muteCmd},
		{"hide", "", "take the open conversation out of the list until somebody writes there", 0, (*Chat).hideCmd},
		{"unhide", "", "end that", 0, (*Chat).unhideCmd},
		{"unread", "", "mark the open conversation as unread", 0, (*Chat).unreadCmd},
		{"invitations", "", "groups you are invited to", 0, (*Chat).invitationsCmd},
		{"join", "LINK [text] | grp:GROUP", "join by a link, or ask to, or accept an invitation", 1, (*Chat).joinCmd},
		{"link", "[USES] [DURATION]", "make an invite link of the open group", 0, (*Chat).linkCmd},
		{"links", "", "invite links of the open group", 0, (*Chat).linksCmd},
		{"unlink", "LINK", "revoke an invite link of the open group", 1, (*Chat).unlinkCmd},
		{"requests", "", "who asks to join the open group", 0, (*Chat).requestsCmd},
		{"approve", "@user", "let in who asks to join the open group", 1, (*Chat).approveCmd},
		{"turndown", "@user", "refuse who asks to join the open group", 1, (*Chat).turndownCmd},
		{"withdraw", "grp:GROUP", "ask to join no longer", 1, func(c *Chat, ctx context.Context, a []string) error { return c.client.Groups().Withdraw(ctx, a[0]) }},
		{"decline", "grp:GROUP", "refuse an invitation", 1, func(c *Chat, ctx context.Context, a []string) error { return c.client.Groups().Refuse(ctx, a[0]) }},
		{"groups", "anyone|contacts|nobody", "who may add you to groups; others invite you", 1, (*Chat).groupsCmd},
		{"ban", "@user [reason]", "remove from the open group for good", 1, (*Chat).banCmd},
		{"unban", "@user", "let somebody be added again", 1, (*Chat).unbanCmd},
		{"bans", "", "who is banned from the open group", 0, (*Chat).bansCmd},
		{"info", "", "settings of the open group", 0, (*Chat).infoCmd},
		{"set", "SETTING VALUE", "change one: " + settingNames(), 1, (*Chat).setCmd},
		{"leave", "", "leave the open group", 0, (*Chat).leaveCmd},
		{"dismiss", "", "end the open group for all", 0, (*Chat).dismissCmd},
		{"outbox", "", "messages that are not sent yet", 0, (*Chat).outboxCmd},
		{"sessions", "", "where you are logged in", 0, (*Chat).sessionsCmd},
		{"revoke", "SESSION", "log a session out", 1, func(c *Chat, ctx context.Context, a []string) error { return c.client.Sessions().Revoke(ctx, a[0]) }},
		{"connect", "", "connect again at once", 0, func(c *Chat, _ context.Context, _ []string) error { c.client.Reconnect(); return nil }},
		{"quit", "", "leave", 0, nil},
	}
}

// command runs one line; true means quit.
func (c *Chat) command(ctx context.Context, line string) (quit bool) {
	if line == "" {
		return false
	}
	text, isCommand := strings.CutPrefix(line, "/")
	if !isCommand {
		c.report(c.say(ctx, line))
		return false
	}
	words := strings.Fields(text)
	if len(words) == 0 || words[0] == "help" {
		for _, k := range commands() {
			c.printf("  /%-9s %-26s %s\n", k.name, k.args, k.help)
		}
		return false
	}
	if words[0] == "quit" {
		return true
	}
	for _, k := range commands() {
		if k.name != words[0] {
			continue
		}
		if len(words)-1 < k.least {
			c.printf("        ! /%s %s\n", k.name, k.args)
			return false
		}
		if k.name != "send" && k.name != "save" { // they take as long as they do; /stop ends them
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
		}
		c.report(k.run(c, ctx, words[1:]))
		return false
	}
	c.printf("        ! unknown command /%s; /help lists them\n", clean(words[0]))
	return false
}

func (c *Chat) report(err error) {
	var e *skein.Error
	switch {
	case err == nil:
	case errors.As(err, &e):
		c.printf("        ! %s (%s)\n", e.Message, e.Code)
	default:
		c.printf("        ! %v\n", err)
	}
}

// say sends a line to the open conversation. It is in the outbox when this
// returns; ticks and failures arrive as events.
func (c *Chat) say(ctx context.Context, line string, opts ...skein.SendOption) error {
	open := c.current()
	if open == "" {
		return errors.New("open a conversation first: /open @user, or /list")
	}
	if strings.HasPrefix(open, "grp:") {
		for _, word := range strings.Fields(line) {
			switch word {
			case "@all":
				opts = append(opts, skein.MentionAll())
			case "@here":
				opts = append(opts, skein.MentionHere())
			}
		}
	}
	_, err := c.client.Conversation(open).SendAsync(ctx, line, opts...)
	if err != nil {
		return err
	}
	if state, _ := c.client.State(); state != skein.StateConnected {
		c.printf("        %s\n", marks[skein.StatusPending])
	}
	return nil
}

func (c *Chat) list(ctx context.Context) error {
	all, err := c.client.Conversations(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, s := range all {
		if strings.HasPrefix(s.ID, "me:") {
			continue
		}
		ids = append(ids, s.ID)
		last := ""
		if s.Last != nil {
			last = content(s.Last)
		}
		unread := ""
		if s.Unread > 0 {
			unread = fmt.Sprintf(" (%d unread)", s.Unread)
		}
		if s.UnreadMentions > 0 {
			unread = fmt.Sprintf(" (%d unread, %d for you)", s.Unread, s.UnreadMentions)
		}
		unread += state(s.Mine, s.Hidden, s.MarkedUnread, time.Now())
		folder := ""
		if s.Mine.GetFolder() != "" {
			folder = " [" + clean(s.Mine.GetFolder()) + "]"
		}
		c.printf("  %2d  %s%s%s  %s  %s\n", len(ids), c.title(ctx, s.ID), folder, unread, s.LastAt.Local().Format("Jan 2 15:04"), last)
	}
	if len(ids) == 0 {
		c.printf("  No conversation yet: /add @user, then /open @user\n")
	}
	c.mu.Lock()
	c.listed = ids
	c.mu.Unlock()
	return nil
}

// userID turns @username (or a bare id) into a user id.
func (c *Chat) userID(ctx context.Context, ref string) (string, error) {
	name, byName := strings.CutPrefix(ref, "@")
	if !byName {
		return ref, nil
	}
	u, err := c.client.Users().Find(ctx, name)
	if err != nil {
		return "", err
	}
	c.remember(u)
	return u.Id, nil
}

func (c *Chat) userIDs(ctx context.Context, refs []string) ([]string, error) {
	var ids []string
	for _, r := range refs {
		id, err := c.userID(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// onUser makes a command of something done to one user.
func onUser(do func(*Chat, context.Context, string) error) func(*Chat, context.Context, []string) error {
	return func(c *Chat, ctx context.Context, args []string) error {
		id, err := c.userID(ctx, args[0])
		if err != nil {
			return err
		}
		if err := do(c, ctx, id); err != nil {
			return err
		}
		c.printf("        · done\n")
		return nil
	}
}

func (c *Chat) openCmd(ctx context.Context, args []string) error {
	id, err := c.named(ctx, args[0])
	if err != nil {
		return err
	}
	return c.openID(ctx, id)
}

// named is the conversation that a number of /list, @user, "saved" or its id names.
func (c *Chat) named(ctx context.Context, id string) (string, error) {
	if n, err := strconv.Atoi(id); err == nil {
		c.mu.Lock()
		listed := c.listed
		c.mu.Unlock()
		if n < 1 || n > len(listed) {
			return "", fmt.Errorf("%d is not a number of /list", n)
		}
		id = listed[n-1]
	} else if strings.HasPrefix(id, "@") {
		user, err := c.userID(ctx, id)
		if err != nil {
			return "", err
		}
		id = c.client.DM(user).ID()
	} else if id == "saved" {
		id = c.client.Saved().ID()
	}
	return id, nil
}

func (c *Chat) openID(ctx context.Context, id string) error {
	v := c.client.Conversation(id)
	entries, err := v.History(ctx, 0, 20)
	var e *skein.Error
	if err != nil && !(errors.As(err, &e) && e.Code == wire.CodeNotFound && strings.HasPrefix(id, "dm:")) {
		return err
	}
	waiting, err := v.Outbox(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.open = id
	c.mu.Unlock()
	c.prompt()
	c.printf("── %s ──\n", c.title(ctx, id))
	for _, m := range append(entries, waiting...) {
		c.show(ctx, m)
		if m.Own && m.Seq > 0 {
			c.mu.Lock()
			c.ticks[id] = tick{m.Seq, m.Status}
			c.mu.Unlock()
		}
	}
	if n := len(entries); n > 0 {
		c.mu.Lock()
		c.shown[id] = max(c.shown[id], entries[n-1].Seq)
		c.mu.Unlock()
		c.markRead(ctx, id, entries[n-1].Seq)
	}
	return nil
}

func (c *Chat) historyCmd(ctx context.Context, args []string) error {
	n := 20
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil || n < 1 || n > 500 {
			return errors.New("/history N: 1 to 500")
		}
	}
	open := c.current()
	if open == "" {
		return errors.New("open a conversation first")
	}
	entries, err := c.client.Conversation(open).History(ctx, 0, n)
	if err != nil {
		return err
	}
	for _, m := range entries {
		c.show(ctx, m)
	}
	return nil
}

func parseSeq(s string) (uint64, error) {
	seq, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not the number of a message", s)
	}
	return seq, nil
}

func (c *Chat) replyCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	return c.say(ctx, strings.Join(args[1:], " "), skein.ReplyTo(seq))
}

func (c *Chat) recallCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	return c.client.Conversation(c.current()).Recall(ctx, seq)
}

func (c *Chat) editCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	return c.client.Conversation(c.current()).Edit(ctx, seq, strings.Join(args[1:], " "))
}

func (c *Chat) editsCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	versions, _, err := c.client.Conversation(c.current()).Edits(ctx, seq, 0, 0)
	if err != nil {
		return err
	}
	if len(versions) == 0 {
		c.printf("        · #%d has no earlier version\n", seq)
	}
	for _, v := range versions {
		c.printf("%s  %d. %s\n", time.UnixMilli(v.AtMs).Local().Format("15:04"), v.Version, clean(v.GetContent().GetText()))
	}
	return nil
}

func (c *Chat) reactCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	return c.client.Conversation(c.current()).React(ctx, seq, args[1])
}

func (c *Chat) unreactCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	return c.client.Conversation(c.current()).Unreact(ctx, seq, args[1])
}

func (c *Chat) reactionsCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	reacted, next, err := c.client.Conversation(c.current()).Reactions(ctx, seq, "", "", 0)
	if err != nil {
		return err
	}
	for _, r := range reacted {
		c.printf("        %s  %s\n", clean(r.Reaction), c.name(ctx, r.User))
	}
	if next != "" {
		c.printf("        · and others\n")
	}
	return nil
}

func (c *Chat) contactsCmd(ctx context.Context, _ []string) error {
	all, err := c.client.Contacts().List(ctx)
	if err != nil {
		return err
	}
	states := map[wire.ContactState]string{
		wire.ContactState_CONTACT_STATE_CONTACT: "contact", wire.ContactState_CONTACT_STATE_ASKED: "asked",
		wire.ContactState_CONTACT_STATE_ASKS_ME: "asks you", wire.ContactState_CONTACT_STATE_NONE: "-",
	}
	for _, k := range all {
		blocked := ""
		if k.Blocked {
			blocked = "blocked"
		}
		tags := ""
		if len(k.Tags) > 0 {
			tags = "#" + clean(strings.Join(k.Tags, " #"))
		}
		c.printf("  %-20s %-9s %s %s %s\n", c.remember(k.User), states[k.State], blocked, tags, clean(k.Message))
	}
	return nil
}

func (c *Chat) addCmd(ctx context.Context, args []string) error {
	id, err := c.userID(ctx, args[0])
	if err != nil {
		return err
	}
	k, err := c.client.Contacts().Request(ctx, id, strings.Join(args[1:], " "))
	if err != nil {
		return err
	}
	if k.State == wire.ContactState_CONTACT_STATE_ASKED {
		c.printf("        · asked\n")
	}
	return nil
}

func (c *Chat) outboxCmd(ctx context.Context, _ []string) error {
	all, err := c.client.Outbox(ctx)
	if err != nil {
		return err
	}
	for _, m := range all {
		c.printf("  %s: ", c.title(ctx, m.Conversation))
		c.show(ctx, m)
	}
	return nil
}

func (c *Chat) sessionsCmd(ctx context.Context, _ []string) error {
	all, err := c.client.Sessions().List(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		here := ""
		if s.Current {
			here = "(this one)"
		}
		c.printf("  %s  %s  %s  %s  %s\n", s.Id, clean(s.GetDevice().GetName()), clean(s.Client), time.UnixMilli(s.LastSeenAtMs).Local().Format("Jan 2 15:04"), here)
	}
	return nil
}

func (c *Chat) mentionsCmd(ctx context.Context, _ []string) error {
	ms, next, err := c.client.Mentions(ctx, "", 20)
	if err != nil {
		return err
	}
	for _, m := range ms {
		c.printf("  %s  #%d  %s: %s\n", c.title(ctx, m.Conversation), m.Seq, c.name(ctx, m.Sender), content(m))
	}
	if len(ms) == 0 && next == "" {
		c.printf("        · nobody mentioned you\n")
	}
	return nil
}
