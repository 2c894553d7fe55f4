package directorytest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func reportAt(after time.Duration, reporter string, seq uint64) im.Report {
	at := start().Add(after)
	return im.Report{
		ID: im.NewMessageID(at, [10]byte{9: byte(seq)}), Conversation: "grp:g", Seq: seq, Author: "bad", Reporter: im.UserID(reporter), Reason: 2, Text: "wörds", Said: "hällo", Created: at, State: im.ReportOpen,
	}
}

// reports: each once of a reporter and a message, told the newest first, and decided; so many
// of a reporter in a time.
func reports(a *accounts) {
	ctx := a.Context()
	for _, id := range []string{"u1", "u2", "bad"} {
		a.user(id)
	}
	since := start().Add(-time.Hour)
	var all []im.Report
	for i := range 4 {
		r := reportAt(time.Duration(i)*time.Minute, []string{"u1", "u2"}[i%2], uint64(i/2+1))
		all = append(all, r)
		a.ok(a.db.PutReport(ctx, r, since, 3))
	}
	again := reportAt(time.Hour, "u1", 1)
	a.ok(a.db.PutReport(ctx, again, since, 3))
	_, err := a.db.Report(ctx, again.ID)
	a.code(err, im.CodeNotFound)
	a.ok(a.db.PutReport(ctx, reportAt(time.Hour, "u1", 7), since, 3))
	a.code(a.db.PutReport(ctx, reportAt(time.Hour, "u1", 8), since, 3), im.CodeRateLimited)
	a.ok(a.db.PutReport(ctx, reportAt(time.Hour, "u1", 8), start().Add(time.Minute), 3))
	a.code(a.db.PutReport(ctx, reportAt(0, "nobody", 1), since, 3), im.CodeNotFound)

	got := get(a.db.Report(ctx, all[1].ID))
	if !got.Created.Equal(all[1].Created) {
		a.Errorf("made at %v", got.Created)
	}
	if got.Created = all[1].Created; got != all[1] {
		a.Errorf("kept: %+v, want %+v", got, all[1])
	}
	list := func(q im.ReportQuery, want ...uint64) {
		a.Helper()
		if q.Limit == 0 {
			q.Limit = 10
		}
		var seqs []uint64
		for _, r := range get(a.db.Reports(ctx, q)) {
			seqs = append(seqs, r.Seq)
		}
		if !slices.Equal(seqs, want) {
			a.Errorf("%+v: %v, want %v", q, seqs, want)
		}
	}
	list(im.ReportQuery{}, 8, 7, 2, 2, 1, 1)
	list(im.ReportQuery{Limit: 2, After: all[3].ID}, 2, 1)
	list(im.ReportQuery{Author: "u1"})
	a.ok(a.db.DecideReport(ctx, all[0].ID, im.ReportDismissed, "u2", "nöthing", start().Add(time.Hour)))
	a.code(a.db.DecideReport(ctx, again.ID, im.ReportDismissed, "u2", "", start()), im.CodeNotFound)
	list(im.ReportQuery{State: im.ReportDismissed}, 1)
	list(im.ReportQuery{State: im.ReportOpen, Author: "bad"}, 8, 7, 2, 2, 1)
	if d := get(a.db.Report(ctx, all[0].ID)); d.DecidedBy != "u2" || d.Note != "nöthing" || !d.Decided.Equal(start().Add(time.Hour)) {
		a.Errorf("decided: %+v", d)
	}
	// What a user wrote goes from the reports when it is erased.
	e, _, err := a.db.BeginErasure(ctx, im.ErasureOrder{User: "bad", Messages: true, At: start()})
	a.ok(err)
	a.ok(a.db.EraseRest(ctx, e, start()))
	if r := get(a.db.Report(ctx, all[0].ID)); r.Said != "" || r.Text == "" {
		a.Errorf("after its author was erased: %+v", r)
	}
}

// serverSettings are kept by name; what is not given stays.
func serverSettings(a *accounts) {
	ctx := a.Context()
	if got := get(a.db.ServerSettings(ctx)); len(got) != 0 {
		a.Errorf("of a new server: %v", got)
	}
	a.ok(a.db.SetServerSettings(ctx, map[string]string{im.SettingName: "Pläce", im.SettingRegistration: "closed"}, start()))
	a.ok(a.db.SetServerSettings(ctx, map[string]string{im.SettingName: "Other", im.SettingPicture: "https://x", "unknown": "x"}, start()))
	want := map[string]string{im.SettingName: "Other", im.SettingPicture: "https://x", im.SettingRegistration: "closed"}
	if got := get(a.db.ServerSettings(ctx)); !maps.Equal(got, want) {
		a.Errorf("%v, want %v", got, want)
	}
}

// allGroups are told in the order of their ids, those with members alone.
func allGroups(p *people) {
	p.group("grp:b", "Grüppe", "o", "a")
	p.group("grp:a", "one", "o", "a", "b")
	p.group("grp:c", "gone", "o")
	p.change("grp:c", "o", 1, 2, im.Event{Type: im.EventGroupDismissed, Users: []im.UserID{"o"}})
	got := get(p.db.AllGroups(p.ctx, "", 10))
	if len(got) != 2 || got[0].Conversation != "grp:a" || got[0].Members != 3 || got[1].Name != "Grüppe" || got[1].Owner != "o" || got[1].Rev != 1 {
		p.Errorf("%+v", got)
	}
	if got := get(p.db.AllGroups(p.ctx, "grp:a", 1)); len(got) != 1 || got[0].Conversation != "grp:b" {
		p.Errorf("the next: %+v", got)
	}
}

// serverLists: a list is kept whole, changed by one after the other, and each change has a
// greater revision, also where the clock goes back; what is refused changes nothing.
func serverLists(a *accounts) {
	ctx := a.Context()
	if r, value, err := a.db.ServerList(ctx, "x"); r != 0 || value != "" || err != nil {
		a.Errorf("before: %d %q %v", r, value, err)
	}
	if r := get(a.db.ServerListRevision(ctx, "x")); r != 0 {
		a.Errorf("before: %d", r)
	}
	refused := errors.New("no")
	if _, _, err := a.db.ChangeServerList(ctx, "x", start(), func(string) (string, error) { return "no", refused }); !errors.Is(err, refused) {
		a.Errorf("refused: %v", err)
	}
	const each = 20
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range each {
				_, _, err := a.db.ChangeServerList(ctx, "x", start(), func(v string) (string, error) { return v + "ü", nil })
				if err != nil {
					a.Error(err)
				}
			}
		})
	}
	wg.Wait()
	first, value, err := a.db.ServerList(ctx, "x")
	if err != nil || len([]rune(value)) != 2*each || first < uint64(start().UnixMilli()) {
		a.Errorf("after: %d %q %v", first, value, err)
	}
	second, value, err := a.db.ChangeServerList(ctx, "x", start().Add(-time.Hour), func(string) (string, error) { return "", nil })
	if err != nil || second <= first || value != "" {
		a.Errorf("with the clock back: %d after %d, %q, %v", second, first, value, err)
	}
	if r := get(a.db.ServerListRevision(ctx, "x")); r != second {
		a.Errorf("revision %d, want %d", r, second)
	}
	if r := get(a.db.ServerListRevision(ctx, "y")); r != 0 {
		a.Errorf("another list: %d", r)
	}
}

// filterReports: those of the server's own, who is nobody, once of a message with what it said
// last, and so many about one author in a time.
func filterReports(a *accounts) {
	ctx := a.Context()
	a.user("bad")
	a.user("other")
	since := start().Add(-time.Hour)
	for i := range 3 {
		a.ok(a.db.PutReport(ctx, reportAt(time.Duration(i)*time.Minute, "", uint64(i+1)), since, 3))
	}
	a.code(a.db.PutReport(ctx, reportAt(time.Hour, "", 9), since, 3), im.CodeRateLimited)
	others := reportAt(time.Hour, "", 9)
	others.Author = "other"
	a.ok(a.db.PutReport(ctx, others, since, 3))
	a.ok(a.db.PutReport(ctx, reportAt(2*time.Hour, "other", 9), since, 3)) // a user's is counted apart
	if got := get(a.db.Reports(ctx, im.ReportQuery{Limit: 10, Author: "bad"})); len(got) != 4 || got[3].Reporter != "" {
		a.Errorf("kept: %+v", got)
	}
	first := get(a.db.Reports(ctx, im.ReportQuery{Limit: 10, Author: "other"}))[0]
	a.ok(a.db.DecideReport(ctx, first.ID, im.ReportDismissed, "bad", "nothing", start().Add(time.Hour)))
	edited := reportAt(2*time.Hour, "", 9)
	edited.Author, edited.Text, edited.Said = "other", "another rule", "now this"
	a.ok(a.db.PutReport(ctx, edited, since, 3))
	edited.ID = first.ID
	if got := get(a.db.Report(ctx, first.ID)); got != edited {
		a.Errorf("of an edit: %+v, want %+v", got, edited)
	}
	nobody := reportAt(0, "", 5)
	nobody.Author = "nobody"
	a.code(a.db.PutReport(ctx, nobody, since, 3), im.CodeNotFound)
}

// queues: what waits is counted, and what of it is due.
func queues(a *accounts) {
	ctx := a.Context()
	a.user("u1")
	if q := get(a.db.Queues(ctx, start())); fmt.Sprint(q) != fmt.Sprint(im.Queues{}) {
		a.Errorf("nothing waits: %+v", q)
	}
	for i, at := range []time.Duration{-time.Minute, time.Hour} {
		id := im.NewMessageID(start(), [10]byte{9: byte(i)})
		a.ok(a.db.SetTimer(ctx, im.Timer{Kind: im.TimerStream, User: "u1", ID: id, Conversation: "grp:g", At: start().Add(at), Set: start()}, 0))
	}
	if q := get(a.db.Queues(ctx, start())); q.Later.Timers != 2 || q.Later.TimersDue != 1 || q.Later.Scheduled != 0 || q.PushWaiting != 0 {
		a.Errorf("%+v", q)
	}
}
