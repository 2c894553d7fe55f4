package directory

import (
	"context"
	"database/sql"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// queuesCounted is up to how many of each queue are counted, so that a look at a very long one
// costs as much as one at a long one.
const queuesCounted = 100_000

// Queues tells what waits at a time. Of each queue queuesCounted are counted.
func (d *DB) Queues(ctx context.Context, now time.Time) (q im.Queues, err error) {
	at, most := msOf(now), queuesCounted
	var oldest int64
	for _, ask := range []struct {
		query string
		args  []any
		to    []any
	}{
		{"SELECT COUNT(*) FROM (SELECT 1 FROM " + livingPush + " LIMIT $2) x", []any{at, most}, []any{&q.Subscriptions}},
		{`SELECT COUNT(*), COALESCE(SUM(CASE WHEN tries > 0 THEN 1 ELSE 0 END), 0), COALESCE(MIN(due_at), 0) FROM
			(SELECT seq, shown, tries, due_at FROM push_jobs ORDER BY due_at LIMIT $1) x WHERE seq > shown`, []any{most}, []any{&q.PushWaiting, &q.PushFailing, &oldest}},
		{"SELECT COUNT(*), COALESCE(SUM(CASE WHEN at <= $1 THEN 1 ELSE 0 END), 0) FROM (SELECT at FROM scheduled WHERE state IN ($3, $4) ORDER BY state, at LIMIT $2) x",
			[]any{at, most, int64(im.ScheduledWaiting), int64(im.ScheduledSending)}, []any{&q.Later.Scheduled, &q.Later.Due}},
		{"SELECT COUNT(*), COALESCE(SUM(CASE WHEN at <= $1 THEN 1 ELSE 0 END), 0) FROM (SELECT at FROM timers ORDER BY at LIMIT $2) x", []any{at, most}, []any{&q.Later.Timers, &q.Later.TimersDue}},
		{"SELECT COUNT(*) FROM (SELECT 1 FROM erasures WHERE done_at = 0 LIMIT $1) x", []any{most}, []any{&q.Later.Erasures}},
		{"SELECT COUNT(*) FROM (SELECT 1 FROM outbox LIMIT $1) x", []any{most}, []any{&q.Later.Promises}},
	} {
		if err := d.queryRow(ctx, ask.query, ask.args...).Scan(ask.to...); err != nil {
			return q, d.failed("count what waits", err)
		}
	}
	if oldest > 0 && oldest < at {
		q.PushOldest = time.Duration(at-oldest) * time.Millisecond
	}
	q.Followers, err = list(ctx, d, func(r *sql.Rows) (f im.FollowerNote, err error) {
		var place string
		var updated int64
		err = r.Scan(&f.Name, &f.Shard, &place, &updated, &f.SetAside)
		f.Updated = timeOf(updated)
		f.Place, _ = im.ParsePlace(place) // one that cannot be read is told as at the beginning
		return f, err
	}, "SELECT name, shard, place, updated, (SELECT COUNT(*) FROM follower_poison p WHERE p.name = f.name AND p.shard = f.shard) FROM followers f ORDER BY name, shard LIMIT 100")
	return q, err
}
