package push

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/push/pushtest"
)

func unbase(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The example of RFC 8291, section 5: encrypted to the same bytes, and read back.
func TestVectorOfRFC8291(t *testing.T) {
	const plain = "When I grow up, I want to be a watermelon"
	own, err := ecdh.P256().NewPrivateKey(unbase(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := ecdh.P256().NewPrivateKey(unbase(t, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
	if err != nil {
		t.Fatal(err)
	}
	point := unbase(t, "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
	auth := unbase(t, "BTBZMqHH6r4Tts7J_aSIgg")
	body, err := seal([]byte(plain), 0, point, auth, own, unbase(t, "DGv6ra1nlYgDCS1FRnbzlw"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if got := base64.RawURLEncoding.EncodeToString(body); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, err := pushtest.Decrypt(theirs, auth, body); err != nil || string(got) != plain {
		t.Errorf("read back: %q, %v", got, err)
	}
}

// What is told is as long as the next step, so nobody sees how long a text is; no two
// bodies of the same are alike; a changed byte is found.
func TestEncrypted(t *testing.T) {
	theirs, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	auth := bytes.Repeat([]byte{7}, 16)
	sizes := map[int]bool{}
	for _, n := range []int{0, 1, 254, 255, 256, MaxPayload} {
		plain := strings.Repeat("x", n)
		body, err := encrypt([]byte(plain), theirs.PublicKey().Bytes(), auth, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		again, err := encrypt([]byte(plain), theirs.PublicKey().Bytes(), auth, rand.Reader)
		if err != nil || bytes.Equal(body, again) || len(body) != len(again) {
			t.Errorf("the same again: %v", err)
		}
		if got, err := pushtest.Decrypt(theirs, auth, body); err != nil || string(got) != plain {
			t.Errorf("%d: %q, %v", n, got, err)
		}
		if len(body) > recordSize {
			t.Errorf("%d bytes become %d", n, len(body))
		}
		sizes[len(body)] = true
		body[len(body)-1] ^= 1
		if _, err := pushtest.Decrypt(theirs, auth, body); err == nil {
			t.Error("a changed body is read")
		}
	}
	if len(sizes) != 3 { // up to 255, up to 511, the longest
		t.Errorf("sizes: %v", sizes)
	}
	if _, err := encrypt(nil, make([]byte, 65), auth, rand.Reader); err == nil {
		t.Error("no point is taken")
	}
}

// The example of RFC 8292, section 2.4, tests the test; what this server says of itself
// passes the same.
func TestIdentity(t *testing.T) {
	const example = "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
	if err := pushtest.CheckAuthorization(example, "https://push.example.net", time.Unix(1453523768, 0).Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	store := &keys{}
	now := time.Unix(1_900_000_000, 0)
	make := func(secret string) *identity {
		return &identity{store: store, sealKey: SealKey(secret), contact: "mailto:a@example.com", random: rand.Reader, now: func() time.Time { return now }, tokens: newTokens()}
	}
	at, _ := url.Parse("https://push.example:8443/some/where")
	a, b := make("one"), make("one")
	header, err := a.authorization(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if err := pushtest.CheckAuthorization(header, "https://push.example:8443", now); err != nil {
		t.Error(err)
	}
	if again, _ := a.authorization(t.Context(), at); again != header {
		t.Error("each push is signed anew")
	}
	public, err := b.publicKey(t.Context())
	if err != nil || !strings.HasSuffix(header, ", k="+base64.RawURLEncoding.EncodeToString(public)) {
		t.Errorf("another node has another key: %v", err)
	}
	now = now.Add(tokenLife * 3 / 4)
	later, err := a.authorization(t.Context(), at)
	if err != nil || later == header {
		t.Errorf("a token that ends soon is used: %v", err)
	}
	// A server with another key of its own: the pair stays, and is the others' as before.
	// Such a server once replaced it, and all subscriptions with it.
	if err := make("two").prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "--new-keys") {
		t.Errorf("a pair of others: %v", err)
	}
	if c, err := make("two").publicKey(t.Context()); err == nil {
		t.Errorf("a server that cannot use it gives browsers %x", c)
	}
	if c, err := make("one").publicKey(t.Context()); err != nil || !bytes.Equal(c, public) {
		t.Errorf("after another server was here: %v", err)
	}
}

// keys is a store of a key pair.
type keys struct{ kept *im.PushKey }

func (k *keys) PushKey(context.Context) (im.PushKey, error) {
	if k.kept == nil {
		return im.PushKey{}, im.Errorf(im.CodeNotFound, "none")
	}
	return *k.kept, nil
}

func (k *keys) AddPushKey(_ context.Context, made im.PushKey) error {
	if k.kept == nil {
		k.kept = &made
	}
	return nil
}
