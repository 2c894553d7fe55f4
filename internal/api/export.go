package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// exportPath is where exports are downloaded: GET /export with a ticket as its query.
const exportPath = "/export"

// errNoExports: the server makes none.
var errNoExports = im.Errorf(im.CodeUnimplemented, "this server makes no exports")

func (c *Calls) exportRows() []row {
	return []row{
		newRow("AccountService/BeginExport", User, ClassCredential, small, c.beginExport),
		newRow("AdminService/ExportUser", Admins, ClassAdmin, small, c.exportUser),
	}
}

func (c *Calls) beginExport(ctx context.Context, actor im.Actor, r *wire.BeginExportRequest) (*wire.BeginExportResponse, error) {
	if err := first(passwordIf(r.GetPassword()), opaqueIf("code", r.GetCode(), maxCodeBytes)); err != nil {
		return nil, err
	}
	if c.Export == nil {
		return nil, errNoExports
	}
	if err := c.Accounts.ProveForExport(ctx, actor, r.GetPassword(), r.GetCode()); err != nil {
		return nil, err
	}
	t, q := c.Export.Begin(actor.User, actor, false)
	return &wire.BeginExportResponse{Path: exportAt(q), UntilMs: contract.Millis(t.Until)}, nil
}

func (c *Calls) exportUser(ctx context.Context, actor im.Actor, r *wire.ExportUserRequest) (*wire.ExportUserResponse, error) {
	user, err := c.actOn(ctx, actor, r.GetUser())
	if err != nil {
		return nil, err
	}
	if c.Export == nil {
		return nil, errNoExports
	}
	switch users, err := c.Accounts.Users(ctx, []im.UserID{user}); {
	case err != nil:
		return nil, err
	case len(users) == 0:
		return nil, im.Errorf(im.CodeNotFound, "no such user")
	case users[0].Deleted:
		return nil, im.Errorf(im.CodeAccountDeleted, "the account was deleted: nothing is theirs any more")
	}
	t, q := c.Export.Begin(user, actor, true)
	return &wire.ExportUserResponse{Path: exportAt(q), UntilMs: contract.Millis(t.Until)}, nil
}

func exportAt(q url.Values) string { return exportPath + "?" + q.Encode() }

// export sends an export. What goes wrong before the first byte is answered as ever; after
// it the connection is cut, and the zip has no end.
func (d *door) export(w http.ResponseWriter, r *http.Request) {
	start := d.o.Now()
	secure(w.Header())
	if d.cors(w, r) {
		return
	}
	to := &patient{w: w, c: http.NewResponseController(w), wait: d.o.Timeout}
	err := d.sendExport(to, r)
	code := im.Code("ok")
	if err != nil && !to.begun {
		code = d.fail(w, r, "export", statusOf(err), err)
	} else if err != nil {
		code = d.public(r, "export", err).Code
	}
	d.metrics.observe("export", code, d.o.Now().Sub(start))
	if err != nil && to.begun {
		panic(http.ErrAbortHandler)
	}
}

func (d *door) sendExport(w *patient, r *http.Request) error {
	if r.Method != http.MethodGet {
		return errMethod
	}
	if d.o.Export == nil {
		return errNoExports
	}
	addr := address(r, d.o.TrustedProxies)
	ticket, ok := d.o.Export.Check(r.URL.Query())
	if !ok {
		if quota, ok := d.o.Limiter.take(classFailure, addressKey(addr)); !ok {
			return limited(quota)
		}
		return im.Errorf(im.CodeNotFound, "no such export, or its time to begin is over")
	}
	if quota, ok := d.o.Limiter.admit(ClassRead, im.Actor{User: ticket.User}); !ok {
		return limited(quota)
	}
	leave, err := d.o.Export.Enter(ticket.User)
	if err != nil {
		return err
	}
	defer leave()
	// The end of the reading would end the request: nothing more of it is to come.
	_ = w.c.SetReadDeadline(time.Time{})
	h := w.w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", "attachment; filename=\"skein-export-"+string(ticket.User)+"-"+d.o.Now().UTC().Format("2006-01-02")+".zip\"")
	stats, err := d.o.Export.Write(r.Context(), ticket, w)
	log := d.o.Log.With("user", ticket.User, "admin", ticket.Admin, "by", ticket.By, "conversations", stats.Conversations, "entries", stats.Entries, "media", stats.Media, "bytes", stats.Bytes)
	if err != nil {
		h.Del("Content-Disposition")
		log.Warn("export: ended early", "err", err)
		return err
	}
	log.Info("export: sent")
	return nil
}

// leastExport is how many bytes a second a reader takes on average, besides the first moment.
const leastExport = 32 << 10

// patient writes to who may be slow, but not for ever: each write has a time, and so have
// all of them together by how much they are. What the server itself takes does not count.
type patient struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	wait    time.Duration
	begun   bool
	bytes   int64
	blocked time.Duration
}

var errSlowReader = errors.New("the export is read too slowly")

func (p *patient) Write(b []byte) (int, error) {
	left := 2*p.wait + time.Duration(p.bytes/leastExport)*time.Second - p.blocked
	if left <= 0 {
		return 0, errSlowReader
	}
	p.begun = true
	start := time.Now()
	_ = p.c.SetWriteDeadline(start.Add(min(left, p.wait))) // writers without a connection have none
	n, err := p.w.Write(b)
	p.blocked += time.Since(start)
	p.bytes += int64(n)
	return n, err
}
