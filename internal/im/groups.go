package im

// GroupPower is which members may do something. The numbers are the contract's.
type GroupPower uint8

// The powers.
const (
	GroupPowerAll    GroupPower = 1
	GroupPowerAdmins GroupPower = 2
)

// JoinMode is how somebody becomes a member without being added. The numbers are
// the contract's.
type JoinMode uint8

// The ways to join.
const (
	JoinOpen       JoinMode = 1
	JoinApproval   JoinMode = 2
	JoinInvitation JoinMode = 3
)

// GroupHistory is what new members see of what was before. The numbers are the
// contract's.
type GroupHistory uint8

// What new members see.
const (
	HistoryFromJoining GroupHistory = 1
	HistoryAll         GroupHistory = 2
)

// GroupSwitches are the settings of a group that decide what its members may do.
type GroupSwitches struct {
	Add        GroupPower   `json:"add"`
	Post       GroupPower   `json:"post"`
	MentionAll GroupPower   `json:"mention"`
	Pin        GroupPower   `json:"pin,omitempty"`
	Join       JoinMode     `json:"join"`
	History    GroupHistory `json:"history"`
	MutedAll   bool         `json:"muted,omitempty"`
	// SlowMode is how many seconds lie between two messages of a member; 0: none.
	SlowMode uint32 `json:"slow,omitempty"`
}

// GroupSettings is what may be set of a group besides its name.
type GroupSettings struct {
	Picture      string            `json:"picture,omitempty"`
	Description  string            `json:"description,omitempty"`
	Announcement string            `json:"announcement,omitempty"`
	Extra        map[string]string `json:"extra,omitempty"`
	GroupSwitches
}

// NewGroupSettings are those of a group that nobody has changed.
func NewGroupSettings() GroupSettings {
	return GroupSettings{GroupSwitches: GroupSwitches{
		Add: GroupPowerAdmins, Post: GroupPowerAll, MentionAll: GroupPowerAdmins, Pin: GroupPowerAdmins, Join: JoinInvitation, History: HistoryFromJoining,
	}}
}

// GroupChange is a change of settings: what is nil or 0 stays as it is.
type GroupChange struct {
	Picture      *string `json:"picture,omitempty"`
	Description  *string `json:"description,omitempty"`
	Announcement *string `json:"announcement,omitempty"`
	// Extra are the keys that change; "" takes one away.
	Extra      map[string]string `json:"extra,omitempty"`
	Add        GroupPower        `json:"add,omitempty"`
	Post       GroupPower        `json:"post,omitempty"`
	MentionAll GroupPower        `json:"mention,omitempty"`
	Pin        GroupPower        `json:"pin,omitempty"`
	Join       JoinMode          `json:"join,omitempty"`
	History    GroupHistory      `json:"history,omitempty"`
	MutedAll   *bool             `json:"muted,omitempty"`
	SlowMode   *uint32           `json:"slow,omitempty"`
}

// With returns the settings after a change. It shares nothing with s that is
// written to.
func (s GroupSettings) With(c *GroupChange) GroupSettings {
	if c == nil {
		return s
	}
	set(&s.Picture, c.Picture)
	set(&s.Description, c.Description)
	set(&s.Announcement, c.Announcement)
	s.Extra = withExtra(s.Extra, c.Extra)
	s.GroupSwitches = s.GroupSwitches.With(c)
	return s
}

// With returns the switches after a change.
func (s GroupSwitches) With(c *GroupChange) GroupSwitches {
	if c == nil {
		return s
	}
	choose(&s.Add, c.Add)
	choose(&s.Post, c.Post)
	choose(&s.MentionAll, c.MentionAll)
	choose(&s.Pin, c.Pin)
	choose(&s.Join, c.Join)
	choose(&s.History, c.History)
	set(&s.MutedAll, c.MutedAll)
	set(&s.SlowMode, c.SlowMode)
	return s
}

func choose[T ~uint8](to *T, from T) {
	if from != 0 {
		*to = from
	}
}

// Of returns what of the change is another value than the settings have, nil if
// nothing is.
func (c *GroupChange) Of(s *GroupSettings) *GroupChange {
	var d GroupChange
	some := differs(&d.Picture, c.Picture, s.Picture)
	some = differs(&d.Description, c.Description, s.Description) || some
	some = differs(&d.Announcement, c.Announcement, s.Announcement) || some
	for key, value := range c.Extra {
		if s.Extra[key] != value {
			if d.Extra == nil {
				d.Extra = make(map[string]string)
			}
			d.Extra[key], some = value, true
		}
	}
	some = chosen(&d.Add, c.Add, s.Add) || some
	some = chosen(&d.Post, c.Post, s.Post) || some
	some = chosen(&d.MentionAll, c.MentionAll, s.MentionAll) || some
	some = chosen(&d.Pin, c.Pin, s.Pin) || some
	some = chosen(&d.Join, c.Join, s.Join) || some
	some = chosen(&d.History, c.History, s.History) || some
	some = differs(&d.MutedAll, c.MutedAll, s.MutedAll) || some
	some = differs(&d.SlowMode, c.SlowMode, s.SlowMode) || some
	if !some {
		return nil
	}
	return &d
}

func differs[T comparable](to **T, asked *T, is T) bool {
	if asked == nil || *asked == is {
		return false
	}
	*to = asked
	return true
}

func chosen[T ~uint8](to *T, asked, is T) bool {
	if asked == 0 || asked == is {
		return false
	}
	*to = asked
	return true
}
