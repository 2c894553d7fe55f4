package api

import (
	"math"
	"strconv"
	"strings"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// Bounds is what a field of a request or an answer may hold. proto/openapigen
// writes it into the OpenAPI document; tests fail for a field without bounds,
// for a bound that the server does not keep, and for an answer that breaks one.
// The zero Bounds is for what its type says wholly: booleans, enums, messages.
type Bounds struct {
	// Required: a request without it is refused; an answer always has it.
	Required bool
	// Pattern is a regular expression for the whole of a string, or of each
	// string of a list; of the keys of a map.
	Pattern string
	// Format names what JSON Schema cannot tell: x-skein-format.
	Format string
	// MinLength and MaxLength are in characters, MaxBytes is of UTF-8, or of bytes.
	MinLength, MaxLength, MaxBytes int
	// Min and Max are of integers, also those that JSON writes as strings.
	Min, Max uint64
	// Signed: the integer may be negative, down to its type's least.
	Signed bool
	// MinItems and MaxItems are of lists.
	MinItems, MaxItems int
	// Unique: no two items of a list are the same.
	Unique bool
	// Beside is JSON Schema, an object, of what holds besides what the field's type says.
	Beside string
	// Default is what 0 or absence means.
	Default string
	// Enum, where not all values of the type may be given.
	Enum []string
}

// nameFormat is of names that people read: besides what the pattern says, joiners, variation
// selectors and marks need a character that they belong to (im.CheckName).
const nameFormat = "name"

func id() Bounds                     { return Bounds{Pattern: idPattern} }
func optionalID() Bounds             { return Bounds{Pattern: maybeID} }
func matching(pattern string) Bounds { return Bounds{Pattern: pattern} }
func title(most int) Bounds {
	return Bounds{Pattern: titlePattern, MinLength: 1, MaxLength: most}
}
func shown(most int) Bounds {
	return Bounds{Pattern: shownPattern, MinLength: 1, MaxLength: most, Format: nameFormat}
}
func called(most int) Bounds {
	return Bounds{Pattern: maybeShown, MaxLength: most, Format: nameFormat}
}
func line(most int) Bounds  { return Bounds{Pattern: linePattern, MaxLength: most} }
func lines(most int) Bounds { return Bounds{Pattern: linesPattern, MaxLength: most} }
func note(most int) Bounds  { return Bounds{Pattern: notePattern, MaxLength: most} }
func secret() Bounds        { return Bounds{MinLength: minPasswordChars, MaxLength: maxPasswordChars} }
func opaqueText() Bounds {
	return Bounds{MaxLength: contract.MaxCursorBytes, MaxBytes: contract.MaxCursorBytes}
}
func tags() Bounds {
	b := title(contact.MaxTag)
	b.MaxItems = contact.MaxTags
	return b
}
func userList(least, most int) Bounds {
	return Bounds{Pattern: idPattern, MinItems: least, MaxItems: most}
}
func list(most int) Bounds             { return Bounds{MaxItems: most} }
func number(least, most uint64) Bounds { return Bounds{Min: least, Max: most} }
func seq() Bounds                      { return number(0, math.MaxUint64) }
func someSeq() Bounds                  { return number(1, math.MaxUint64) }
func millis() Bounds                   { return number(0, maxMillis) }
func count() Bounds                    { return number(0, math.MaxUint64) }
func page(def, most uint64) Bounds {
	b := number(0, most)
	b.Default = strconv.FormatUint(def, 10)
	return b
}
func (b Bounds) required() Bounds             { b.Required = true; return b }
func (b Bounds) format(name string) Bounds    { b.Format = name; return b }
func (b Bounds) least(n int) Bounds           { b.MinItems = n; return b }
func (b Bounds) def(value string) Bounds      { b.Default = value; return b }
func (b Bounds) unique() Bounds               { b.Unique = true; return b }
func (b Bounds) beside(schema string) Bounds  { b.Beside = schema; return b }
func (b Bounds) only(values ...string) Bounds { b.Enum = values; return b }

// FieldBounds returns the bounds of a field, `Message.field` as services.proto
// names them.
func FieldBounds(field string) (Bounds, bool) {
	b, ok := fieldBounds()[field]
	return b, ok
}

// NumberPattern matches the decimal numbers from least to most, written without
// leading zeros. least is 0 or a power of ten.
func NumberPattern(least, most uint64) string {
	var alternatives []string
	if least == 0 {
		alternatives = append(alternatives, "0")
		least = 1
	}
	low, high := strconv.FormatUint(least, 10), strconv.FormatUint(most, 10)
	if len(high) > len(low) {
		alternatives = append(alternatives, "[1-9]"+digits(len(low)-1, len(high)-2))
	}
	// Those of as many digits as most: the same up to a digit, then a smaller one.
	for i := range high {
		from := byte('0')
		if i == 0 {
			from = '1'
		}
		if high[i] > from {
			alternatives = append(alternatives, high[:i]+digitRange(from, high[i]-1)+digits(len(high)-i-1, len(high)-i-1))
		}
	}
	return "^(" + strings.Join(append(alternatives, high), "|") + ")$"
}

func digitRange(from, to byte) string {
	if from == to {
		return string(from)
	}
	return "[" + string(from) + "-" + string(to) + "]"
}

func digits(least, most int) string {
	switch {
	case most == 0:
		return ""
	case least == most:
		return "[0-9]{" + strconv.Itoa(most) + "}"
	}
	return "[0-9]{" + strconv.Itoa(least) + "," + strconv.Itoa(most) + "}"
}

// fieldBounds is the table: every field of every message of the API, but those
// that their type describes (see Bounds). TestEveryFieldHasBounds holds it.
func fieldBounds() map[string]Bounds {
	all := make(map[string]Bounds, 200)
	for _, part := range []map[string]Bounds{accountBounds(), providerBounds(), securityBounds(), contactBounds(), groupBounds(), joinBounds(), linkBounds(), messageBounds(), amendBounds(), streamBounds(), lifetimeBounds(), retentionBounds(), mediaBounds(), stickerBounds(), pushBounds(), searchBounds(), threadBounds(), forwardBounds(), adminBounds(), roleBounds(), moderationBounds(), placeBounds(), healthBounds(), stateBounds()} {
		for name, b := range part {
			all[name] = b
		}
	}
	return all
}

func accountBounds() map[string]Bounds {
	return map[string]Bounds{
		"Device.id":    id().required(),
		"Device.class": {Default: "DEVICE_CLASS_OTHER"},
		"Device.name":  line(contract.MaxDeviceName),

		"Tokens.user":                  id().required(),
		"Tokens.session":               id().required(),
		"Tokens.access_token":          matching(tokenPattern).required(),
		"Tokens.access_expires_at_ms":  millis().required(),
		"Tokens.refresh_token":         matching(maybeToken),
		"Tokens.refresh_expires_at_ms": millis(),

		"RegisterRequest.username":     matching(namePattern).required(),
		"RegisterRequest.password":     secret().required(),
		"RegisterRequest.display_name": called(maxNameChars),
		"RegisterResponse.tokens":      {Required: true},

		"LoginRequest.username":              matching(namePattern).required(),
		"LoginRequest.password":              {Required: true, MinLength: 1, MaxLength: maxPasswordChars},
		"LoginResponse.tokens":               {Required: true},
		"RefreshRequest.refresh_token":       matching(tokenPattern).required(),
		"RefreshResponse.tokens":             {Required: true},
		"ListSessionsResponse.sessions":      list(math.MaxInt32),
		"RevokeSessionRequest.session":       id().required(),
		"ChangePasswordRequest.old_password": {Required: true, MinLength: 1, MaxLength: maxPasswordChars},
		"ChangePasswordRequest.new_password": secret().required(),

		"Session.id":              id().required(),
		"Session.user":            id().required(),
		"Session.client":          line(maxUserAgent),
		"Session.created_at_ms":   millis().required(),
		"Session.last_seen_at_ms": millis(),
		"Session.last_address":    {MaxLength: 64, MaxBytes: 64},

		"User.id":           id().required(),
		"User.username":     matching(namesPattern),
		"User.display_name": title(maxNameChars).required(),
		"User.picture":      {MaxLength: im.MaxPicture, MaxBytes: im.MaxPicture},
		"User.about":        lines(account.MaxAbout),
		"User.extra":        profileExtra(),

		"GetUsersRequest.ids":               userList(0, maxGetUsers),
		"GetUsersResponse.users":            list(maxGetUsers),
		"FindUserRequest.username":          matching(namePattern).required(),
		"FindUserResponse.user":             {Required: true},
		"UpdateProfileRequest.display_name": shown(maxNameChars),
		"UpdateProfileRequest.picture":      {Pattern: im.PicturePattern, MaxLength: im.MaxPicture},
		"UpdateProfileRequest.about":        lines(account.MaxAbout),
		"UpdateProfileRequest.extra":        profileExtra(),
		"UpdateProfileResponse.user":        {Required: true},
		"UpdateProfileResponse.dm_policy":   {Required: true},

		"UpdateProfileResponse.group_policy": {Required: true},
		"UpdateProfileResponse.find_policy":  {Required: true},

		"UpdateProfileResponse.presence_policy": {Required: true},

		"SearchUsersRequest.prefix": title(account.MaxPrefix).required(),
		"SearchUsersRequest.limit":  page(account.DefaultFound, account.MaxFound),
		"SearchUsersRequest.cursor": opaqueText().format("cursor"),
		"SearchUsersResponse.users": list(account.MaxFound),
		"SearchUsersResponse.next":  opaqueText(),
	}
}

func contactBounds() map[string]Bounds {
	all := map[string]Bounds{
		"Contact.user":          {Required: true},
		"Contact.state":         {Required: true},
		"Contact.remark":        note(maxNameChars),
		"Contact.message":       note(maxRequestChars),
		"Contact.changed_at_ms": millis(),
		"Contact.tags":          tags(),
		"Contact.expires_at_ms": millis(),

		"SetTagsRequest.tags": {Pattern: shownPattern, MinLength: 1, MaxLength: contact.MaxTag, MaxItems: contact.MaxTags, Format: nameFormat},

		"RequestContactRequest.message":  note(maxRequestChars),
		"RequestContactResponse.contact": {Required: true},
		"AcceptContactResponse.contact":  {Required: true},
		"SetRemarkRequest.remark":        called(maxNameChars),
		"ListContactsRequest.limit":      page(100, 500),
		"ListContactsRequest.cursor":     optionalID(),
		"ListContactsResponse.contacts":  list(500),
		"ListContactsResponse.next":      optionalID(),
		"ListContactsRequest.since":      count(),
		"ListContactsResponse.revision":  count(),
	}
	for _, m := range []string{"RequestContact", "AcceptContact", "RefuseContact", "RemoveContact", "BlockUser", "UnblockUser", "SetRemark", "SetTags"} {
		all[m+"Request.user"] = id().required().format("user")
	}
	return all
}

func groupBounds() map[string]Bounds {
	all := map[string]Bounds{
		"Group.conversation":  matching(groupPattern).required(),
		"Group.name":          title(maxNameChars).required(),
		"Group.owner":         id().required(),
		"Group.members":       number(1, math.MaxUint32).required(),
		"Group.created_at_ms": millis().required(),
		"Group.extra":         groupExtra(),

		"Group.picture":      {MaxLength: group.MaxPicture, MaxBytes: group.MaxPicture},
		"Group.description":  lines(group.MaxDescription),
		"Group.announcement": lines(group.MaxAnnouncement),
		"Group.slow_mode_s":  number(0, group.MaxSlowMode),

		"Member.user":           id().required(),
		"Member.role":           {Required: true},
		"Member.muted_until_ms": millis(),
		"Member.joined_at_ms":   millis().required(),

		"CreateGroupRequest.name":       shown(maxNameChars).required(),
		"CreateGroupRequest.members":    userList(0, maxMembers).format("user"),
		"CreateGroupRequest.request_id": optionalID(),
		"CreateGroupResponse.group":     {Required: true},
		"CreateGroupResponse.invited":   userList(0, maxMembers),
		"AddMembersResponse.invited":    userList(0, maxMembers),
		"GetGroupResponse.group":        {Required: true},
		"RenameGroupRequest.name":       shown(maxNameChars).required(),
		"RenameGroupResponse.group":     {Required: true},
		"UpdateGroupResponse.group":     {Required: true},
		"ListMembersRequest.limit":      page(200, maxMembers),
		"ListMembersRequest.query":      line(group.MaxQuery),
		"ListMembersRequest.cursor":     matching(group.CursorPattern),
		"ListMembersResponse.members":   list(maxMembers),
		"ListMembersResponse.next":      matching(group.CursorPattern),
		"AddMembersRequest.users":       userList(1, maxMembers).required().format("user"),
		"AddMembersResponse.added":      userList(0, maxMembers),
		"RemoveMembersRequest.users":    userList(1, maxMembers).required().format("user"),
		"RemoveMembersResponse.removed": userList(0, maxMembers),
		"Member.nickname":               line(group.MaxNickname),
		"SetNicknameRequest.nickname":   called(group.MaxNickname),
		"SetNicknameRequest.user":       optionalID().format("user"),
		"SetRoleRequest.user":           id().required().format("user"),
		"SetRoleRequest.role":           Bounds{Required: true}.only("ROLE_MEMBER", "ROLE_ADMIN"),
		"TransferOwnershipRequest.user": id().required().format("user"),
		"MuteMemberRequest.user":        id().required().format("user"),
		"MuteMemberRequest.until_ms":    millis(),
	}
	for _, m := range []string{"DismissGroup", "CreateInviteLink", "ListInviteLinks", "RevokeInviteLink", "WithdrawJoin", "ListJoinRequests", "ApproveJoin", "RefuseJoin", "BanMember", "UnbanMember", "ListBans", "AcceptInvitation", "RefuseInvitation", "GetGroup", "RenameGroup", "UpdateGroup", "ListMembers", "AddMembers", "RemoveMembers", "LeaveGroup", "SetNickname", "SetRole", "TransferOwnership", "MuteMember"} {
		all[m+"Request.conversation"] = matching(groupPattern).required().format("group")
	}
	for _, m := range []string{"UpdateGroupRequest", "GroupChange"} {
		all[m+".picture"] = Bounds{Pattern: im.PicturePattern, MaxLength: group.MaxPicture}
		all[m+".description"], all[m+".announcement"] = lines(group.MaxDescription), lines(group.MaxAnnouncement)
		all[m+".extra"], all[m+".slow_mode_s"] = groupExtra(), number(0, group.MaxSlowMode)
	}
	return all
}

// joinBounds is of who becomes a member, and who may not.
func joinBounds() map[string]Bounds {
	return map[string]Bounds{
		"Invitation.conversation":  matching(groupPattern).required(),
		"Invitation.name":          title(maxNameChars).required(),
		"Invitation.picture":       {MaxLength: group.MaxPicture, MaxBytes: group.MaxPicture},
		"Invitation.members":       number(1, math.MaxUint32),
		"Invitation.inviter":       id().required(),
		"Invitation.created_at_ms": millis().required(),
		"Invitation.expires_at_ms": millis().required(),

		"ListInvitationsRequest.limit":        page(group.DefaultInvitations, group.MaxInvitations),
		"ListInvitationsRequest.cursor":       {Pattern: "^(grp:" + idChars + "{1,64})?$"},
		"ListInvitationsResponse.invitations": list(group.MaxInvitations),
		"ListInvitationsResponse.next":        {Pattern: "^(grp:" + idChars + "{1,64})?$"},
		"AcceptInvitationResponse.group":      {Required: true},

		"Ban.user":          id().required(),
		"Ban.by":            id().required(),
		"Ban.reason":        lines(group.MaxReason),
		"Ban.created_at_ms": millis().required(),
		"Ban.until_ms":      millis(),

		"BanMemberRequest.user":     id().required().format("user"),
		"BanMemberRequest.reason":   lines(group.MaxReason),
		"BanMemberRequest.until_ms": millis().format("future"),
		"UnbanMemberRequest.user":   id().required().format("user"),
		"ListBansRequest.limit":     page(group.DefaultPage, group.MaxPage),
		"ListBansRequest.cursor":    optionalID(),
		"ListBansResponse.bans":     list(group.MaxPage),
		"ListBansResponse.next":     optionalID(),
	}
}

// linkBounds is of invite links and who asks to join by one.
func linkBounds() map[string]Bounds {
	code := func() Bounds { return matching(group.LinkPattern).required() }
	maybeCode := matching("^([a-z2-7]{26})?$")
	return map[string]Bounds{
		"InviteLink.code":          code(),
		"InviteLink.conversation":  matching(groupPattern).required(),
		"InviteLink.creator":       id().required(),
		"InviteLink.created_at_ms": millis().required(),
		"InviteLink.expires_at_ms": millis(),
		"InviteLink.max_uses":      number(0, group.MaxLinkUses),
		"InviteLink.uses":          number(0, math.MaxUint32),

		"CreateInviteLinkRequest.expires_at_ms": millis().format("future"),
		"CreateInviteLinkRequest.max_uses":      number(0, group.MaxLinkUses),
		"CreateInviteLinkResponse.link":         {Required: true},
		"ListInviteLinksRequest.limit":          page(group.MaxLinks, group.MaxLinks),
		"ListInviteLinksRequest.cursor":         maybeCode,
		"ListInviteLinksResponse.links":         list(group.MaxLinks),
		"ListInviteLinksResponse.next":          maybeCode,
		"RevokeInviteLinkRequest.code":          code(),
		"GetInviteLinkRequest.code":             code(),
		"GetInviteLinkResponse.name":            title(maxNameChars).required(),
		"GetInviteLinkResponse.picture":         {MaxLength: group.MaxPicture, MaxBytes: group.MaxPicture},
		"GetInviteLinkResponse.members":         number(1, math.MaxUint32).required(),
		"JoinByLinkRequest.code":                code(),
		"JoinByLinkResponse.group":              {Required: true},

		"JoinRequest.user":          id().required(),
		"JoinRequest.text":          lines(group.MaxRequestText),
		"JoinRequest.created_at_ms": millis().required(),
		"JoinRequest.expires_at_ms": millis().required(),

		"RequestToJoinRequest.code":           code(),
		"RequestToJoinRequest.text":           lines(group.MaxRequestText),
		"RequestToJoinResponse.conversation":  matching(groupPattern).required(),
		"RequestToJoinResponse.expires_at_ms": millis().required(),
		"ListJoinRequestsRequest.limit":       page(group.DefaultPage, group.MaxRequests),
		"ListJoinRequestsRequest.cursor":      optionalID(),
		"ListJoinRequestsResponse.requests":   list(group.MaxRequests),
		"ListJoinRequestsResponse.next":       optionalID(),
		"ApproveJoinRequest.user":             id().required().format("user"),
		"RefuseJoinRequest.user":              id().required().format("user"),
	}
}

func profileExtra() Bounds {
	return Bounds{Pattern: typePattern, MaxItems: im.MaxExtraKeys, MaxLength: im.MaxProfileExtra, MaxBytes: im.MaxProfileExtra}
}

func groupExtra() Bounds {
	return Bounds{Pattern: typePattern, MaxItems: group.MaxExtraKeys, MaxLength: group.MaxExtraBytes, MaxBytes: group.MaxExtraBytes}
}

func messageBounds() map[string]Bounds {
	base64Of := func(n int) int { return (n + 2) / 3 * 4 }
	all := map[string]Bounds{
		"Content.fallback":         {MaxLength: contract.MaxFallbackBytes, MaxBytes: contract.MaxFallbackBytes},
		"SendMessageRequest.extra": {Pattern: typePattern, MaxItems: contract.MaxExtraKeys, MaxLength: contract.MaxExtraBytes, MaxBytes: contract.MaxExtraBytes},
		"Content.type":             matching(typePattern).required(),
		"Content.text":             {MinLength: 1, MaxLength: contract.MaxContentBytes, MaxBytes: contract.MaxContentBytes},
		"Content.data":             {Pattern: BytesPattern, MinLength: 4, MaxLength: base64Of(contract.MaxContentBytes)},

		"SendMessageRequest.conversation":  matching(toPattern).required().format("conversation"),
		"SendMessageRequest.id":            Bounds{Pattern: namedIDPattern}.format("message-id"),
		"SendMessageRequest.content":       {Required: true},
		"SendMessageRequest.poll":          {Beside: askedPoll},
		"SendMessageRequest.reply_to":      seq().format("seq"),
		"SendMessageRequest.mentions":      userList(0, contract.MaxMentions),
		"SendMessageResponse.id":           matching(messageIDPattern).required(),
		"SendMessageResponse.seq":          someSeq().required(),
		"SendMessageResponse.stored_at_ms": millis().required(),

		"EditMessageRequest.conversation":  matching(toPattern).required().format("conversation"),
		"EditMessageRequest.seq":           someSeq().required().format("seq"),
		"EditMessageRequest.id":            Bounds{Pattern: namedIDPattern}.format("message-id"),
		"EditMessageRequest.content":       {Required: true},
		"EditMessageRequest.mentions":      userList(0, contract.MaxMentions),
		"EditMessageRequest.extra":         {Pattern: typePattern, MaxItems: contract.MaxExtraKeys, MaxLength: contract.MaxExtraBytes, MaxBytes: contract.MaxExtraBytes},
		"EditMessageResponse.id":           matching(messageIDPattern).required(),
		"EditMessageResponse.seq":          someSeq().required(),
		"EditMessageResponse.stored_at_ms": millis().required(),
		"ListEditsRequest.seq":             someSeq().required().format("seq"),
		"ListEditsRequest.limit":           page(entrycodec.MaxVersions, math.MaxUint32),
		"ListEditsRequest.before":          number(0, math.MaxUint32),
		"ListEditsResponse.versions":       list(entrycodec.MaxVersions),
		"ListEditsResponse.next":           number(0, math.MaxUint32),
		"Edited.version":                   number(1, math.MaxUint32).required(),
		"Edited.at_ms":                     millis().required(),
		"Edited.content":                   {Required: true},
		"Edited.mentions":                  userList(0, contract.MaxMentions),
		"Edited.extra":                     {Pattern: typePattern, MaxItems: contract.MaxExtraKeys, MaxLength: contract.MaxExtraBytes, MaxBytes: contract.MaxExtraBytes},

		"RecallMessageRequest.seq":  someSeq().required().format("seq"),
		"RecallMessageResponse.seq": someSeq().required(),

		"ListEntriesRequest.from":       seq(),
		"ListEntriesRequest.at_ms":      millis(),
		"ListEntriesRequest.limit":      page(50, math.MaxUint32),
		"ListEntriesResponse.entries":   list(500),
		"ListEntriesResponse.head":      seq(),
		"ListEntriesResponse.first_seq": seq(),
		"ListEntriesResponse.last_seq":  seq(),
		"ListEntriesResponse.touched":   list(500),

		"ListConversationsRequest.position":      opaqueText(),
		"ListConversationsRequest.timeline":      opaqueText(),
		"ListConversationsRequest.limit":         page(100, math.MaxUint32),
		"ListConversationsRequest.cursor":        opaqueText().format("cursor"),
		"ListConversationsRequest.conversations": {Pattern: anyPattern, MaxItems: im.MaxOnly, Format: "conversation"},
		"ListConversationsResponse.delta":        {Required: true},

		"Newest.conversation": matching(anyPattern).required().format("conversation"),
		"Newest.seq":          someSeq().required(),
		"Newest.id":           matching(namedIDPattern).required(),
		"Newest.stored_at_ms": Bounds{Signed: true},
		"Newest.pos":          seq(),

		"MarkReadRequest.seq":              someSeq().required().format("seq"),
		"SetMyStateRequest.muted_until_ms": number(0, math.MaxInt64),
		"SetMyStateRequest.draft":          {MaxLength: im.MaxDraft, MaxBytes: im.MaxDraft},
		"SetMyStateRequest.cleared_below":  seq().format("seq"),
		"SetMyStateRequest.folder":         called(im.MaxFolder),
		"SetMyStateRequest.delete":         Bounds{Min: 1, Max: math.MaxInt64, MinItems: 1, MaxItems: im.MaxDelete}.format("seq"),
	}
	for _, m := range []string{"RecallMessage", "ListEdits", "ListReactions", "ListVotes", "ListPins", "ListEntries", "MarkRead", "SetMyState"} {
		all[m+"Request.conversation"] = matching(anyPattern).required().format("conversation")
	}
	return all
}

func adminBounds() map[string]Bounds {
	return map[string]Bounds{
		"ClaimAdminRequest.code":     {Required: true, MinLength: 1, MaxLength: maxTokenBytes, MaxBytes: maxTokenBytes},
		"ClaimAdminRequest.username": matching(namePattern).required(),
		"ClaimAdminRequest.password": secret().required(),
		"ClaimAdminResponse.tokens":  {Required: true},

		"MintTokenRequest.user":         id().required(),
		"MintTokenRequest.display_name": called(maxNameChars),
		"MintTokenRequest.lifetime_ms":  Bounds{Min: 1000, Max: uint64(maxLifetime.Milliseconds())}.def("86400000"),
		"MintTokenResponse.tokens":      {Required: true},

		"CreateUserRequest.username":     matching(namePattern).required(),
		"CreateUserRequest.password":     secret().required(),
		"CreateUserRequest.display_name": called(maxNameChars),
		"CreateUserResponse.user":        {Required: true},

		"ListUsersRequest.limit":            page(100, 500),
		"ListUsersRequest.cursor":           optionalID(),
		"ListUsersResponse.users":           list(500),
		"ListUsersResponse.next":            optionalID(),
		"ListUserSessionsRequest.user":      id().required(),
		"ListUserSessionsResponse.sessions": list(math.MaxInt32),
		"KickUserRequest.user":              id().required(),
		"KickUserRequest.session":           optionalID(),
		"KickUserResponse.sessions":         number(0, math.MaxUint32),

		"CreateGroupForRequest.id":      id().required(),
		"CreateGroupForRequest.owner":   id().required().format("user"),
		"CreateGroupForRequest.name":    shown(maxNameChars).required(),
		"CreateGroupForRequest.members": userList(0, maxMembers).format("user"),
		"CreateGroupForResponse.group":  {Required: true},
	}
}

// stateBounds is of what is told only: entries, conversations, errors.
func stateBounds() map[string]Bounds {
	return map[string]Bounds{
		"Entry.conversation": matching(anyPattern).required(),
		"Entry.seq":          someSeq().required(),
		"Entry.id":           matching(messageIDPattern).required(),
		"Entry.sender":       optionalID(),
		"Entry.stored_at_ms": millis().required(),
		"Entry.extra":        {Pattern: typePattern, MaxItems: contract.MaxExtraKeys, MaxLength: contract.MaxExtraBytes, MaxBytes: contract.MaxExtraBytes},
		"Entry.kind":         {Required: true},
		"Entry.reply_to":     seq(),
		"Entry.mentions":     userList(0, contract.MaxMentions),
		"Entry.count":        count(),
		"Entry.target":       seq(),
		"Entry.pos":          count(),
		"Entry.amended":      seq(),
		"Entry.edited_at_ms": millis(),
		"Entry.edits":        number(0, math.MaxUint32),
		"Entry.reactions":    list(entrycodec.MaxReactions),
		"Event.type":         {Required: true},
		"Event.users":        userList(0, maxMembers),
		"Event.until_ms":     millis(),
		"Event.conversation": {Pattern: "^(grp:" + idChars + "{1,64})?$"},
		"Event.text":         {MaxLength: maxRequestChars},

		"SyncDelta.number":        number(0, math.MaxUint32),
		"SyncDelta.timeline":      opaqueText(),
		"SyncDelta.position":      opaqueText(),
		"SyncDelta.conversations": list(500),
		"SyncDelta.next":          opaqueText(),

		"ConversationState.conversation":    matching(anyPattern).required(),
		"ConversationState.seq":             seq(),
		"ConversationState.count":           count(),
		"ConversationState.last_at_ms":      millis(),
		"ConversationState.first_seq":       seq(),
		"ConversationState.until_seq":       seq(),
		"ConversationState.read_seq":        seq(),
		"ConversationState.unread":          count(),
		"ConversationState.peer_received":   seq(),
		"ConversationState.peer_read":       seq(),
		"ConversationState.title":           line(maxNameChars),
		"ConversationState.entries":         list(500),
		"ConversationState.earlier":         list(128),
		"ConversationState.recalled":        count(),
		"ConversationState.recalled_seqs":   {Min: 1, Max: math.MaxUint64, MaxItems: 1000},
		"ConversationState.unread_mentions": count(),
		"ConversationState.mention_seqs":    {Min: 1, Max: math.MaxUint64, MaxItems: 1000},
		"ConversationState.from_seq":        seq(),
		"ConversationState.touched":         list(500),

		"MyState.conversation":   matching(anyPattern).required(),
		"MyState.revision":       count(),
		"MyState.muted_until_ms": number(0, math.MaxInt64),
		"MyState.draft":          {MaxLength: im.MaxDraft, MaxBytes: im.MaxDraft},
		"MyState.cleared_below":  seq(),
		"MyState.hidden_count":   count(),
		"MyState.unread_at":      seq(),
		"MyState.folder":         called(im.MaxFolder),
		"MyState.deleted":        list(im.MaxDeleted),
		"SeqRange.first":         someSeq().required(),
		"SeqRange.last":          someSeq().required(),
		"Window.first_seq":       seq(),
		"Window.until_seq":       seq(),
		"Window.hidden":          count(),

		"Error.code":           matching(codePattern).required(),
		"Error.message":        {MaxLength: 4096},
		"Error.retry_after_ms": number(0, math.MaxUint32),
		"Error.field":          {MaxLength: 1024},
		"Error.frame":          {MaxLength: 64},
		"Error.conversation":   {MaxLength: im.MaxConversationID},
		"Error.code_number":    number(4000, 4999).required(),
		"Error.ticket":         matching(maybeToken),
	}
}
