package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/wire"
)

// adminClient calls the admin methods of a running server with the admin key.
type adminClient struct {
	Server   string `help:"Address of the server." default:"http://127.0.0.1:8080" env:"SKEIN_SERVER"`
	adminKey `embed:""`
	JSON     bool `name:"json" help:"Print JSON."`
}

// adminKey is where a command finds the admin key.
type adminKey struct {
	KeyFile string `help:"File of the admin key (default DATA/keys/admin.key)." placeholder:"FILE"`
	Data    string `help:"The server's data directory, for the admin key." default:"./data" placeholder:"DIR" env:"SKEIN_DATA"`
}

func (k *adminKey) read() (string, error) {
	path := k.KeyFile
	if path == "" {
		path = filepath.Join(k.Data, app.AdminKeyFile)
	}
	key, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("admin key: %w (name the file with --key-file, or the data directory with --data)", err)
	}
	return strings.TrimSpace(string(key)), nil
}

func (c *adminClient) call(ctx context.Context, method string, req, resp proto.Message) error {
	if u, err := url.Parse(c.Server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return notAnAddress(c.Server)
	}
	key, err := c.read()
	if err != nil {
		return err
	}
	body, err := protojson.Marshal(req)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	hr, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.Server, "/")+"/api/skein.v1."+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	hr.Header.Set("Content-Type", "application/json")
	hr.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(hr)
	if err != nil {
		return unreached(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		var e wire.Error
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, &e); err != nil || e.Code == "" {
			return fmt.Errorf("%s answered %s", c.Server, answer.Status)
		}
		return &refusal{e.Code, e.Message}
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(raw, resp)
}

// notAnAddress refuses what --server cannot be, and tells what was probably meant.
func notAnAddress(server string) error {
	meant := "http://127.0.0.1:8080"
	if host, _, err := net.SplitHostPort(server); err == nil && host != "" {
		meant = "http://" + server
	}
	return fmt.Errorf("--server %q is not an address like %s (or https://…)", server, meant)
}

// unreached says why a server was not reached. One whose certificate is not trusted runs.
func unreached(err error) error {
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return fmt.Errorf("%w (the server answers, but this machine does not trust its certificate; if it is of an authority of your own, name that one's PEM file in the environment variable SSL_CERT_FILE)", err)
	}
	return fmt.Errorf("is the server running? %w", err)
}

// refusal is why the server did not do something.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.code + ": " + r.message }

func refusedAs(err error, code wire.Code) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == string(code)
}

// printJSON writes a message as it stands on the wire, indented.
func printJSON(m proto.Message) error {
	raw, err := protojson.Marshal(m)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Println(out.String())
	return err
}

type userCmd struct {
	Add      userAddCmd      `cmd:"" help:"Create a user; the password is asked for, or read from a pipe."`
	List     userListCmd     `cmd:"" help:"List users: who they are, their role, and what became of their accounts."`
	Sessions userSessionsCmd `cmd:"" help:"List the sessions of a user."`
	Ban      userBanCmd      `cmd:"" help:"Let nobody in as a user, for a time or for ever; their sockets close at once."`
	Unban    userUnbanCmd    `cmd:"" help:"End a ban."`
	Disable  userDisableCmd  `cmd:"" help:"Let nobody in as a user who left."`
	Enable   userEnableCmd   `cmd:"" help:"Let a user in again who was disabled."`
	Role     userRoleCmd     `cmd:"" help:"Give a user a role on the server, or take it."`
	Kick     userKickCmd     `cmd:"" help:"End sessions of a user; their sockets close at once."`
	Export   userExportCmd   `cmd:"" help:"Download everything of a user's as one zip."`
	Erase    userEraseCmd    `cmd:"" help:"Delete the account of a user, for ever."`
	Invite   userInviteCmd   `cmd:"" help:"Make a registration link, for a server where registration is by invitation."`
	Invites  userInvitesCmd  `cmd:"" help:"List the registration links that hold."`
	Uninvite userUninviteCmd `cmd:"" help:"Revoke a registration link."`
	Reset    userResetCmd    `cmd:"" help:"Make a link with which a user sets a new password, once."`
}

type userAddCmd struct {
	adminClient `embed:""`
	Username    string `arg:"" help:"[a-z0-9_.-]{3,32}"`
	Name        string `help:"Shown to others (default the username)."`
}

func (c *userAddCmd) Run(ctx context.Context) error {
	password, err := readPassword("Password for " + c.Username + ": ")
	if err != nil {
		return err
	}
	var resp wire.CreateUserResponse
	req := &wire.CreateUserRequest{Username: c.Username, Password: password, DisplayName: c.Name}
	if err := c.call(ctx, "AdminService/CreateUser", req, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	fmt.Printf("%s has the id %s\n", resp.User.Username, resp.User.Id)
	return nil
}

// readPassword asks on a terminal without echo; from a pipe it takes the first
// line and leaves the rest to who reads next.
func readPassword(prompt string) (string, error) {
	fd := int(os.Stdin.Fd())
	if !term.IsTerminal(fd) {
		return readLine(os.Stdin)
	}
	fmt.Fprint(os.Stderr, prompt)
	raw, err := term.ReadPassword(fd)
	fmt.Fprintln(os.Stderr)
	return string(raw), err
}

// readLine takes a line, and not a byte of the next.
func readLine(from io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < 4096; {
		_, err := from.Read(b)
		if err == io.EOF || b[0] == '\n' {
			break
		}
		if err != nil {
			return "", err
		}
		line = append(line, b[0])
	}
	return strings.TrimSuffix(string(line), "\r"), nil
}

type userListCmd struct {
	adminClient `embed:""`
	Query       string `arg:"" optional:"" help:"What the username or name begins with, or the whole id."`
	State       string `enum:"any,active,banned,disabled,deleted" default:"any" help:"Accounts in this state alone: active, banned, disabled or deleted."`
	Roles       bool   `help:"Those with a role alone."`
	Guests      bool   `help:"Guests alone."`
}

func (c *userListCmd) Run(ctx context.Context) error {
	all := &wire.ListUsersResponse{}
	for cursor := ""; ; {
		var page wire.ListUsersResponse
		if err := c.call(ctx, "AdminService/ListUsers", &wire.ListUsersRequest{
			Limit: 500, Cursor: cursor, Query: c.Query, State: accountStates[c.State], WithRole: c.Roles, Guests: c.Guests,
		}, &page); err != nil {
			return err
		}
		all.Users, all.Accounts = append(all.Users, page.Users...), append(all.Accounts, page.Accounts...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if c.JSON {
		return printJSON(all)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tUSERNAME\tNAME\tROLE\tSTATE\tSESSIONS\tLAST SEEN")
	for _, a := range all.Accounts {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", a.User.GetId(), a.User.GetUsername(), a.User.GetDisplayName(), roleOf(a), stateOf(a), a.Sessions, day(a.LastSeenAtMs))
	}
	return w.Flush()
}

type userSessionsCmd struct {
	adminClient `embed:""`
	userRef     `embed:""`
}

func (c *userSessionsCmd) Run(ctx context.Context) error {
	id, err := c.id(ctx, &c.adminClient)
	if err != nil {
		return err
	}
	var resp wire.ListUserSessionsResponse
	if err := c.call(ctx, "AdminService/ListUserSessions", &wire.ListUserSessionsRequest{User: id}, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tDEVICE\tCLASS\tCLIENT\tCREATED\tLAST SEEN\tFROM")
	for _, s := range resp.Sessions {
		class := strings.ToLower(strings.TrimPrefix(s.GetDevice().GetClass().String(), "DEVICE_CLASS_"))
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Id, s.GetDevice().GetName(), class, s.Client, day(s.CreatedAtMs), day(s.LastSeenAtMs), s.LastAddress)
	}
	return w.Flush()
}

func day(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04")
}

type userKickCmd struct {
	adminClient `embed:""`
	userRef     `embed:""`
	Session     string `help:"Only this session." placeholder:"ID"`
}

func (c *userKickCmd) Run(ctx context.Context) error {
	id, err := c.id(ctx, &c.adminClient)
	if err != nil {
		return err
	}
	var resp wire.KickUserResponse
	if err := c.call(ctx, "AdminService/KickUser", &wire.KickUserRequest{User: id, Session: c.Session}, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	fmt.Printf("%d sessions ended\n", resp.Sessions)
	return nil
}

type userEraseCmd struct {
	adminClient `embed:""`
	userRef     `embed:""`
	sure        `embed:""`
	Messages    bool `help:"Also what they wrote: every message of theirs is taken back."`
}

func (c *userEraseCmd) Run(ctx context.Context) error {
	id, err := c.exactly(ctx, &c.adminClient)
	if err != nil {
		return err
	}
	a, err := c.account(ctx, id)
	if err != nil {
		return err
	}
	// Asked again for one that is deleted, it only tells how far that is.
	if a.GetState() != wire.AccountState_ACCOUNT_STATE_DELETED || c.Messages {
		what := "The account of " + named(a.GetUser(), id)
		if c.Messages {
			what += ", with every message of theirs,"
		}
		if err := c.ask(what+" is deleted for ever.", cmp.Or(a.GetUser().GetUsername(), id)); err != nil {
			return err
		}
	}
	var resp wire.EraseUserResponse
	if err := c.call(ctx, "AdminService/EraseUser", &wire.EraseUserRequest{User: id, Messages: c.Messages}, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	if resp.DoneAtMs != 0 {
		fmt.Printf("deleted at %s, and all was done at %s\n", day(resp.BegunAtMs), day(resp.DoneAtMs))
		return nil
	}
	fmt.Printf("deleted (id %s); what they leave is being removed: ask again with the id to see when that is done\n", id)
	return nil
}

type tokenCmd struct {
	Mint tokenMintCmd `cmd:"" help:"Make an access token for a user of your own backend; the user is created if need be."`
}

type tokenMintCmd struct {
	adminClient `embed:""`
	User        string          `arg:"" help:"Your own id of the user: [A-Za-z0-9_-]{1,64}; or @username of one that is there."`
	Name        string          `help:"Shown to others, when the user is created."`
	Lifetime    config.Duration `help:"How long it is good." default:"24h"`
	New         bool            `help:"Create the user also where another user has this id as their username."`
}

// Run mints a token. An id is the integrator's own and needs no leave to be new; but where
// somebody has it as their username, a second user of the same name is hardly what was meant.
func (c *tokenMintCmd) Run(ctx context.Context) error {
	if time.Duration(c.Lifetime) < time.Second {
		return errors.New("--lifetime must be a second or more")
	}
	id, made := c.User, false
	if strings.HasPrefix(id, "@") {
		var err error
		if id, _, err = (userRef{id}).find(ctx, &c.adminClient); err != nil {
			return err
		}
	} else {
		there, err := c.account(ctx, id)
		if err != nil {
			return err
		}
		made = there == nil
	}
	if made && !c.New {
		u, err := c.byUsername(ctx, id)
		if err != nil {
			return err
		}
		if u != nil {
			return fmt.Errorf("no user has the id %s, but there is %s: for a token of that one write @%s; to make another user, with the id %s, give --new", id, named(u, u.Id), u.Username, id)
		}
	}
	var resp wire.MintTokenResponse
	req := &wire.MintTokenRequest{User: id, DisplayName: c.Name, LifetimeMs: time.Duration(c.Lifetime).Milliseconds()}
	if err := c.call(ctx, "AdminService/MintToken", req, &resp); err != nil {
		return err
	}
	if made { // not on stdout, which is the token alone
		fmt.Fprintf(os.Stderr, "created the user with the id %s\n", id)
	}
	if c.JSON {
		return printJSON(&resp)
	}
	fmt.Println(resp.Tokens.AccessToken)
	return nil
}
