package clients

import (
	"cmp"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/skein-im/skein/wire"
)

// unsaid are the fields that no example can say, and why.
var unsaid = map[string]string{
	"skein.v1.Poll.voters":                   "what the poll came to",
	"skein.v1.Poll.ended_at_ms":              "what the poll came to",
	"skein.v1.PollOption.votes":              "what the poll came to",
	"skein.v1.ListInviteLinksRequest.limit":  "links are told in the order of their codes, which are random",
	"skein.v1.ListInviteLinksRequest.cursor": "links are told in the order of their codes, which are random",
	"skein.v1.ListUsersRequest.cursor":       "users are told in the order of their ids, some of which are random",
	"skein.v1.InspectGroupRequest.cursor":    "as that of ListMembers, whose example shows it",
	"skein.v1.ListAuditLogRequest.cursor":    "lines of other examples come and go with them",
	"skein.v1.PollOption.mine":               "what the poll came to",
	"skein.v1.AnnounceRequest.until_ms":      "at most a year from now, whenever that is",
	"skein.v1.FilterRule.id":                 "the server's",
	"skein.v1.FilterRule.created_at_ms":      "the server's",
	"skein.v1.FilterRule.created_by":         "the server's",

	"skein.v1.AnswerProviderLoginRequest.issuer": "said by providers that say it, of themselves",
	"skein.v1.AnswerProviderLoginRequest.error":  "ends the login",
	"skein.v1.BeginExportRequest.code":           "of an authenticator app, which no example has",
	"skein.v1.DeleteAccountRequest.code":         "of an authenticator app, which no example has",
}

// Every method, and every field that a request has, is in an example that is carried
// out: so whoever reads the document sees how each is said, and that it works.
func TestEveryFieldHasAnExample(t *testing.T) {
	shown := map[protoreflect.FullName]bool{}
	for _, e := range loadExamples(t) {
		if cmp.Or(e.Status, http.StatusOK) != http.StatusOK {
			continue
		}
		m := dynamicpb.NewMessage(method(t, e.Method).Input())
		if err := protojson.Unmarshal(e.Request, m); err != nil {
			t.Fatalf("%s (%s): %v", e.Method, e.Summary, err)
		}
		shown[method(t, e.Method).FullName()] = true
		said(m, shown)
	}
	services := wire.File_skein_v1_services_proto.Services()
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for k := range methods.Len() {
			if m := methods.Get(k); !shown[m.FullName()] {
				t.Errorf("no example of %s", m.FullName())
			} else {
				missing(t, m.Input(), shown, map[protoreflect.FullName]bool{})
			}
		}
	}
}

// method finds what an example calls AccountService/Login.
func method(t *testing.T, name string) protoreflect.MethodDescriptor {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("skein.v1." + strings.ReplaceAll(name, "/", ".")))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return d.(protoreflect.MethodDescriptor)
}

// said notes the fields that m says something in, and those of the messages in it.
func said(m protoreflect.Message, shown map[protoreflect.FullName]bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		shown[f.FullName()] = true
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				said(v.List().Get(i).Message(), shown)
			}
		default:
			said(v.Message(), shown)
		}
		return true
	})
}

// missing says which fields of a request no example says.
func missing(t *testing.T, m protoreflect.MessageDescriptor, shown, seen map[protoreflect.FullName]bool) {
	if seen[m.FullName()] {
		return
	}
	seen[m.FullName()] = true
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if _, ok := unsaid[string(f.FullName())]; !ok && !shown[f.FullName()] {
			t.Errorf("no example says %s", f.FullName())
		}
		if f.Message() != nil && !f.IsMap() {
			missing(t, f.Message(), shown, seen)
		}
	}
}
