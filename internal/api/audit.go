package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/trail"
	"github.com/skein-im/skein/wire"
)

// What a line of the audit log says of a request: so much of each text and list, and so much
// of all.
const (
	auditText   = 200
	auditItems  = 20
	auditDetail = 4096
)

// mintMethod writes its line with the session that it opens.
const mintMethod = "skein.v1.AdminService/MintToken"

func (c *Calls) auditRows() []row {
	return []row{newRow("AdminService/ListAuditLog", Auditors, ClassAdmin, small, c.listAuditLog)}
}

// Acts tells whether calls of the method are acts of administrators, which the audit log
// has: what changes something, an export of somebody's, and a look at a report, with which
// others' messages are read.
func (m Method) Acts() bool {
	return m.Who >= Staff && (m.Repeat != wire.RepeatReads || m.Name == "skein.v1.AdminService/ExportUser" || m.Name == "skein.v1.AdminService/GetReport")
}

// audited makes a row write a line of what it does, before and after.
func (c *Calls) audited(r row) row {
	if c.Trail == nil || !r.Acts() {
		return r
	}
	do := r.call
	if r.Name == mintMethod { // its line is in the transaction that opens the session
		r.call = func(ctx context.Context, actor im.Actor, payload []byte, k *keyed) ([]byte, error) {
			answer, err := do(ctx, actor, payload, k)
			if code := im.CodeOf(err); err != nil && code.Info().Action == im.ActionFix && code != im.CodeInvalidArgument || code == im.CodeBanned || code == im.CodeAccountDeleted {
				c.notMinted(r.Method, actor, payload, err)
			}
			return answer, err
		}
		return r
	}
	r.call = func(ctx context.Context, actor im.Actor, payload []byte, k *keyed) ([]byte, error) {
		request := r.request.ProtoReflect().New().Interface()
		if err := wire.UnmarshalRequest(payload, request); err != nil {
			return nil, contract.Unread(err)
		}
		act, err := c.act(r.Method, actor, request)
		if err == nil {
			err = c.Trail.Begin(ctx, act)
		}
		if err != nil { // written or not, nothing of the act was done
			return nil, im.Wrap(err, im.CodeUnavailable, "the audit log cannot be written; nothing was done")
		}
		answer, err := do(ctx, actor, payload, k)
		act.Code = im.CodeOf(err)
		if act.Target == "" && err == nil {
			response := r.response.ProtoReflect().New().Interface()
			if proto.Unmarshal(answer, response) == nil {
				act.Target = targetOf(response)
			}
		}
		c.Trail.Finish(ctx, act)
		return answer, err
	}
	return r
}

// refused notes a call of an administrator's method by somebody whose role may not: who
// tries is told in one line, however often, so that nobody fills the log.
func (c *Calls) refused(m Method, actor im.Actor, err error) {
	if c.Trail == nil || m.Who < Staff || actor.User == "" {
		return
	}
	a, failed := c.act(m, actor, &wire.GetMeRequest{}) // what was asked for does not matter
	if failed != nil {
		return // it has no random numbers: the act was refused all the same
	}
	a.Code, a.Detail = im.CodeOf(err), ""
	c.Trail.Refused(a)
}

// notMinted notes a token that was not given.
func (c *Calls) notMinted(m Method, actor im.Actor, payload []byte, err error) {
	request := &wire.MintTokenRequest{}
	if wire.UnmarshalRequest(payload, request) != nil {
		return
	}
	if a, failed := c.act(m, actor, request); failed == nil {
		a.Code = im.CodeOf(err)
		c.Trail.Refused(a)
	}
}

// act is a line of a call.
func (c *Calls) act(m Method, actor im.Actor, request proto.Message) (im.Act, error) {
	a, err := c.Trail.Line(im.ActAdmin, m.Name[len("skein.v1."):])
	a.By, a.Role, a.Session, a.Address, a.Device = actor.User, actor.Role, actor.Session, actor.Address, nameOf(actor.Device)
	a.Target, a.Detail = targetOf(request), detailOf(request)
	return a, err
}

// nameOf is what a device is called, or its id.
func nameOf(d im.Device) string {
	if d.Name != "" {
		return d.Name
	}
	return d.ID
}

// targetOf is to whom or what something is done, by the fields that messages name it with.
func targetOf(m proto.Message) string {
	fields := m.ProtoReflect().Descriptor().Fields()
	for _, name := range []protoreflect.Name{"user", "conversation", "id", "name", "group", "link", "report", "announcement", "rule"} {
		f := fields.ByName(name)
		switch {
		case f == nil || f.IsList() || f.IsMap():
		case f.Kind() == protoreflect.StringKind:
			if s := m.ProtoReflect().Get(f).String(); s != "" {
				return s[:min(len(s), auditText)]
			}
		case f.Message() != nil && m.ProtoReflect().Has(f):
			return targetOf(m.ProtoReflect().Get(f).Message().Interface())
		}
	}
	return ""
}

// secretFields are those that no line has.
var secretFields = []protoreflect.Name{"password", "old_password", "new_password", "code", "verifier", "token", "access_token", "refresh_token"}

// detailOf is what a request asks for, as JSON, without secrets, and bounded.
func detailOf(m proto.Message) string {
	m = proto.Clone(m)
	told(m.ProtoReflect())
	raw, err := protojson.Marshal(m)
	var b bytes.Buffer
	if err != nil || json.Compact(&b, raw) != nil {
		return `{"unreadable":true}`
	}
	if b.Len() > auditDetail {
		return `{"tooLong":true}`
	}
	return b.String()
}

// told leaves of a message what may be told.
func told(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case slices.Contains(secretFields, f.Name()):
			m.Clear(f)
		case f.IsMap():
		case f.IsList():
			l := m.Mutable(f).List()
			l.Truncate(min(l.Len(), auditItems))
			for i := 0; f.Message() != nil && i < l.Len(); i++ {
				told(l.Get(i).Message())
			}
		case f.Message() != nil:
			told(v.Message())
		case f.Kind() == protoreflect.StringKind:
			if r := []rune(v.String()); len(r) > auditText {
				m.Set(f, protoreflect.ValueOfString(string(r[:auditText])))
			}
		}
		return true
	})
}

func (c *Calls) listAuditLog(ctx context.Context, _ im.Actor, r *wire.ListAuditLogRequest) (*wire.ListAuditLogResponse, error) {
	limit, err := pageLimit(r.GetLimit(), 100, trail.MaxPage)
	from, errFrom := moment("fromMs", r.GetFromMs())
	until, errUntil := moment("untilMs", r.GetUntilMs())
	after, errCursor := actID(r.GetCursor())
	if err := first(err, errFrom, errUntil, errCursor, knownEnum("kind", r.GetKind(), wire.AuditKind_name),
		opaqueIf("by", r.GetBy(), auditText), opaqueIf("target", r.GetTarget(), auditText), opaqueIf("action", r.GetAction(), auditText)); err != nil {
		return nil, err
	}
	if c.Trail == nil {
		return nil, im.Errorf(im.CodeUnimplemented, "this server keeps no audit log")
	}
	q := im.ActQuery{
		After: after, Limit: limit, OldestFirst: r.GetOldestFirst(), Kind: im.ActKind(r.GetKind()),
		Target: r.GetTarget(), Action: r.GetAction(), From: from, Until: until, Failed: r.GetFailed(),
	}
	if by := im.UserID(r.GetBy()); by != "" {
		q.By = &by
	}
	acts, more, err := c.Trail.List(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &wire.ListAuditLogResponse{}
	for i := range acts {
		out.Entries = append(out.Entries, wireAct(&acts[i]))
	}
	if more {
		out.Next = out.Entries[len(acts)-1].Id
	}
	return out, nil
}

func actID(s string) (id im.MessageID, err error) {
	if s == "" {
		return id, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || copy(id[:], b) != len(b) || len(b) != len(id) {
		return id, im.Wrong("cursor", "is not one of this list")
	}
	return id, nil
}

func wireAct(a *im.Act) *wire.AuditEntry {
	return &wire.AuditEntry{
		Id: base64.RawURLEncoding.EncodeToString(a.ID[:]), AtMs: contract.Millis(a.At), Kind: wire.AuditKind(a.Kind), Action: a.Action,
		By: string(a.By), Role: wire.ServerRole(a.Role), Target: a.Target, Address: a.Address, Device: a.Device, Session: string(a.Session),
		Code: string(a.Code), Detail: a.Detail, Times: uint32(a.Times),
	}
}
