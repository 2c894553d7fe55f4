package api

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Keeper keeps what came of calls with idempotency keys, where all processes find
// it; the directory is one.
type Keeper interface {
	// BeginCall notes a call. mine: whoever asks carries it out, until c.Held, and kept
	// is c, with the time at which it came first. Otherwise kept is what is there: of
	// another request, with an answer, or under way. Of a caller at least the newest
	// most are kept, for 24 hours.
	BeginCall(ctx context.Context, c im.KeyedCall, now time.Time, most int) (kept im.KeyedCall, mine bool, err error)
	// AnswerCall notes the answer of a call that its holder began; without one the
	// next who asks carries it out. If another one holds it by now, nothing changes.
	AnswerCall(ctx context.Context, c im.KeyedCall) error
	// ForgetCall removes a call of which its holder did nothing.
	ForgetCall(ctx context.Context, c im.KeyedCall) error
}

const (
	// keyedTime is how long a call with a key may take: whoever asked may be gone by
	// then, and hears the answer when they ask again. keyedHeld is after what time a
	// call whose server died is begun anew; the difference is for clocks that differ.
	keyedTime = 30 * time.Second
	keyedHeld = 60 * time.Second
	// keepTime is how long keeping the answer may take.
	keepTime = 5 * time.Second
	// mostOfOthers is how many calls are kept of all strangers, and of all with the
	// admin key; of a user there are im.KeysOfUser.
	mostOfOthers = 100_000
	// The keys' lengths. Who knows a key, and what the server keeps, may guess requests.
	minKeyBytes, maxKeyBytes = 16, 64
)

// KeyPattern is of idempotency keys, for the OpenAPI document.
const KeyPattern = "^" + idChars + "{16,64}$"

// IdempotencyHeader is the HTTP header with the key of a call.
const IdempotencyHeader = "Idempotency-Key"

// keyed is the call that a handler carries out, if it came with a key. Who makes
// something takes its id from here: made again, after a crash, it is the same. The
// methods of nil are of a call without a key.
type keyed struct {
	// id is a hash of the caller and the key, and of nothing else: what is made of it is
	// seen by everybody.
	id    [32]byte
	begun time.Time
}

// seed is 32 bytes that are the same for the same caller, key and purpose; nil
// without a key.
func (k *keyed) seed(purpose string) []byte {
	if k == nil {
		return nil
	}
	h := sha256.New()
	h.Write([]byte("skein " + purpose + "\x00"))
	h.Write(k.id[:])
	return h.Sum(nil)
}

// requestID is an id for who sent none.
func (k *keyed) requestID(sent string) string {
	if sent != "" || k == nil {
		return sent
	}
	return base64.RawURLEncoding.EncodeToString(k.seed("group"))
}

func checkKey(key string) error {
	if key != "" && (len(key) < minKeyBytes || len(key) > maxKeyBytes || !im.ValidID(key)) {
		return im.Wrong("idempotencyKey", "must match [A-Za-z0-9_-]{16,64}, and should be random: a UUID")
	}
	return nil
}

// once carries out a call with a key unless that was done before: then the answer is
// that of before. It goes on when the caller is gone.
func (c *Calls) once(ctx context.Context, actor im.Actor, r row, call im.Call) ([]byte, error) {
	if c.Keeper == nil {
		return nil, im.Errorf(im.CodeUnimplemented, "this server takes no idempotency keys")
	}
	request := r.request.ProtoReflect().New().Interface()
	if err := wire.UnmarshalRequest(call.Payload, request); err != nil {
		return nil, contract.Unread(err)
	}
	// A map may be written in any order.
	canonical, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return nil, im.Wrap(err, im.CodeInternal, "the server failed")
	}
	now := c.Now()
	caller, most := keyedCaller(actor)
	secret := keySecret{key: call.Key, request: append([]byte(call.Method+"\x00"), canonical...)}
	id := sha256.Sum256([]byte("skein call\x00" + caller + "\x00" + call.Key))
	mine := im.KeyedCall{ID: id, Caller: caller, Request: secret.tag(), Begun: now, Held: now.Add(keyedHeld)}
	if caller == "" {
		// Strangers may choose the same key, or guess each other's: one of theirs is the
		// key with the request, so nobody's is in another's way.
		mine.ID = sha256.Sum256(append([]byte("skein stranger\x00"+call.Key+"\x00"), mine.Request[:]...))
	}
	if err := ctx.Err(); err != nil {
		return nil, im.Wrap(err, im.CodeUnavailable, "the caller is gone; nothing was done")
	}
	// From here on the caller may go: a call that was noted and not carried out would
	// have a repeat wait for nobody.
	ctx = context.WithoutCancel(ctx)
	run, cancel := context.WithTimeout(ctx, keyedTime)
	defer cancel()
	kept, began, err := c.Keeper.BeginCall(run, mine, now, most)
	switch {
	case im.CodeOf(err) == im.CodeUnknown: // noted or not, nothing of it was done
		return nil, im.Wrap(err, im.CodeUnavailable, "nothing was done")
	case err != nil:
		return nil, err
	case began:
		mine.Begun = kept.Begun
		answer, err := r.call(run, actor, call.Payload, &keyed{id: id, begun: mine.Begun})
		return c.keep(ctx, r, answer, err, mine, secret)
	case kept.Request != mine.Request:
		return nil, im.Errorf(im.CodeIdConflict, "this idempotency key came with another request")
	case kept.Answer == nil:
		e := im.Errorf(im.CodeUnavailable, "the same request is under way")
		e.RetryAfter, e.Everywhere = time.Second, true
		return nil, e
	}
	return secret.open(kept.Answer)
}

// keyedCaller is whose keys those of an actor are, and how many of them are kept.
func keyedCaller(a im.Actor) (caller string, most int) {
	switch {
	case a.User != "":
		return string(a.User), im.KeysOfUser
	case a.Role != im.ServerUser:
		return "admin key", mostOfOthers // no user's id has a space
	}
	return "", mostOfOthers
}

// keep keeps what came of a call that this process holds, and returns it.
func (c *Calls) keep(ctx context.Context, r row, answer []byte, err error, mine im.KeyedCall, secret keySecret) ([]byte, error) {
	keep, stop := context.WithTimeout(ctx, keepTime)
	defer stop()
	if err != nil {
		err = late(r.Method, err)
		// What the first try did, and what was refused, is told as it is; only keeping
		// can fail here, and then a repeat waits for mine.Held.
		if nothingDone(err) {
			_ = c.Keeper.ForgetCall(keep, mine)
		} else {
			_ = c.Keeper.AnswerCall(keep, mine)
		}
		return nil, err
	}
	if mine.Answer, err = secret.seal(c.Random, answer); err != nil {
		return nil, err
	}
	// It was done, and who asked is told so. If the answer cannot be kept, a repeat is
	// what it is after a crash: carried out once more, when mine.Held is over.
	_ = c.Keeper.AnswerCall(keep, mine)
	return answer, nil
}

// nothingDone reports whether an error says for certain that nothing was done, so
// that the key is free for a request that is mended.
func nothingDone(err error) bool {
	i := im.CodeOf(err).Info()
	return i.Action == im.ActionFix || i.Code == im.CodeRateLimited || i.Code == im.CodeOverloaded
}

// keySecret is what a request and its answer are kept with: only who sends the same
// key and the same request again can read the answer, which may hold tokens, and the
// tag tells nothing of the request, which may hold a password.
type keySecret struct {
	key     string
	request []byte // with its method before it
}

func (k keySecret) mac(purpose string) (sum [32]byte) {
	h := hmac.New(sha256.New, []byte(k.key))
	h.Write([]byte(purpose + "\x00"))
	h.Write(k.request)
	h.Sum(sum[:0])
	return sum
}

func (k keySecret) tag() [32]byte { return k.mac("request") }

func (k keySecret) aead() (cipher.AEAD, error) {
	key := k.mac("answer")
	b, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, im.Wrap(err, im.CodeInternal, "the server failed")
	}
	return cipher.NewGCM(b)
}

func (k keySecret) seal(random io.Reader, answer []byte) ([]byte, error) {
	a, err := k.aead()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, a.NonceSize(), a.NonceSize()+len(answer)+a.Overhead())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, im.Wrap(err, im.CodeInternal, "the server failed")
	}
	return a.Seal(nonce, nonce, answer, nil), nil
}

func (k keySecret) open(sealed []byte) ([]byte, error) {
	a, err := k.aead()
	if err != nil {
		return nil, err
	}
	nonce, text := sealed[:min(len(sealed), a.NonceSize())], sealed[min(len(sealed), a.NonceSize()):]
	if len(nonce) == a.NonceSize() {
		var answer []byte
		if answer, err = a.Open(nil, nonce, text, nil); err == nil {
			return answer, nil
		}
	}
	return nil, im.Wrap(err, im.CodeInternal, "the server failed")
}
