package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// accountCmd is what a user does with their own account. Each logs in and out again.
type accountCmd struct {
	TOTPOn   totpOnCmd   `cmd:"" name:"totp-on" help:"Have logins need a code of an authenticator app."`
	TOTPOff  totpOffCmd  `cmd:"" name:"totp-off" help:"Have logins need no code any more."`
	Recovery recoveryCmd `cmd:"" name:"recovery-codes" help:"Make new recovery codes in the place of those of before."`
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
	var asked *skein.Error
	for errors.Is(err, skein.ErrTOTPRequired) && errors.As(err, &asked) {
		code, readErr := readPassword("Code of your authenticator app, or a recovery code: ")
		if readErr != nil || code == "" {
			return nil, err
		}
		var wrong error
		tokens, wrong = skein.LoginWithCode(ctx, server, &wire.LoginWithCodeRequest{Ticket: asked.Ticket, Code: code, Device: req.Device, StayLoggedIn: req.StayLoggedIn})
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
