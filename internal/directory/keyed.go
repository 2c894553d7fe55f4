package directory

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// KeyedFor is how long a call with an idempotency key is kept.
const KeyedFor = 24 * time.Hour

const (
	// tidyKeyed is after how many new calls what is too old is removed, keyedTidied at a
	// time; and after how many of one caller what is too much of theirs.
	tidyKeyed   = 32
	keyedTidied = 512
	// keyedCallers is how many callers are counted.
	keyedCallers = 4096
)

// keyedCounts counts new calls, so that some remove what is kept no more. Each caller
// is counted apart: who makes many cannot have others' calls do the removing of theirs.
type keyedCounts struct {
	mu  sync.Mutex
	all int
	of  cache.Cache[string, int]
}

func (k *keyedCounts) add(caller string) (tidyOld, tidyCaller bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, _ := k.of.Get(caller)
	k.of.Put(caller, n+1)
	k.all++
	return k.all%tidyKeyed == 0, (n+1)%tidyKeyed == 0
}

// BeginCall notes a call with an idempotency key. mine: whoever asks carries it
// out, until c.Held, and kept is c, with the time at which it came first. Otherwise
// kept is what somebody else noted under the same key: another request, an answer,
// or neither: it is under way. A call that is held no longer and has no answer is
// given to the next who asks. Of a caller at least the newest most are kept.
func (d *DB) BeginCall(ctx context.Context, c im.KeyedCall, now time.Time, most int) (kept im.KeyedCall, mine bool, err error) {
	tidyOld, tidyCaller := d.keyed.add(c.Caller)
	err = d.tx(ctx, func(tx *writeTx) error {
		kept, mine = c, false
		old := msOf(now.Add(-KeyedFor))
		if _, err := tx.Exec("DELETE FROM keyed_calls WHERE id = $1 AND begun < $2", c.ID[:], old); err != nil {
			return err
		}
		n, err := tx.Exec("INSERT INTO keyed_calls (id, caller, request, begun, held) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
			c.ID[:], c.Caller, c.Request[:], msOf(c.Begun), msOf(c.Held))
		if err != nil {
			return err
		}
		if mine = n == 1; mine {
			return tidyCalls(tx, c.Caller, old, most, tidyOld, tidyCaller)
		}
		n, err = tx.Exec("UPDATE keyed_calls SET held = $3 WHERE id = $1 AND request = $2 AND answer IS NULL AND held <= $4",
			c.ID[:], c.Request[:], msOf(c.Held), msOf(now))
		if err != nil {
			return err
		}
		mine = n == 1
		var request []byte
		var begun, held int64
		err = tx.QueryRow("SELECT request, begun, held, answer FROM keyed_calls WHERE id = $1", c.ID[:]).Scan(&request, &begun, &held, &kept.Answer)
		if errors.Is(err, sql.ErrNoRows) { // forgotten in this moment
			return im.Errorf(im.CodeUnavailable, "the same request was under way until now; ask again")
		}
		copy(kept.Request[:], request)
		kept.Begun, kept.Held = timeOf(begun), timeOf(held)
		return err
	})
	return kept, mine && err == nil, err
}

// tidyCalls removes what is too old, and what is beyond the newest most of a caller.
func tidyCalls(tx *writeTx, caller string, old int64, most int, tidyOld, tidyCaller bool) error {
	if tidyOld {
		_, err := tx.Exec("DELETE FROM keyed_calls WHERE id IN (SELECT id FROM keyed_calls WHERE begun < $1 ORDER BY begun LIMIT $2)", old, keyedTidied)
		if err != nil {
			return err
		}
	}
	if !tidyCaller {
		return nil
	}
	_, err := tx.Exec(`
		DELETE FROM keyed_calls WHERE caller = $1
		AND begun < (SELECT begun FROM keyed_calls WHERE caller = $1 ORDER BY begun DESC LIMIT 1 OFFSET $2)`, caller, max(most-1, 0))
	return err
}

// AnswerCall notes what came of a call that its holder began: its answer, or, without
// one, that the next who asks may carry it out. One that is another's by now stays.
func (d *DB) AnswerCall(ctx context.Context, c im.KeyedCall) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("UPDATE keyed_calls SET answer = $3, held = 0 WHERE id = $1 AND held = $2", c.ID[:], msOf(c.Held), c.Answer)
		return err
	})
}

// ForgetCall removes a call of which its holder did nothing.
func (d *DB) ForgetCall(ctx context.Context, c im.KeyedCall) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("DELETE FROM keyed_calls WHERE id = $1 AND held = $2", c.ID[:], msOf(c.Held))
		return err
	})
}
