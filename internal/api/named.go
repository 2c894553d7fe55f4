package api

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// namedFields are the texts with which requests of users name something, or say something to
// others that is no message: the filter holds them to its rules (SPEC §3.26), those of
// GroupService as in a group.
var namedFields = map[string][]protoreflect.Name{
	"skein.v1.AccountService/Register":       {"username", "display_name"},
	"skein.v1.AccountService/RegisterGuest":  {"display_name"},
	"skein.v1.AccountService/UpgradeGuest":   {"username"},
	"skein.v1.AccountService/ChangeUsername": {"username"},
	"skein.v1.UserService/UpdateProfile":     {"display_name", "about"},
	"skein.v1.ContactService/RequestContact": {"message"},
	"skein.v1.GroupService/CreateGroup":      {"name"},
	"skein.v1.GroupService/RenameGroup":      {"name"},
	"skein.v1.GroupService/UpdateGroup":      {"description", "announcement"},
	"skein.v1.GroupService/SetNickname":      {"nickname"},
	"skein.v1.GroupService/RequestToJoin":    {"text"},
}

// named makes a row refuse names that the filter does not allow.
func (c *Calls) named(r row) row {
	fields := namedFields[r.Name]
	if c.Filter == nil || len(fields) == 0 {
		return r
	}
	do := r.call
	group := strings.HasPrefix(r.Name, "skein.v1.GroupService/")
	r.call = func(ctx context.Context, actor im.Actor, payload []byte, k *keyed) ([]byte, error) {
		if c.Filter.Empty() {
			return do(ctx, actor, payload, k)
		}
		request := r.request.ProtoReflect().New().Interface()
		if err := wire.UnmarshalRequest(payload, request); err != nil {
			return nil, contract.Unread(err)
		}
		if err := c.allowsNames(ctx, actor, group, request, fields); err != nil {
			return nil, err
		}
		return do(ctx, actor, payload, k)
	}
	return r
}

// allowsNames says which field is not allowed: who wrote it knows what stands there.
func (c *Calls) allowsNames(ctx context.Context, actor im.Actor, group bool, request proto.Message, fields []protoreflect.Name) error {
	m := request.ProtoReflect()
	for _, name := range fields {
		f := m.Descriptor().Fields().ByName(name)
		err := c.Filter.Named(ctx, actor.User, group, m.Get(f).String())
		if im.CodeOf(err) == im.CodeFiltered {
			e := *im.Public(err)
			e.Field = f.JSONName()
			return &e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sayable holds what is to be said later to the filter's rules: it is held to them again when
// its time comes.
func (c *Calls) sayable(ctx context.Context, actor im.Actor, m *im.Message) error {
	if c.Filter == nil {
		return nil
	}
	broken := c.Filter.Breaks(m.Body)
	if len(broken) == 0 {
		return nil
	}
	_, err := c.Filter.Judge(ctx, actor.User, m.Conversation, broken)
	return err
}
