package account_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

// app is a user's authenticator app.
type app struct {
	f      *fixture
	secret []byte
}

// code is what the app shows so many steps from now.
func (a *app) code(steps int64) string {
	mac := hmac.New(sha1.New, a.secret)
	if err := binary.Write(mac, binary.BigEndian, a.f.clock.Now().Unix()/30+steps); err != nil {
		panic(err)
	}
	sum := mac.Sum(nil)
	at := sum[19] & 15
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[at:])&(1<<31-1))%1_000_000)
}

// wrong is a code that the app does not show.
func (a *app) wrong() string {
	for _, c := range []string{"000000", "000001", "000002", "000003"} {
		if c != a.code(-1) && c != a.code(0) && c != a.code(1) {
			return c
		}
	}
	panic("four codes at a time")
}

func withKey(o *account.Options) { o.SealKey = account.SealKey("the server's key") }

// enrol gives a user an app and returns it with the recovery codes.
func (f *fixture) enrol(t account.Tokens) (*app, []string) {
	f.t.Helper()
	secret, uri, err := f.BeginTOTP(f.t.Context(), actorOf(t), password)
	if err != nil {
		f.t.Fatal(err)
	}
	if !strings.HasPrefix(uri, "otpauth://totp/Skein:") || !strings.Contains(uri, "secret="+secret) {
		f.t.Errorf("the URI is %s", uri)
	}
	a := &app{f, must(base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret))}
	codes, err := f.ConfirmTOTP(f.t.Context(), actorOf(t), a.code(0))
	if err != nil {
		f.t.Fatal(err)
	}
	f.clock.Advance(time.Minute)
	return a, codes
}

// ticket logs in with the password and returns the ticket for the code.
func (f *fixture) ticket(name string) string {
	f.t.Helper()
	_, err := f.Login(f.t.Context(), home, account.Credentials{Username: name, Password: password})
	want(f.t, err, im.CodeTotpRequired)
	var e *im.Error
	if !errors.As(err, &e) || e.Ticket == "" {
		f.t.Fatalf("a login without a ticket: %v", err)
	}
	return e.Ticket
}

func (f *fixture) withCode(addr, ticket, code string) (account.Tokens, error) {
	return f.LoginWithCode(f.t.Context(), addr, account.CodeLogin{Ticket: ticket, Code: code, Device: phone("p"), StayLoggedIn: true})
}

// The second step of a login: it is needed from the first right code on, a code is good
// once, a ticket is good once.
func TestSecondStep(t *testing.T) {
	f := start(t, withKey)
	alice := f.register("alice", phone("a"))
	secret, _, err := f.BeginTOTP(t.Context(), actorOf(alice), password)
	want(t, err, "")
	f.login("alice", phone("b")) // nothing was proved yet
	_, _, err = f.BeginTOTP(t.Context(), actorOf(alice), "not this one")
	want(t, err, im.CodeBadCredentials)
	a, codes := f.enrol(alice)
	if len(codes) != 10 || secret == base32.StdEncoding.EncodeToString(a.secret) {
		t.Errorf("%d recovery codes", len(codes))
	}
	_, _, err = f.BeginTOTP(t.Context(), actorOf(alice), password)
	want(t, err, im.CodeAlreadyExists)
	_, err = f.ConfirmTOTP(t.Context(), actorOf(alice), a.code(0))
	want(t, err, im.CodeNotFound)
	f.good(alice.Access) // who is logged in stays so

	ticket := f.ticket("alice")
	_, err = f.withCode(home, ticket, a.wrong())
	want(t, err, im.CodeBadCredentials)
	_, err = f.withCode(home, ticket, "12345")
	want(t, err, im.CodeInvalidArgument)
	code := a.code(0)
	got, err := f.withCode(home, ticket, code[:3]+" "+code[3:])
	want(t, err, "")
	f.good(got.Access)
	if got.Refresh == "" || got.User != alice.User {
		t.Errorf("the second step gave %+v", got)
	}
	_, err = f.withCode(home, ticket, a.code(1))
	want(t, err, im.CodeNotFound)
	_, err = f.withCode(home, f.ticket("alice"), code) // the same code
	want(t, err, im.CodeBadCredentials)
	_, err = f.withCode(home, "skt_"+strings.Repeat("A", 43), a.code(1))
	want(t, err, im.CodeNotFound)

	late := f.ticket("alice")
	f.clock.Advance(6 * time.Minute)
	_, err = f.withCode(home, late, a.code(0))
	want(t, err, im.CodeTooLate)
}

// Of two who come with one code, or one ticket, one gets in.
func TestSecondStepRaced(t *testing.T) {
	f := start(t, withKey)
	a, codes := f.enrol(f.register("alice", phone("a")))
	tickets := []string{f.ticket("alice"), f.ticket("alice"), f.ticket("alice")}
	code := a.code(0)
	oneWins(t, race(3, func(i int) error { _, err := f.withCode(home, tickets[i], code); return err }), im.CodeBadCredentials)
	f.clock.Advance(time.Minute)
	tickets = []string{f.ticket("alice"), f.ticket("alice"), f.ticket("alice")}
	oneWins(t, race(3, func(i int) error { _, err := f.withCode(home, tickets[i], codes[0]); return err }), im.CodeBadCredentials)
	one := f.ticket("alice")
	oneWins(t, race(3, func(i int) error { _, err := f.withCode(home, one, codes[1+i]); return err }), im.CodeNotFound)
}

// A recovery code is good once, in any writing, and never another user's.
func TestRecoveryCodes(t *testing.T) {
	f := start(t, withKey)
	alice, bob := f.register("alice", phone("a")), f.register("bob", phone("b"))
	a, codes := f.enrol(alice)
	_, bobs := f.enrol(bob)
	_, err := f.withCode(home, f.ticket("alice"), bobs[0])
	want(t, err, im.CodeBadCredentials)
	_, err = f.withCode(home, f.ticket("alice"), strings.ToUpper(strings.ReplaceAll(codes[3], "-", " ")))
	want(t, err, "")
	_, err = f.withCode(home, f.ticket("alice"), codes[3])
	want(t, err, im.CodeBadCredentials)
	if s := must(f.Security(t.Context(), actorOf(alice))); !s.Password || !s.TOTP || s.Recovery != 9 {
		t.Errorf("the account is secured by %+v", s)
	}
	fresh, err := f.NewRecoveryCodes(t.Context(), actorOf(alice), password, a.code(0))
	want(t, err, "")
	_, err = f.withCode(home, f.ticket("alice"), codes[4])
	want(t, err, im.CodeBadCredentials)
	_, err = f.withCode(home, f.ticket("alice"), fresh[4])
	want(t, err, "")
}

// It ends with the password and a code; neither alone ends it.
func TestDisableTOTP(t *testing.T) {
	f := start(t, withKey)
	alice := f.register("alice", phone("a"))
	want(t, f.DisableTOTP(t.Context(), actorOf(alice), password, "123456"), im.CodeNotFound)
	a, _ := f.enrol(alice)
	want(t, f.DisableTOTP(t.Context(), actorOf(alice), "not this one", a.code(0)), im.CodeBadCredentials)
	want(t, f.DisableTOTP(t.Context(), actorOf(alice), password, a.wrong()), im.CodeBadCredentials)
	waits := f.ticket("alice")
	want(t, f.DisableTOTP(t.Context(), actorOf(alice), password, a.code(0)), "")
	f.login("alice", phone("b"))
	_, err := f.withCode(home, waits, a.code(1))
	want(t, err, im.CodeNotFound)
	if s := must(f.Security(t.Context(), actorOf(alice))); s.TOTP || s.Recovery != 0 {
		t.Errorf("the account is secured by %+v", s)
	}
	f.enrol(alice) // and begins again
}

// A password that is changed between the two steps ends the login.
func TestSecondStepOfAnOldPassword(t *testing.T) {
	f := start(t, withKey)
	alice := f.register("alice", phone("a"))
	a, _ := f.enrol(alice)
	ticket := f.ticket("alice")
	want(t, f.ChangePassword(t.Context(), actorOf(alice), password, "another password"), "")
	_, err := f.withCode(home, ticket, a.code(0))
	want(t, err, im.CodeNotFound)
}

// Who has the password gets few tries at codes, however many addresses, tickets and
// moments they come from; the user gets in meanwhile, from where they were before.
func TestCodesAreNotGuessed(t *testing.T) {
	f := start(t, withKey)
	a, _ := f.enrol(f.register("alice", phone("a")))
	ticket := f.ticket("alice")
	for range 5 {
		_, err := f.withCode("198.51.100.1", ticket, a.wrong())
		want(t, err, im.CodeBadCredentials)
	}
	_, err := f.withCode("198.51.100.1", ticket, a.code(0))
	want(t, err, im.CodeNotFound) // the ticket is used up
	tried := 5
	for i := range 60 {
		_, err := f.withCode(fmt.Sprintf("203.0.113.%d", i), f.ticket("alice"), a.wrong())
		if im.CodeOf(err) == im.CodeBadCredentials {
			tried++
		} else {
			want(t, err, im.CodeRateLimited)
		}
	}
	if tried > 12 {
		t.Errorf("%d tries at codes", tried)
	}
	_, err = f.withCode(home, f.ticket("alice"), a.code(0))
	want(t, err, "")
}

// Who has a session and the password guesses no codes either: that they come from an
// address makes it none of the user's own.
func TestCodesAreNotGuessedWithASession(t *testing.T) {
	f := start(t, withKey)
	in := f.register("alice", phone("a"))
	a, _ := f.enrol(in)
	tried := 0
	for i := range 60 {
		addr := fmt.Sprintf("203.0.113.%d", i)
		if _, err := f.Authenticate(t.Context(), im.Handshake{Token: in.Access, Address: addr}); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(time.Minute) // an address is noted now and then
		actor := actorOf(in)
		actor.Address = addr
		if err := f.DisableTOTP(t.Context(), actor, password, a.wrong()); im.CodeOf(err) == im.CodeBadCredentials {
			tried++
		} else {
			want(t, err, im.CodeRateLimited)
		}
	}
	if tried < 5 || tried > 30 { // 10, then ever longer apart, up to a quarter of an hour
		t.Errorf("%d tries at codes in an hour", tried)
	}
}

// What is kept of the secret is of no use without the server's key, nor as another
// user's; with another key recovery codes work still.
func TestSecretsAreSealed(t *testing.T) {
	f := start(t, withKey)
	alice := f.register("alice", phone("a"))
	a, codes := f.enrol(alice)
	kept := must(f.db.SecondFactor(t.Context(), alice.User))
	if bytes.Contains(kept.Sealed, a.secret) {
		t.Error("the secret is kept as it is")
	}
	f.options.SealKey = account.SealKey("another key")
	f.restart()
	_, err := f.withCode(home, f.ticket("alice"), a.code(0))
	want(t, err, im.CodePermissionDenied)
	_, err = f.withCode(home, f.ticket("alice"), codes[0])
	want(t, err, "")
	f.options.SealKey = nil
	f.restart()
	_, _, err = f.BeginTOTP(t.Context(), actorOf(f.register("bob", phone("b"))), password)
	want(t, err, im.CodeUnimplemented)
}

// A second factor that is added while somebody logs in with the password alone: they get
// no session after it.
func TestSecondFactorRacesALogin(t *testing.T) {
	for range 20 {
		f := start(t, withKey)
		alice := f.register("alice", phone("a"))
		secret, _, err := f.BeginTOTP(t.Context(), actorOf(alice), password)
		want(t, err, "")
		a := &app{f, must(base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret))}
		errs := race(2, func(i int) error {
			if i == 0 {
				_, err := f.ConfirmTOTP(context.Background(), actorOf(alice), a.code(0))
				return err
			}
			_, err := f.Login(context.Background(), home, account.Credentials{Username: "alice", Password: password})
			return err
		})
		want(t, errs[0], "")
		if c := im.CodeOf(errs[1]); c != "" && c != im.CodeTotpRequired {
			t.Errorf("the login got %v", errs[1])
		}
		f.ticket("alice")
	}
}

// What is right costs nobody anything: many users of one address log in with codes.
func TestRightCodesAreNotCharged(t *testing.T) {
	f := start(t, withKey)
	a, _ := f.enrol(f.register("alice", phone("a")))
	for range 40 {
		f.clock.Advance(time.Minute)
		_, err := f.withCode("198.51.100.7", f.ticket("alice"), a.code(0))
		want(t, err, "")
	}
}
