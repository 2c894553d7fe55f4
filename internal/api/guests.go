package api

import (
	"context"
	"strings"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) guestRows() []row {
	return []row{
		newMaker("AccountService/RegisterGuest", Anyone, ClassCredential, small, c.registerGuest),
		newRow("AccountService/UpgradeGuest", User, ClassCredential, small, c.upgradeGuest),
	}
}

// guestMay tells what guests may call of what users may (SPEC §3.14): all of messages,
// media and push, and of the other services what is named here: what is added to them is for users
// alone.
func guestMay(method string) bool {
	if strings.HasPrefix(method, "MessageService/") || strings.HasPrefix(method, "MediaService/") || strings.HasPrefix(method, "PushService/") {
		return true
	}
	switch method {
	case "AccountService/UpgradeGuest", "AccountService/BeginExport", "AccountService/GetAnnouncements", "AccountService/GetMe", "AccountService/Logout", "AccountService/ListSessions", "AccountService/RevokeSession",
		"UserService/GetUsers", "UserService/UpdateProfile",
		"ContactService/ListContacts", "ContactService/BlockUser", "ContactService/UnblockUser",
		"GroupService/GetGroup", "GroupService/ListMembers", "GroupService/LeaveGroup", "GroupService/SetNickname",
		"GroupService/JoinByLink", "GroupService/RequestToJoin", "GroupService/WithdrawJoin",
		"GroupService/ListInvitations", "GroupService/AcceptInvitation", "GroupService/RefuseInvitation":
		return true
	}
	return false
}

// allowsGuest decides whether an actor may call a method, if they are a guest.
func (c *Calls) allowsGuest(ctx context.Context, m Method, actor im.Actor) error {
	if m.Who == Anyone || !actor.User.MayBeGuest() || m.Guests {
		return nil
	}
	guest, err := c.Accounts.IsGuest(ctx, actor.User)
	if err == nil && guest {
		return im.Errorf(im.CodePermissionDenied, "guests may not do this: become a user first (UpgradeGuest)")
	}
	return err
}

// mayLead refuses to make a guest an admin or owner: they could not do what that is for,
// and could do, by the role, what guests may not.
func (c *Calls) mayLead(ctx context.Context, user im.UserID) error {
	switch guest, err := c.Accounts.IsGuest(ctx, user); {
	case err != nil:
		return err
	case guest:
		return im.Errorf(im.CodePermissionDenied, "guests are members and nothing more: this one becomes a user first (UpgradeGuest)")
	}
	return nil
}

// byLink refuses a guest who comes by a link that lets no guests in.
func (c *Calls) byLink(ctx context.Context, actor im.Actor, code string) error {
	guest, err := c.Accounts.IsGuest(ctx, actor.User)
	if err != nil || !guest {
		return err
	}
	lets, err := c.Groups.LetsGuests(ctx, actor, code)
	if err != nil || lets {
		return err
	}
	return im.Errorf(im.CodePermissionDenied, "this link lets no guests in: ask for another one, or become a user first (UpgradeGuest)")
}

func (c *Calls) registerGuest(ctx context.Context, actor im.Actor, r *wire.RegisterGuestRequest, k *keyed) (*wire.RegisterGuestResponse, error) {
	device, err := contract.ParseDevice(r.GetDevice())
	if err := first(contract.CheckText("displayName", r.GetDisplayName(), 1, maxNameChars), err); err != nil {
		return nil, err
	}
	t, err := c.Accounts.RegisterGuest(ctx, actor.Address, account.Guesting{DisplayName: r.GetDisplayName(), Device: device, Key: k.seed("guest")})
	if err != nil {
		return nil, err
	}
	return &wire.RegisterGuestResponse{Tokens: wireTokens(t)}, nil
}

func (c *Calls) upgradeGuest(ctx context.Context, actor im.Actor, r *wire.UpgradeGuestRequest) (*wire.UpgradeGuestResponse, error) {
	if err := validUpgrade(r); err != nil {
		return nil, err
	}
	u, err := c.Accounts.UpgradeGuest(ctx, actor, account.Upgrade{
		Username: r.GetUsername(), Password: r.GetPassword(), Invitation: r.GetInvitation(), Code: r.GetCode(), Verifier: r.GetVerifier(),
	})
	if err != nil {
		return nil, err
	}
	c.Contacts.ProfileChanged()
	return &wire.UpgradeGuestResponse{User: wireUser(u)}, nil
}

// validUpgrade looks at the form of what a guest becomes a user by: a password, or a code.
func validUpgrade(r *wire.UpgradeGuestRequest) error {
	if r.GetCode() == "" && r.GetVerifier() == "" {
		return first(
			opaque("username", r.GetUsername(), maxUsernameBytes),
			knownPassword("password", r.GetPassword()),
			opaqueIf("invitation", r.GetInvitation(), maxTokenBytes),
		)
	}
	return first(
		opaqueIf("username", r.GetUsername(), maxUsernameBytes),
		passwordIf(r.GetPassword()),
		opaqueIf("invitation", r.GetInvitation(), maxTokenBytes),
		opaque("code", r.GetCode(), maxTokenBytes),
		verifier(r.GetVerifier()),
	)
}
