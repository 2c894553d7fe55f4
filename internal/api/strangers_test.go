package api

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// counting is a Keeper that counts what it keeps.
type counting struct {
	Keeper
	kept   map[[32]byte]bool
	caller string
	most   int
}

func (c *counting) BeginCall(ctx context.Context, k im.KeyedCall, now time.Time, most int) (im.KeyedCall, bool, error) {
	c.kept[k.ID], c.caller, c.most = true, k.Caller, most
	return c.Keeper.BeginCall(ctx, k, now, most)
}

func (c *counting) ForgetCall(ctx context.Context, k im.KeyedCall) error {
	delete(c.kept, k.ID)
	return c.Keeper.ForgetCall(ctx, k)
}

// tokensOf are the tokens of an answer to Register or Login; nil: it is a refusal.
func tokensOf(t *testing.T, body []byte) *wire.Tokens {
	t.Helper()
	var r wire.RegisterResponse
	if protojson.Unmarshal(body, &r) != nil {
		return nil
	}
	return r.GetTokens()
}

// Who has no token and guesses another's key is in nobody's way, and gets nobody's
// tokens: neither before the other one comes nor after, nor when the server has
// forgotten what came of the key.
func TestStrangersKeys(t *testing.T) {
	w := newWorld(t)
	const key = "registration-0001"
	register := func(name, password string) []byte {
		return w.keyedCall("", "AccountService/Register", key, &wire.RegisterRequest{Username: name, Password: password}).Body.Bytes()
	}
	login := func(name, password string) []byte {
		return w.keyedCall("", "AccountService/Login", key, &wire.LoginRequest{Username: name, Password: password}).Body.Bytes()
	}
	const theirs = "mallory's password"
	mallory := tokensOf(t, register("mallory", theirs)) // came first
	carl := tokensOf(t, register("carl", password))
	if mallory.GetUser() == "" || carl.GetUser() == "" || carl.GetUser() == mallory.GetUser() {
		t.Fatalf("mallory %v, carl %v", mallory, carl)
	}
	if again := tokensOf(t, register("carl", password)); again.GetAccessToken() != carl.GetAccessToken() {
		t.Errorf("repeated: %v, want %v", again, carl)
	}
	first := tokensOf(t, login("carl", password))
	if again := tokensOf(t, login("carl", password)); again.GetAccessToken() != first.GetAccessToken() || first.GetAccessToken() == "" {
		t.Errorf("logged in: %v, then %v", first, again)
	}
	refused := func(when string) {
		t.Helper()
		for name, c := range map[string]struct {
			body []byte
			code string
		}{
			"register": {register("carl", theirs), "already_exists"}, "login": {login("carl", theirs), "bad_credentials"},
		} {
			if !bytes.Contains(c.body, []byte(`"`+c.code+`"`)) || bytes.Contains(c.body, []byte("okens")) {
				t.Errorf("mallory, with carl's key and name, %s: %s: %s", when, name, c.body)
			}
		}
	}
	refused("at once")
	now := time.Now().Add(25 * time.Hour)
	w.calls.Now = func() time.Time { return now }
	refused("a day later")
	if late := tokensOf(t, register("carl", password)); late.GetUser() != carl.GetUser() {
		t.Errorf("carl, a day later: %v, want the user %s", late, carl.GetUser())
	}
}

// What everybody sees of a registration tells nothing of its password, also if its key
// is guessed.
func TestIDsTellNoPassword(t *testing.T) {
	id := func(name, password string) string {
		rec := newWorld(t).keyedCall("", "AccountService/Register", "registration-0001", &wire.RegisterRequest{Username: name, Password: password})
		return tokensOf(t, rec.Body.Bytes()).GetUser()
	}
	first := id("carl", "correct horse")
	if other := id("carl", "battery staple"); first == "" || other != first {
		t.Errorf("the user is %s with one password, %s with another", first, other)
	}
	if other := id("dora", "correct horse"); other == first {
		t.Error("two names, one user")
	}
}

// Whose keys are whose, how many of each are kept, and what strangers are refused
// leaves nothing behind.
func TestWhoseKeys(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	c := &counting{Keeper: w.calls.Keeper, kept: map[[32]byte]bool{}}
	w.calls.Keeper = c
	const key = "0123456789abcdef"
	for _, x := range []struct {
		token, caller string
		most          int
	}{{ann.token, ann.id, 1000}, {adminKey, "admin key", 100_000}, {"", "", 100_000}} {
		if rec := w.keyedCall(x.token, "AccountService/Login", key, &wire.LoginRequest{Username: ann.username, Password: password}); rec.Code != http.StatusOK {
			t.Fatalf("%q: %s", x.caller, rec.Body)
		}
		if c.caller != x.caller || c.most != x.most {
			t.Errorf("kept for %q, at most %d; want %q, %d", c.caller, c.most, x.caller, x.most)
		}
	}
	if len(c.kept) != 3 {
		t.Errorf("%d are kept, want 3", len(c.kept))
	}
	for _, bad := range []*wire.LoginRequest{{Username: ann.username, Password: "wrong password"}, {Username: "nobody", Password: password}, {Username: ann.username}, {}} {
		if rec := w.keyedCall("", "AccountService/Login", key, bad); rec.Code == http.StatusOK {
			t.Errorf("%v was let in", bad)
		}
	}
	if len(c.kept) != 3 {
		t.Errorf("%d are kept after refusals, want 3", len(c.kept))
	}
}
