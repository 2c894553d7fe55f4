package directory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// mostPushJobs is how many conversations a device may have to be told of; further ones
	// are not told.
	mostPushJobs = 500
	// mostPushFailures is how much may fail for good, one after the other, until a
	// subscription is taken for dead.
	mostPushFailures = 10
)

// living are subscriptions of sessions that have not ended; $1 is now.
const livingPush = "push_subscriptions p JOIN sessions s ON s.id = p.session_id AND s.ended_at = 0 AND s.expires_at > $1"

// PushKey returns the key pair that is kept, not_found if there is none.
func (d *DB) PushKey(ctx context.Context) (k im.PushKey, err error) {
	var made int64
	err = d.queryRow(ctx, "SELECT public, sealed, made_at FROM push_keys WHERE one = 1").Scan(&k.Public, &k.Sealed, &made)
	if errors.Is(err, sql.ErrNoRows) {
		return k, im.Errorf(im.CodeNotFound, "there is no push key")
	}
	k.Made = timeOf(made)
	return k, d.failed("read the push key", err)
}

// AddPushKey keeps a key pair if there is none. Of several who try one succeeds.
func (d *DB) AddPushKey(ctx context.Context, k im.PushKey) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("INSERT INTO push_keys (one, public, sealed, made_at) VALUES (1, $1, $2, $3) ON CONFLICT (one) DO NOTHING", k.Public, k.Sealed, msOf(k.Made))
		return err
	})
}

// SetPushSubscription keeps where a session's device is woken, in the place of what was
// kept of the session, and of whoever had the same address. not_found: the session is not
// the user's, or ended. The same once more changes nothing.
func (d *DB) SetPushSubscription(ctx context.Context, s im.PushSubscription, now time.Time) error {
	hash := sha256.Sum256([]byte(s.Endpoint))
	return d.tx(ctx, func(tx *writeTx) error {
		if err := lockLiving(tx, s.User); err != nil {
			return err
		}
		n, err := tx.Exec("UPDATE sessions SET ended_at = ended_at WHERE id = $1 AND user_id = $2 AND ended_at = 0", s.Session, s.User)
		if err == nil && n == 0 {
			err = im.Errorf(im.CodeNotFound, "no such session")
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM push_subscriptions WHERE endpoint_hash = $1 AND session_id <> $2", hash[:], s.Session); err != nil {
			return err
		}
		var same bool
		if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM push_subscriptions WHERE session_id = $1 AND endpoint_hash = $2 AND point = $3 AND auth = $4)",
			s.Session, hash[:], s.Point, s.Auth).Scan(&same); err != nil || same {
			return err
		}
		// What was to be told at the address of before is no matter of this one.
		if _, err := tx.Exec("DELETE FROM push_subscriptions WHERE session_id = $1", s.Session); err != nil {
			return err
		}
		_, err = tx.Exec("INSERT INTO push_subscriptions (session_id, user_id, endpoint, endpoint_hash, point, auth, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
			s.Session, s.User, s.Endpoint, hash[:], s.Point, s.Auth, msOf(now))
		return err
	})
}

// DeletePushSubscription forgets where a session's device is woken.
func (d *DB) DeletePushSubscription(ctx context.Context, session im.SessionID) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("DELETE FROM push_subscriptions WHERE session_id = $1", session)
		return err
	})
}

const pushSettingsColumns = "direct, groups, mute_mentions, hide_text, quiet_from, quiet_until, quiet_zone"

func pushSettingsTo(s *im.PushSettings) []any {
	return []any{&s.Direct, &s.Groups, &s.MuteMentions, &s.HideText, &s.QuietFrom, &s.QuietUntil, &s.QuietZone}
}

// PushSettings returns what a user set, zero if nothing.
func (d *DB) PushSettings(ctx context.Context, u im.UserID) (s im.PushSettings, err error) {
	err = d.queryRow(ctx, "SELECT "+pushSettingsColumns+" FROM push_settings WHERE user_id = $1", u).Scan(pushSettingsTo(&s)...)
	if errors.Is(err, sql.ErrNoRows) {
		return im.PushSettings{}, nil
	}
	return s, d.failed("read push settings", err)
}

// SetPushSettings keeps what a user set.
func (d *DB) SetPushSettings(ctx context.Context, u im.UserID, s im.PushSettings) error {
	return d.tx(ctx, func(tx *writeTx) error {
		if err := lockLiving(tx, u); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO push_settings (user_id, "+pushSettingsColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (user_id) DO UPDATE SET direct = excluded.direct, groups = excluded.groups, mute_mentions = excluded.mute_mentions, hide_text = excluded.hide_text,
				quiet_from = excluded.quiet_from, quiet_until = excluded.quiet_until, quiet_zone = excluded.quiet_zone`,
			u, int64(s.Direct), int64(s.Groups), s.MuteMentions, s.HideText, s.QuietFrom, s.QuietUntil, s.QuietZone)
		return err
	})
}

// AnyPush tells whether any device can be woken.
func (d *DB) AnyPush(ctx context.Context) (some bool, err error) {
	err = d.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM push_subscriptions)").Scan(&some)
	return some, d.failed("read", err)
}

// settingsOf are columns of somebody's settings, joined as x: none are zero.
const settingsOf = "COALESCE(x.direct, 0), COALESCE(x.groups, 0), COALESCE(x.mute_mentions, FALSE), COALESCE(x.hide_text, FALSE), COALESCE(x.quiet_from, 0), COALESCE(x.quiet_until, 0), COALESCE(x.quiet_zone, '')"

// PushTargets returns the members of groups, and those of users, who have a device that can
// be woken; users come without a conversation.
func (d *DB) PushTargets(ctx context.Context, groups []im.ConversationID, users []im.UserID, now time.Time) (all []im.PushTarget, err error) {
	scan := func(r *sql.Rows) (t im.PushTarget, err error) {
		return t, r.Scan(append([]any{&t.Conversation, &t.User}, pushSettingsTo(&t.Settings)...)...)
	}
	if len(users) > 0 {
		all, err = listOf(ctx, d, scan, "SELECT DISTINCT '', p.user_id, "+settingsOf+" FROM "+livingPush+" LEFT JOIN push_settings x ON x.user_id = p.user_id WHERE p.user_id IN ", []any{msOf(now)}, users)
	}
	if err != nil || len(groups) == 0 {
		return all, err
	}
	text, args := in(d, []any{msOf(now)}, groups)
	members, err := list(ctx, d, scan, "SELECT DISTINCT m.conversation, p.user_id, "+settingsOf+" FROM "+livingPush+`
		JOIN memberships m ON m.user_id = p.user_id AND m.role <> 0 LEFT JOIN push_settings x ON x.user_id = p.user_id WHERE m.conversation IN `+text, args...)
	return append(all, members...), err
}

// QueuePushes notes what the devices of users are to be told, once for each device and
// conversation: what is noted already grows.
func (d *DB) QueuePushes(ctx context.Context, jobs []im.PushJob, now time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		for i := range jobs {
			j := &jobs[i]
			_, err := tx.Exec(`
				INSERT INTO push_jobs (session_id, conversation, first_seq, seq, made_at, due_at)
				SELECT p.session_id, CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS BIGINT), CAST($1 AS BIGINT), CAST($1 AS BIGINT) FROM `+livingPush+`
				WHERE p.user_id = $2 AND (
					EXISTS (SELECT 1 FROM push_jobs o WHERE o.session_id = p.session_id AND o.conversation = $3)
					OR (SELECT COUNT(*) FROM push_jobs o WHERE o.session_id = p.session_id) < $6)
				ON CONFLICT (session_id, conversation) DO UPDATE SET
					first_seq = CASE WHEN push_jobs.seq > push_jobs.shown THEN push_jobs.first_seq ELSE excluded.first_seq END,
					made_at = CASE WHEN push_jobs.seq > push_jobs.shown THEN push_jobs.made_at ELSE excluded.made_at END,
					due_at = CASE WHEN push_jobs.seq > push_jobs.shown THEN push_jobs.due_at ELSE excluded.due_at END,
					tries = CASE WHEN push_jobs.seq > push_jobs.shown THEN push_jobs.tries ELSE 0 END,
					seq = excluded.seq
				WHERE push_jobs.seq < excluded.seq`,
				msOf(now), j.User, j.Conversation, int64(j.First), int64(j.Seq), mostPushJobs)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// pushKey is whose a work is.
type pushKey struct {
	session      im.SessionID
	conversation im.ConversationID
}

// ClaimPushes returns at most limit of what is due, which nobody else gets until a time.
// What is of ended sessions is forgotten.
func (d *DB) ClaimPushes(ctx context.Context, now, until time.Time, limit int) ([]im.PushWork, error) {
	var keys []pushKey
	err := d.tx(ctx, func(tx *writeTx) error {
		rows, err := tx.Query(`
			UPDATE push_jobs SET held_until = $2 WHERE (session_id, conversation) IN
				(SELECT session_id, conversation FROM push_jobs WHERE due_at <= $1 AND held_until <= $1 ORDER BY due_at LIMIT $3)
			AND due_at <= $1 AND held_until <= $1 RETURNING session_id, conversation`, msOf(now), msOf(until), limit)
		if err != nil {
			return err
		}
		keys, err = scanAll(rows, func(r *sql.Rows) (k pushKey, err error) { return k, r.Scan(&k.session, &k.conversation) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return d.pushWorks(ctx, keys, now)
}

// pushWorks reads what was claimed. What is there no more, because the device subscribed
// anew or another worker was done with it, is left out.
func (d *DB) pushWorks(ctx context.Context, keys []pushKey, now time.Time) (all []im.PushWork, err error) {
	for _, k := range keys {
		w, err := d.pushWork(ctx, k.session, k.conversation, now)
		if errors.Is(err, sql.ErrNoRows) {
			err = d.forgetEndedPush(ctx, k.session, now)
		} else if err == nil {
			all = append(all, w)
		}
		if err != nil {
			return all, d.failed("read what is to be pushed", err)
		}
	}
	return all, nil
}

// forgetEndedPush forgets where a session's device was woken, if the session ended.
func (d *DB) forgetEndedPush(ctx context.Context, session im.SessionID, now time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("DELETE FROM push_subscriptions WHERE session_id = $1 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = $1 AND s.ended_at = 0 AND s.expires_at > $2)", session, msOf(now))
		return err
	})
}

// ReleasePushes has what anybody holds be claimed again: whoever held it is gone.
func (d *DB) ReleasePushes(ctx context.Context) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("UPDATE push_jobs SET held_until = 0 WHERE held_until > 0")
		return err
	})
}

func (d *DB) pushWork(ctx context.Context, session im.SessionID, c im.ConversationID, now time.Time) (w im.PushWork, err error) {
	w = im.PushWork{Conversation: c}
	w.Session = session
	var first, seq, shown, shownAt, made int64
	err = d.queryRow(ctx, "SELECT p.user_id, p.endpoint, p.point, p.auth, j.first_seq, j.seq, j.shown, j.shown_at, j.made_at, j.tries, "+settingsOf+" FROM "+livingPush+`
		JOIN push_jobs j ON j.session_id = p.session_id LEFT JOIN push_settings x ON x.user_id = p.user_id WHERE j.session_id = $2 AND j.conversation = $3`, msOf(now), session, c).
		Scan(append([]any{&w.User, &w.Endpoint, &w.Point, &w.Auth, &first, &seq, &shown, &shownAt, &made, &w.Tries}, pushSettingsTo(&w.Settings)...)...)
	w.First, w.Seq, w.Shown, w.ShownAt, w.Made = uint64(first), uint64(seq), uint64(shown), timeOf(shownAt), timeOf(made)
	return w, err
}

// FinishPush notes what became of a work. What was noted to be told meanwhile is due at
// once, and stays in any case.
func (d *DB) FinishPush(ctx context.Context, w *im.PushWork, o im.PushOutcome) error {
	return d.tx(ctx, func(tx *writeTx) error {
		const at = " WHERE session_id = $1 AND conversation = $2"
		key := []any{w.Session, w.Conversation, int64(w.Seq)}
		var err error
		switch o.Step {
		case im.PushGone:
			_, err = tx.Exec("DELETE FROM push_subscriptions WHERE session_id = $1 AND endpoint = $2", w.Session, w.Endpoint)
		case im.PushAgain:
			_, err = tx.Exec("UPDATE push_jobs SET held_until = 0, tries = tries + 1, due_at = $3"+at, w.Session, w.Conversation, msOf(o.At))
		case im.PushLook:
			_, err = tx.Exec("UPDATE push_jobs SET held_until = 0, tries = 0, shown = $4, due_at = CASE WHEN seq > $3 THEN CAST($5 AS BIGINT) ELSE CAST($6 AS BIGINT) END, seq = CASE WHEN seq > $3 THEN seq ELSE $4 END"+at,
				append(key, int64(o.Shown), msOf(o.Now), msOf(o.At))...)
		case im.PushTold:
			_, err = tx.Exec("UPDATE push_jobs SET held_until = 0, tries = 0, shown = $4, shown_at = $5, due_at = CASE WHEN seq > $3 THEN CAST($5 AS BIGINT) ELSE CAST($6 AS BIGINT) END, seq = CASE WHEN seq > $3 THEN seq ELSE $4 END"+at,
				append(key, int64(o.Shown), msOf(o.Now), msOf(o.At))...)
			if err == nil {
				_, err = tx.Exec("UPDATE push_subscriptions SET failures = 0 WHERE session_id = $1 AND failures > 0", w.Session)
			}
		case im.PushDone, im.PushFailed:
			if _, err = tx.Exec("DELETE FROM push_jobs"+at+" AND seq = $3", key...); err == nil {
				_, err = tx.Exec("UPDATE push_jobs SET held_until = 0, tries = 0, shown = 0, due_at = $3"+at, w.Session, w.Conversation, msOf(o.Now))
			}
			if err == nil && o.Step == im.PushFailed {
				err = pushFailed(tx, w)
			}
		}
		return err
	})
}

// pushFailed counts what failed for good: after so many, nobody is there any more.
func pushFailed(tx *writeTx, w *im.PushWork) error {
	if _, err := tx.Exec("UPDATE push_subscriptions SET failures = failures + 1 WHERE session_id = $1 AND endpoint = $2", w.Session, w.Endpoint); err != nil {
		return err
	}
	_, err := tx.Exec("DELETE FROM push_subscriptions WHERE session_id = $1 AND endpoint = $2 AND failures >= $3", w.Session, w.Endpoint, mostPushFailures)
	return err
}

// PushNames tells what a user knows a conversation and a sender by.
func (d *DB) PushNames(ctx context.Context, u im.UserID, c im.ConversationID, sender im.UserID) (n im.PushNames, err error) {
	err = d.queryRow(ctx, `
		SELECT COALESCE(NULLIF(c.remark, ''), NULLIF(m.nickname, ''), a.display_name), COALESCE(g.name, ''), COALESCE(c.blocked, FALSE)
		FROM users a LEFT JOIN contacts c ON c.user_id = $1 AND c.peer_id = a.id LEFT JOIN memberships m ON m.user_id = a.id AND m.conversation = $2 LEFT JOIN groups g ON g.conversation = $2
		WHERE a.id = $3`, u, c, sender).Scan(&n.Sender, &n.Title, &n.Blocked)
	if errors.Is(err, sql.ErrNoRows) {
		return n, im.Errorf(im.CodeNotFound, "no such user")
	}
	return n, d.failed("read", err)
}
