package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/skein-im/skein/cmd/internal/command"
	"github.com/skein-im/skein/wire"
)

// userRef is a user on the command line. A username and an id may be the same word, of two
// people: @ says that it is the one, id: that it is the other.
type userRef struct {
	User string `arg:"" help:"User id, or @username (id:ID where both are the same word)."`
}

// id is the user's id. A word that is no id but somebody's username is refused with what to
// write; one that is both is the id, and stderr says so.
func (r userRef) id(ctx context.Context, c *adminClient) (string, error) {
	id, other, err := r.find(ctx, c)
	if err == nil && other != nil {
		fmt.Fprintf(os.Stderr, "%s is taken for the id; %s is somebody else\n", id, named(other, other.Id))
	}
	return id, err
}

// exactly is the user's id, for what cannot be taken back or shuts somebody out: a word that
// is both an id and a username is refused.
func (r userRef) exactly(ctx context.Context, c *adminClient) (string, error) {
	id, other, err := r.find(ctx, c)
	if err == nil && other != nil {
		return "", fmt.Errorf("%s is the id of one user and the username of another: write id:%s, or @%s for %s; nothing was done", id, id, other.Username, named(other, other.Id))
	}
	return id, err
}

// find is the user's id, and who else has it as their username.
func (r userRef) find(ctx context.Context, c *adminClient) (id string, other *wire.User, err error) {
	if name, byName := strings.CutPrefix(r.User, "@"); byName {
		u, err := c.byUsername(ctx, name)
		if err == nil && u == nil {
			err = fmt.Errorf("not_found: nobody has the username %s", name)
		}
		return u.GetId(), nil, err
	}
	if id, explicit := strings.CutPrefix(r.User, "id:"); explicit {
		return id, nil, nil
	}
	u, err := c.byUsername(ctx, r.User)
	if err != nil || u == nil || u.Id == r.User {
		return r.User, nil, err
	}
	there, err := c.account(ctx, r.User)
	if err == nil && there == nil {
		err = fmt.Errorf("not_found: no user has the id %s; for %s write @%s", r.User, named(u, u.Id), u.Username)
	}
	return r.User, u, err
}

// byUsername finds a user by their username; nil: nobody has it, or it can be nobody's.
func (c *adminClient) byUsername(ctx context.Context, name string) (*wire.User, error) {
	var resp wire.FindUserResponse
	err := c.call(ctx, "UserService/FindUser", &wire.FindUserRequest{Username: name}, &resp)
	if refusedAs(err, wire.CodeNotFound) || refusedAs(err, wire.CodeInvalidArgument) {
		return nil, nil
	}
	return resp.User, err
}

// account is the account with an id; nil: there is none.
func (c *adminClient) account(ctx context.Context, id string) (*wire.Account, error) {
	if id == "" || len(id) > 64 {
		return nil, nil // no id; a query of nothing would be everybody
	}
	for cursor := ""; ; {
		var page wire.ListUsersResponse
		if err := c.call(ctx, "AdminService/ListUsers", &wire.ListUsersRequest{Limit: 500, Cursor: cursor, Query: id}, &page); err != nil {
			if refusedAs(err, wire.CodeInvalidArgument) {
				return nil, nil
			}
			return nil, err
		}
		for _, a := range page.Accounts {
			if a.GetUser().GetId() == id {
				return a, nil
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil, nil
		}
	}
}

// named tells who a user is in words.
func named(u *wire.User, id string) string {
	who := "the user with the id " + id
	if u.GetUsername() != "" {
		who = fmt.Sprintf("@%s (id %s)", u.Username, id)
	}
	if u.GetDisplayName() != "" {
		who += fmt.Sprintf(", %q", u.DisplayName)
	}
	return who
}

// sure is how a command that cannot be taken back is told that it is meant.
type sure struct {
	Yes bool `help:"Do it without asking for the name."`
}

// ask wants the name typed, on a terminal; elsewhere --yes is needed.
func (s *sure) ask(what, name string) error {
	if s.Yes {
		return nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return command.UsageError(what + " Give --yes to do that where nobody can be asked; nothing was done.")
	}
	fmt.Fprintf(os.Stderr, "%s There is no way back. To do it, type %s: ", what, name)
	typed, err := readLine(os.Stdin)
	if err != nil {
		return err
	}
	if strings.TrimSpace(typed) != name {
		return errors.New("that is something else: nothing was done")
	}
	return nil
}

// groupName is what a group is asked by: its name, or its id if it has none.
func groupName(g *wire.Group) string {
	return cmp.Or(strings.TrimSpace(g.GetName()), g.GetConversation())
}
