package im

// GroupAction is what a member does to a group, with the least role that may.
type GroupAction uint8

// The actions on a group.
const (
	GroupSend GroupAction = iota
	GroupRead
	GroupAdd
	GroupRemove
	GroupRename
	GroupMute
	GroupSetRole
	GroupTransfer
	GroupRecallOthers
	GroupChangeSettings
	GroupMentionAll
	GroupBan
	GroupInviteLinks
	GroupLetIn
	GroupDismiss
	GroupReact
	GroupPin
	GroupNickname
	GroupNicknameOthers
	GroupLifetime
)

// groupPowers is the least role for each action. An action without a row is
// denied.
var groupPowers = [...]Role{
	GroupSend:         RoleMember,
	GroupRead:         RoleMember,
	GroupAdd:          RoleAdmin,
	GroupRemove:       RoleAdmin,
	GroupRename:       RoleAdmin,
	GroupMute:         RoleAdmin,
	GroupSetRole:      RoleOwner,
	GroupTransfer:     RoleOwner,
	GroupRecallOthers: RoleAdmin,

	GroupChangeSettings: RoleAdmin,
	GroupMentionAll:     RoleAdmin,
	GroupBan:            RoleAdmin,
	GroupInviteLinks:    RoleAdmin,
	GroupLetIn:          RoleAdmin,
	GroupDismiss:        RoleOwner,
	GroupReact:          RoleMember,
	GroupPin:            RoleAdmin,
	GroupNickname:       RoleMember,
	GroupNicknameOthers: RoleAdmin,
	GroupLifetime:       RoleAdmin,
}

// Authorize is the function Authorize under the group's switches: who may add,
// write, pin and mention all is theirs to say, and while all are muted admins alone
// write, pin and react.
func (s GroupSwitches) Authorize(actor Role, action GroupAction, target Role) error {
	if (action == GroupReact || action == GroupNickname) && s.MutedAll && actor == RoleMember {
		return Errorf(CodeMuted, "nobody but admins may react here, or change what they are called, for now")
	}
	if power := s.power(action); power != 0 && actor != RoleNone {
		if power == GroupPowerAdmins && actor < RoleAdmin {
			return Errorf(CodePermissionDenied, "in this group admins alone may do that")
		}
		if (action == GroupSend || action == GroupPin) && s.MutedAll && actor < RoleAdmin {
			return Errorf(CodeMuted, "nobody but admins may write here for now")
		}
		return nil
	}
	return Authorize(actor, action, target)
}

// power is who may do an action that has a switch, 0 for others.
func (s GroupSwitches) power(action GroupAction) GroupPower {
	switch action {
	case GroupSend:
		return s.Post
	case GroupAdd:
		return s.Add
	case GroupMentionAll:
		return s.MentionAll
	case GroupPin:
		return s.Pin
	}
	return 0
}

// Authorize decides whether a role may do an action to a group, and to a
// member of the given role when the action has a target (RoleNone otherwise):
// nobody acts on an equal or greater role. A stranger is told `not_found`, so
// that a group's existence is not revealed.
func Authorize(actor Role, action GroupAction, target Role) error {
	if actor == RoleNone {
		return Errorf(CodeNotFound, "no such conversation")
	}
	if int(action) >= len(groupPowers) || actor < groupPowers[action] || (target != RoleNone && target >= actor) {
		return Errorf(CodePermissionDenied, "your role in this group may not do that")
	}
	return nil
}
