package im

import "time"

// ContactState is what another user is to the one who looks. The numbers are
// the contract's.
type ContactState uint8

// The states of a contact.
const (
	ContactFriend ContactState = 1
	ContactAsked  ContactState = 2 // I asked, no answer yet
	ContactAsksMe ContactState = 3
	ContactNone   ContactState = 4
)

// Contact is one side's view of a pair of users.
type Contact struct {
	User    UserID
	State   ContactState
	Blocked bool
	Remark  string
	// Tags are the user's own for the other, one a line.
	Tags string
	// Message is the text of the open request, Asked when it was made.
	Message string
	Asked   time.Time
	// AskAfter: before, the user may not ask again. Refusals is how often in a row they
	// were refused.
	AskAfter time.Time
	Refusals int
	Changed  time.Time
	// Revision is the user's of the last change; the store gives it.
	Revision uint64
	// Answer: the user wrote to the other, who may answer; Wrote: the other wrote to the user.
	// Told by Gate alone.
	Answer, Wrote bool
}

// GroupInfo is what is known of a group besides its members.
type GroupInfo struct {
	Conversation ConversationID
	Name         string
	Owner        UserID
	Members      int
	Created      time.Time
	// Role is the one of whoever asked.
	Role     Role
	Settings GroupSettings
	// Rev is the roster revision; 0 means that its creation is not done yet.
	Rev uint64
}

// Member is a current member of a group.
type Member struct {
	User UserID
	Role Role
	// MutedUntil is zero for those who may write.
	MutedUntil time.Time
	Joined     time.Time
	// Nickname is what they are called in the group, "": by their own name.
	Nickname string
}

// Place is where a list of members has them.
func (m *Member) Place() MemberPlace { return MemberPlace{m.Role, m.Joined, m.User} }

// MemberPlace is where a list of members goes on: the owner, then admins, then the
// others, each as they joined. The zero place is before all.
type MemberPlace struct {
	Role   Role
	Joined time.Time
	User   UserID
}

// MemberQuery asks for members of a group in their order.
type MemberQuery struct {
	// Role: of this one alone; RoleNone: of all.
	Role Role
	// Prefix: those alone whose nickname, display name or username begins with it, without
	// case and width. Empty: all.
	Prefix string
	After  MemberPlace
	Limit  int
	// Looks bounds, with a Prefix, at how many members' names is looked at most, unless no
	// more than that have such a name: then those alone are looked at.
	Looks int
}

// Addable is a user whom somebody may add to a group, or ask.
type Addable struct {
	User UserID
	// Ask: their profile says that they are asked first.
	Ask bool
	// Stranger: who adds them is none of their contacts.
	Stranger bool
	// Groups is how many they are in.
	Groups int
}

// Invitation asks a user whether they want to be a member of a group.
type Invitation struct {
	User             UserID
	Conversation     ConversationID
	Inviter          UserID
	Created, Expires time.Time
	// Group is what is told of the group.
	Group GroupInfo
}

// Ban keeps a user out of a group.
type Ban struct {
	User, By UserID
	Reason   string
	Created  time.Time
	// Until is zero for ever.
	Until time.Time
}

// InviteLink lets whoever has it join a group, or ask to.
type InviteLink struct {
	// Code is what nobody can guess.
	Code         string
	Conversation ConversationID
	Creator      UserID
	Created      time.Time
	// Expires is zero for never.
	Expires time.Time
	// MaxUses is 0 for any number.
	MaxUses, Uses int
	// Guests may come by it as well.
	Guests bool
	// Group has the name, the number of members and the settings.
	Group GroupInfo
}

// Holds reports whether somebody may use the link.
func (l *InviteLink) Holds(now time.Time) bool {
	return (l.Expires.IsZero() || now.Before(l.Expires)) && (l.MaxUses == 0 || l.Uses < l.MaxUses) && l.Group.Members > 0
}

// JoinRequest is a user who asks to be a member of a group.
type JoinRequest struct {
	Conversation     ConversationID
	User             UserID
	Text             string
	Created, Expires time.Time
}

// JoinBy is what lets somebody become a member; it is used up by that.
type JoinBy struct {
	Link  string // the code of an invite link
	Asked bool   // what they asked for
}
