package im

import "time"

// KeysOfUser is how many calls with idempotency keys are kept of a user: the newest.
const KeysOfUser = 1000

// KeyedCall is what is kept of a call that came with an idempotency key, so that
// repeating it does not carry it out again (SPEC §8). Nothing in it is a secret:
// who has it, but not the key, learns neither the request nor the answer.
type KeyedCall struct {
	// ID is a hash of the caller and the key.
	ID [32]byte
	// Caller is whose it is, for the bound on how many are kept; "" for all strangers.
	Caller string
	// Request is a hash of the method and the request, made with the key.
	Request [32]byte
	// Begun is when the call came first.
	Begun time.Time
	// Held is until when somebody carries it out; the zero time: nobody does.
	Held time.Time
	// Answer is sealed; nil: there is none yet.
	Answer []byte
}
