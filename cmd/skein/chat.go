package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/skein-im/skein/internal/terminal"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/sdk/go/sqlitestore"
	"github.com/skein-im/skein/wire"
)

type chatCmd struct {
	User      string `arg:"" optional:"" help:"Username; asked for when there is no profile yet."`
	Server    string `help:"Public address of the server, to log in." default:"http://127.0.0.1:8080" env:"SKEIN_SERVER"`
	Connect   string `help:"Connect to this instead of the server's WebSocket, e.g. tcp://127.0.0.1:7000." placeholder:"URL"`
	Codec     string `default:"pb" enum:"pb,json" help:"pb or json."`
	Register  bool   `help:"Make a new account."`
	Invite    string `help:"With --register: the code of an administrator's registration link." placeholder:"CODE"`
	LoginWith string `help:"Log in by a provider (OpenID Connect) of the server, in a browser; USER only names the profile." placeholder:"PROVIDER"`
	Paste     bool   `help:"With --login-with: the browser is on another machine; its page shows a code, to be typed here."`
	Profile   string `help:"Directory of the messages and the login (default ~/.skein/SERVER/USER)." placeholder:"DIR"`
	Plain     bool   `help:"Lines in, lines out, also on a terminal; otherwise the chat takes the whole window."`
}

func (c *chatCmd) Run(ctx context.Context) error {
	base, err := url.Parse(c.Server)
	if err != nil || base.Host == "" {
		return notAnAddress(c.Server)
	}
	if c.User == "" {
		return errors.New("which user? skein chat USERNAME [--register]")
	}
	dir, err := c.profile(base)
	if err != nil {
		return err
	}
	device, err := c.device(dir)
	if err != nil {
		return err
	}
	file := skein.TokenFile(filepath.Join(dir, "tokens.json"))
	tokens, fresh, err := c.logIn(ctx, file, device)
	if err != nil {
		return err
	}
	store, err := sqlitestore.Open(filepath.Join(dir, "messages.db"))
	if err != nil {
		return err
	}
	defer store.Close()
	for {
		err := c.chat(ctx, base, device, store, skein.NewSession(c.Server, tokens, file.Save), fresh)
		var over *terminal.SessionOverError
		if !errors.As(err, &over) {
			return err
		}
		// The tokens are of no use any more; the messages, and those that wait, stay.
		if err := os.Remove(string(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !c.inWindow() {
			return fmt.Errorf("the session of %s has ended (%s): start skein chat %s again to log in; what waits to be sent is kept, and goes out then", c.User, endedFor(over), c.User)
		}
		fmt.Printf("Your session has ended (%v). Log in again; what waits to be sent goes out then.\n", endedFor(over))
		c.Register = false // that was done
		if tokens, fresh, err = c.logIn(ctx, file, device); err != nil {
			return err
		}
	}
}

// endedFor is why a session is over, as the server says it.
func endedFor(over *terminal.SessionOverError) string {
	var e *skein.Error
	if errors.As(over, &e) && e.Message != "" {
		return e.Message
	}
	return over.Err.Error()
}

// inWindow tells whether the chat takes a whole terminal.
func (c *chatCmd) inWindow() bool {
	return !c.Plain && term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
}

// chat chats until the user, or the session, ends it.
func (c *chatCmd) chat(ctx context.Context, base *url.URL, device *wire.Device, store skein.Store, session *skein.Session, fresh bool) error {
	codec := wire.Protobuf()
	if c.Codec == "json" {
		codec = wire.JSON()
	}
	client, err := skein.Dial(ctx, c.target(base), append(c.first(fresh),
		skein.WithTokenSource(session.Token), skein.WithStore(store),
		skein.WithCodec(codec), skein.WithDevice(device.Id, device.Class, device.Name), skein.WithClientName("skein-chat/"+version), skein.WithBaseURL(c.Server))...)
	if err != nil {
		return err
	}
	defer client.Close()
	if c.inWindow() {
		return terminal.NewWindow(client).Run(ctx)
	}
	return terminal.New(client, terminal.Plain(os.Stdin, os.Stdout)).Run(ctx)
}

// first is how the chat begins: who was here before reads and writes without a server, who
// was not is told at once why there is none.
func (c *chatCmd) first(fresh bool) []skein.Option {
	if fresh {
		return nil
	}
	return []skein.Option{skein.WithOffline()}
}

func (c *chatCmd) target(base *url.URL) string {
	if c.Connect != "" {
		return c.Connect
	}
	scheme := "ws"
	if base.Scheme == "https" {
		scheme = "wss"
	}
	return scheme + "://" + base.Host + "/ws"
}

// profile is the directory of this user on this server.
func (c *chatCmd) profile(base *url.URL) (string, error) {
	dir := c.Profile
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		safe := strings.NewReplacer("/", "_", ":", "_", "..", "_")
		dir = filepath.Join(home, ".skein", safe.Replace(base.Host), safe.Replace(c.User))
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// device keeps the device id of a profile.
func (c *chatCmd) device(dir string) (*wire.Device, error) {
	path := filepath.Join(dir, "device")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		raw = []byte(skein.NewDeviceID())
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	if host == "" {
		host = "terminal"
	}
	return &wire.Device{Id: strings.TrimSpace(string(raw)), Class: wire.DeviceClass_DEVICE_CLASS_DESKTOP, Name: host}, nil
}

// logIn uses the profile's tokens, or asks for the password: then they are fresh.
func (c *chatCmd) logIn(ctx context.Context, file skein.TokenFile, device *wire.Device) (tokens *wire.Tokens, fresh bool, err error) {
	if !c.Register {
		tokens, err := file.Load()
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return tokens, false, err
		}
	}
	tokens, err = c.logInNow(ctx, file, device)
	return tokens, true, err
}

func (c *chatCmd) logInNow(ctx context.Context, file skein.TokenFile, device *wire.Device) (*wire.Tokens, error) {
	if c.LoginWith != "" {
		tokens, err := logInWith(ctx, c.Server, c.LoginWith, c.Paste, device)
		if err != nil {
			return nil, err
		}
		return tokens, file.Save(tokens)
	}
	password, err := readPassword("Password for " + c.User + ": ")
	if err != nil {
		return nil, err
	}
	var tokens *wire.Tokens
	if c.Register {
		tokens, err = skein.Register(ctx, c.Server, &wire.RegisterRequest{Username: c.User, Password: password, Device: device, StayLoggedIn: true, Invitation: c.Invite})
	} else {
		tokens, err = logIn(ctx, c.Server, &wire.LoginRequest{Username: c.User, Password: password, Device: device, StayLoggedIn: true})
	}
	if err != nil {
		return nil, err
	}
	return tokens, file.Save(tokens)
}
