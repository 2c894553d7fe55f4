package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// accountCmd is what a user does with their own account. Each logs in and out again.
type accountCmd struct {
	TOTPOn   totpOnCmd   `cmd:"" name:"totp-on" help:"Have logins need a code of an authenticator app."`
	TOTPOff  totpOffCmd  `cmd:"" name:"totp-off" help:"Have logins need no code any more."`
	Recovery recoveryCmd `cmd:"" name:"recovery-codes" help:"Make new recovery codes in the place of those of before."`
	Delete   deleteCmd   `cmd:"" help:"Delete the account, for ever."`
	Export   exportCmd   `cmd:"" help:"Download everything of yours as one zip."`
	Rename   renameCmd   `cmd:"" help:"Take another username; once in 30 days."`
	Reset    resetCmd    `cmd:"" help:"Set a new password with the code of an administrator's link."`
}

// ownAccount is a user's login.
type ownAccount struct {
	User   string `arg:"" help:"Username."`
	Server string `help:"Public address of the server." default:"http://127.0.0.1:8080" env:"SKEIN_SERVER"`
}

// logIn logs in, and asks for a code if the account needs one.
func logIn(ctx context.Context, server string, req *wire.LoginRequest) (*wire.Tokens, error) {
	tokens, err := skein.Login(ctx, server, req)
	return withCode(ctx, server, tokens, err, req.Device, req.StayLoggedIn)
}

// logInWith logs in by a provider: in a browser of this machine, which comes back by
// itself, or of another one, whose page shows a code.
func logInWith(ctx context.Context, server, provider string, paste bool, device *wire.Device) (*wire.Tokens, error) {
	show := func(url string) { fmt.Printf("Open this in a browser and log in there:\n%s\n", url) }
	if !paste {
		tokens, err := skein.LoginInBrowser(ctx, server, provider, device, true, show)
		return withCode(ctx, server, tokens, err, device, true)
	}
	login, err := skein.BeginProviderLogin(ctx, server, provider, "")
	if err != nil {
		return nil, err
	}
	show(login.URL)
	code, err := readPassword("The code that its last page shows: ")
	if err != nil {
		return nil, err
	}
	tokens, err := login.Finish(ctx, strings.TrimSpace(code), device, true)
	return withCode(ctx, server, tokens, err, device, true)
}

// withCode goes on with a login that needs a code.
func withCode(ctx context.Context, server string, tokens *wire.Tokens, err error, device *wire.Device, stayLoggedIn bool) (*wire.Tokens, error) {
	var asked *skein.Error
	for errors.Is(err, skein.ErrTOTPRequired) && errors.As(err, &asked) {
		code, readErr := readPassword("Code of your authenticator app, or a recovery code: ")
		if readErr != nil || code == "" {
			return nil, err
		}
		var wrong error
		tokens, wrong = skein.LoginWithCode(ctx, server, &wire.LoginWithCodeRequest{Ticket: asked.Ticket, Code: code, Device: device, StayLoggedIn: stayLoggedIn})
		if !errors.Is(wrong, skein.ErrBadCredentials) && !errors.Is(wrong, skein.ErrInvalidArgument) {
			return tokens, wrong
		}
		fmt.Println("this code is wrong, or was used; try the next one")
	}
	return tokens, err
}

// with calls methods as the user.
func (a *ownAccount) with(ctx context.Context, do func(password string, call func(method string, req, resp proto.Message) error) error) error {
	password, err := readPassword("Password for " + a.User + ": ")
	if err != nil {
		return err
	}
	tokens, err := logIn(ctx, a.Server, &wire.LoginRequest{Username: a.User, Password: password})
	if err != nil {
		return err
	}
	call := func(method string, req, resp proto.Message) error {
		return skein.Post(ctx, a.Server, "skein.v1.AccountService/"+method, tokens.AccessToken, req, resp)
	}
	defer func() { _ = call("Logout", &wire.LogoutRequest{}, &wire.LogoutResponse{}) }()
	return do(password, call)
}

type renameCmd struct {
	ownAccount `embed:""`
	To         string `arg:"" help:"The new username."`
}

func (c *renameCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(password string, call func(string, proto.Message, proto.Message) error) error {
		var resp wire.ChangeUsernameResponse
		if err := call("ChangeUsername", &wire.ChangeUsernameRequest{Username: c.To, Password: password}, &resp); err != nil {
			return err
		}
		fmt.Printf("your username is %s now; nobody else gets the old one for 90 days\n", resp.GetUser().GetUsername())
		return nil
	})
}

type totpOnCmd struct {
	ownAccount `embed:""`
}

func (c *totpOnCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(password string, call func(string, proto.Message, proto.Message) error) error {
		var begun wire.BeginTotpResponse
		if err := call("BeginTotp", &wire.BeginTotpRequest{Password: password}, &begun); err != nil {
			return err
		}
		fmt.Printf("Type this into your authenticator app: %s\nor show it as a QR code: %s\n", begun.Secret, begun.Uri)
		code, err := readPassword("The code that it shows now: ")
		if err != nil {
			return err
		}
		var codes wire.ConfirmTotpResponse
		if err := call("ConfirmTotp", &wire.ConfirmTotpRequest{Code: code}, &codes); err != nil {
			return err
		}
		printRecovery(codes.RecoveryCodes)
		return nil
	})
}

func printRecovery(codes []string) {
	fmt.Println("Keep these codes, for when the app is lost; each is good once, and nobody shows them again:")
	for _, c := range codes {
		fmt.Println("  " + c)
	}
}

type totpOffCmd struct {
	ownAccount `embed:""`
}

func (c *totpOffCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(password string, call func(string, proto.Message, proto.Message) error) error {
		code, err := readPassword("Another code of the app, or a recovery code: ")
		if err != nil {
			return err
		}
		return call("DisableTotp", &wire.DisableTotpRequest{Password: password, Code: code}, &wire.DisableTotpResponse{})
	})
}

type recoveryCmd struct {
	ownAccount `embed:""`
}

func (c *recoveryCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(password string, call func(string, proto.Message, proto.Message) error) error {
		code, err := readPassword("Another code of the app, or a recovery code: ")
		if err != nil {
			return err
		}
		var codes wire.NewRecoveryCodesResponse
		if err := call("NewRecoveryCodes", &wire.NewRecoveryCodesRequest{Password: password, Code: code}, &codes); err != nil {
			return err
		}
		printRecovery(codes.RecoveryCodes)
		return nil
	})
}

type deleteCmd struct {
	ownAccount `embed:""`
}

func (c *deleteCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(password string, call func(string, proto.Message, proto.Message) error) error {
		var is wire.GetSecurityResponse
		if err := call("GetSecurity", &wire.GetSecurityRequest{}, &is); err != nil {
			return err
		}
		sure, err := readPassword("This cannot be taken back. The account's name once more, to delete it: ")
		if err != nil {
			return err
		}
		if sure != c.User {
			return errors.New("that is another name: nothing was deleted")
		}
		req := &wire.DeleteAccountRequest{Password: password}
		if is.Totp {
			if req.Code, err = readPassword("Another code of the app, or a recovery code: "); err != nil {
				return err
			}
		}
		if err := call("DeleteAccount", req, &wire.DeleteAccountResponse{}); err != nil {
			return err
		}
		fmt.Println("The account was deleted.")
		return nil
	})
}

type resetCmd struct {
	Code   string `arg:"" help:"Of the administrator's link."`
	Server string `help:"Public address of the server." default:"http://127.0.0.1:8080" env:"SKEIN_SERVER"`
}

func (c *resetCmd) Run(ctx context.Context) error {
	password, err := readPassword("New password: ")
	if err != nil {
		return err
	}
	if err := skein.ResetPassword(ctx, c.Server, c.Code, password); err != nil {
		return err
	}
	fmt.Println("The password was set, and all sessions were ended. Log in again.")
	return nil
}
