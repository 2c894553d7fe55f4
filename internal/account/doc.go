// Package account owns who somebody is and how they prove it: users,
// passwords, sessions, tokens, device policy, the first administrator.
//
// It knows no SQL, no transport and no protobuf: stores are interfaces
// (store.go), connections are closed through Options.Control.
//
// # Tokens
//
// A token is 256 bits in base64url with a prefix that tells its kind: ska_
// access, skr_ refresh, skk_ the admin key. Only SHA-256 is kept.
//
// Refresh exchanges a refresh token for new ones, once. Using it again ends
// the session with token_reused: one of the two users is not the owner. An
// honest client may repeat an exchange whose answer was lost: within
// retryWindow, and while none of the new tokens was used, the same exchange
// gets the same answer. That needs no secret at rest: the new tokens are
// HMAC(old token, nonce), and the nonce alone is kept, until a new token is
// used or the window is over. Who has the nonce but not the old token has
// nothing; who has the old token but not the nonce cannot compute the next.
//
// The access token that an exchange supersedes stays good until its own end,
// so that requests under way do not fail; ending the session ends it at once.
//
// # A revoke and a Hello that race
//
// A connection that authenticates while its session is being ended ends up
// closed. The gateway makes the connection known before it calls Authenticate,
// and applies every Control to it that arrives from then on (those that arrive
// before the user is known once it is known). Authenticate reads the session
// from the store after that; nothing is cached. A revoke commits first and
// sends its Control after. So either the read follows the commit and the token
// is refused, or the Control follows the read and finds the connection.
//
// # Several processes
//
// With others on the same store (Options.Shared) nothing of the above changes:
// tokens and sessions are read from the store each time. The app sends every
// Control to all of them; one that is lost is made up for by Live, which
// gateways ask. In RAM of each process are
//   - signs of life not written yet: others see them flushEvery later, but the
//     first use of exchanged tokens, on which a decision depends, is written at once;
//   - the throttle: each process counts for itself, so that guessing is slowed
//     down as much less as there are processes, and a user's own addresses and devices
//     are told from the sessions in the store;
//   - the queue of password hashes.
//
// # Goroutines and locks
//
// One goroutine, from New to Close, writes signs of life behind (every
// flushEvery) and removes what is long over (every purgeEvery). Locks:
// seen.mu and throttle.mu, each held for map operations only, never both, and
// never while a store or Control is called.
//
// # Invariants
//
//   - a session opens only if the password that was checked is the user's at that
//     moment still, so a login that races a password change does not survive it;
//   - a claim makes one owner, however many try at once; of owners who can come in one
//     is left, whatever is done to them at once;
//   - nobody comes in as a user who is banned or disabled: no session opens, and whoever
//     comes with a token is asked for it each time;
//   - who signs in has a line in the audit log, written in the transaction that opens the
//     session; who fails to is noted, and waits for nothing;
//   - a user has at most MaxSessions living sessions, once the logins that run at
//     the moment are through;
//   - a session has one device for ever once it has one;
//   - unknown users, users without password and wrong passwords get the same
//     answer for the same work;
//   - a throttle never counts against a user at an address of their own, or with a device
//     of their own, because of what happened elsewhere;
//   - passwords are checked for those first who are known, and in turns between networks
//     (limits.Turns): however many guess, their owners get in;
//   - Control for an end is sent after the end is durable.
package account
