package api

import (
	"context"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) requestContact(ctx context.Context, actor im.Actor, r *wire.RequestContactRequest) (*wire.RequestContactResponse, error) {
	user, err := userID("user", r.GetUser())
	if err := first(err, contract.CheckText("message", r.GetMessage(), 0, maxRequestChars)); err != nil {
		return nil, err
	}
	got, err := c.Contacts.Request(ctx, actor, user, r.GetMessage())
	if err != nil {
		return nil, err
	}
	w, err := c.wireContacts(ctx, got)
	if err != nil {
		return nil, err
	}
	return &wire.RequestContactResponse{Contact: w[0]}, nil
}

func (c *Calls) acceptContact(ctx context.Context, actor im.Actor, r *wire.AcceptContactRequest) (*wire.AcceptContactResponse, error) {
	user, err := userID("user", r.GetUser())
	if err != nil {
		return nil, err
	}
	got, err := c.Contacts.Accept(ctx, actor, user)
	if err != nil {
		return nil, err
	}
	w, err := c.wireContacts(ctx, got)
	if err != nil {
		return nil, err
	}
	return &wire.AcceptContactResponse{Contact: w[0]}, nil
}

func (c *Calls) refuseContact(ctx context.Context, actor im.Actor, r *wire.RefuseContactRequest) (*wire.RefuseContactResponse, error) {
	return &wire.RefuseContactResponse{}, toUser(ctx, actor, r.GetUser(), c.Contacts.Refuse)
}

func (c *Calls) removeContact(ctx context.Context, actor im.Actor, r *wire.RemoveContactRequest) (*wire.RemoveContactResponse, error) {
	return &wire.RemoveContactResponse{}, toUser(ctx, actor, r.GetUser(), c.Contacts.Remove)
}

func (c *Calls) blockUser(ctx context.Context, actor im.Actor, r *wire.BlockUserRequest) (*wire.BlockUserResponse, error) {
	return &wire.BlockUserResponse{}, toUser(ctx, actor, r.GetUser(), c.Contacts.Block)
}

func (c *Calls) unblockUser(ctx context.Context, actor im.Actor, r *wire.UnblockUserRequest) (*wire.UnblockUserResponse, error) {
	return &wire.UnblockUserResponse{}, toUser(ctx, actor, r.GetUser(), c.Contacts.Unblock)
}

// toUser runs what an actor does to another user.
func toUser(ctx context.Context, actor im.Actor, user string, do func(context.Context, im.Actor, im.UserID) error) error {
	u, err := userID("user", user)
	if err != nil {
		return err
	}
	return do(ctx, actor, u)
}

func (c *Calls) setRemark(ctx context.Context, actor im.Actor, r *wire.SetRemarkRequest) (*wire.SetRemarkResponse, error) {
	user, err := userID("user", r.GetUser())
	if err := first(err, contract.CheckText("remark", r.GetRemark(), 0, maxNameChars)); err != nil {
		return nil, err
	}
	if err := c.Contacts.SetRemark(ctx, actor, user, r.GetRemark()); err != nil {
		return nil, err
	}
	return &wire.SetRemarkResponse{}, nil
}

func (c *Calls) setTags(ctx context.Context, actor im.Actor, r *wire.SetTagsRequest) (*wire.SetTagsResponse, error) {
	user, err := userID("user", r.GetUser())
	if err != nil {
		return nil, err
	}
	return &wire.SetTagsResponse{}, c.Contacts.SetTags(ctx, actor, user, r.GetTags())
}

func (c *Calls) listContacts(ctx context.Context, actor im.Actor, r *wire.ListContactsRequest) (*wire.ListContactsResponse, error) {
	limit, err := pageLimit(r.GetLimit(), 100, 500)
	after, errCursor := cursor(r.GetCursor())
	if err := first(err, errCursor); err != nil {
		return nil, err
	}
	for ; ; limit /= 2 {
		got, err := c.Contacts.List(ctx, actor, limit, after, r.GetSince())
		if err != nil {
			return nil, err
		}
		w, err := c.wireContacts(ctx, got.Contacts...)
		if err != nil {
			return nil, err
		}
		list := &wire.ListContactsResponse{Contacts: w, Next: got.Next, Revision: got.Revision, Reset_: got.Reset}
		if list.SizeVT() <= maxContactsBytes || limit <= 1 {
			return list, nil
		}
	}
}

// maxContactsBytes is how long a page of contacts may be: fields of the deployment's own
// and tags may make it longer than the answer to a Call may be. Then it is a shorter one.
const maxContactsBytes = 512 << 10

// wireContacts translates contacts and adds the users' profiles. A user who is
// gone keeps the id.
func (c *Calls) wireContacts(ctx context.Context, cs ...contact.Contact) ([]*wire.Contact, error) {
	ids := make([]im.UserID, len(cs))
	for i := range cs {
		ids[i] = cs[i].User
	}
	profiles := make(map[im.UserID]account.User, len(cs))
	for len(ids) > 0 {
		page := ids[:min(len(ids), maxGetUsers)]
		ids = ids[len(page):]
		users, err := c.Accounts.Users(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, u := range users {
			profiles[u.ID] = u
		}
	}
	out := make([]*wire.Contact, len(cs))
	for i, k := range cs {
		u := profiles[k.User]
		u.ID = k.User
		out[i] = &wire.Contact{
			User:        wireUser(u),
			State:       wire.ContactState(k.State),
			Blocked:     k.Blocked,
			Remark:      k.Remark,
			Message:     k.Message,
			ChangedAtMs: contract.Millis(k.Changed),
			Tags:        contact.TagsOf(&k),
			ExpiresAtMs: c.Contacts.Expires(&k),
		}
	}
	return out, nil
}
