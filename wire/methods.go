package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"
)

// ErrUnknownMethod is returned for a method name that services.proto does not have.
var ErrUnknownMethod = errors.New("wire: no such method")

// Method is one API method of services.proto. Methods are values; the zero
// Method is none.
type Method struct {
	name    string
	in, out protoreflect.MessageType
}

// Name is how callers ask for the method: `skein.v1.GroupService/CreateGroup`.
func (m Method) Name() string { return m.name }

// NewRequest returns an empty request message of the method.
func (m Method) NewRequest() proto.Message { return m.in.New().Interface() }

// NewResponse returns an empty response message of the method.
func (m Method) NewResponse() proto.Message { return m.out.New().Interface() }

// LookupMethod finds a method by its name, `skein.v1.<Service>/<Method>`.
func LookupMethod(name string) (Method, bool) {
	service, method, ok := strings.Cut(name, "/")
	if !ok {
		return Method{}, false
	}
	service, ok = strings.CutPrefix(service, "skein.v1.")
	if !ok {
		return Method{}, false
	}
	sd := File_skein_v1_services_proto.Services().ByName(protoreflect.Name(service))
	if sd == nil {
		return Method{}, false
	}
	md := sd.Methods().ByName(protoreflect.Name(method))
	if md == nil {
		return Method{}, false
	}
	return newMethod(md)
}

// Methods lists all methods in the order of services.proto.
func Methods() []Method {
	var all []Method
	services := File_skein_v1_services_proto.Services()
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for j := range methods.Len() {
			if m, ok := newMethod(methods.Get(j)); ok {
				all = append(all, m)
			}
		}
	}
	return all
}

func newMethod(md protoreflect.MethodDescriptor) (Method, bool) {
	in, err := protoregistry.GlobalTypes.FindMessageByName(md.Input().FullName())
	if err != nil {
		return Method{}, false
	}
	out, err := protoregistry.GlobalTypes.FindMessageByName(md.Output().FullName())
	if err != nil {
		return Method{}, false
	}
	return Method{name: string(md.Parent().FullName()) + "/" + string(md.Name()), in: in, out: out}, true
}

// StructToRequest turns the JSON form of a Call into the protobuf encoding of
// the method's request. A nil Struct is an empty request. Unknown fields are
// ignored (SPEC §1.4). The error's text names the field and is fit for the
// caller.
//
// A Struct holds numbers as float64, so a 64-bit integer written as a number
// beyond 2^53-1 may have been rounded on its way here: it is refused instead of
// taken for another one. As a string it passes exactly.
func StructToRequest(method string, in *structpb.Struct) ([]byte, error) {
	m, ok := LookupMethod(method)
	if !ok {
		return nil, ErrUnknownMethod
	}
	if in == nil {
		return nil, nil
	}
	if err := checkExact("", structpb.NewStructValue(in)); err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("request is not JSON: %s", jsonReason(err))
	}
	return m.RequestFromJSON(text, protojson.UnmarshalOptions{DiscardUnknown: true})
}

// RequestFromJSON turns the canonical JSON of the method's request into its
// protobuf encoding. The error's text names the field and is fit for the
// caller.
func (m Method) RequestFromJSON(text []byte, o protojson.UnmarshalOptions) ([]byte, error) {
	req := m.NewRequest()
	if err := o.Unmarshal(text, req); err != nil {
		return nil, fmt.Errorf("request does not fit %s: %s", m.name, jsonReason(err))
	}
	readIDs(req)
	return proto.Marshal(req)
}

// ResponseToJSON turns the protobuf encoding of the method's response into its
// canonical JSON, without insignificant white space.
func (m Method) ResponseToJSON(payload []byte) ([]byte, error) {
	resp := m.NewResponse()
	if err := proto.Unmarshal(payload, resp); err != nil {
		return nil, fmt.Errorf("wire: response of %s: %w", m.name, err)
	}
	text, err := protojson.Marshal(resp)
	if err != nil {
		return nil, fmt.Errorf("wire: response of %s: %w", m.name, err)
	}
	// protojson varies its white space on purpose; SPEC §1.3 wants none.
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return nil, fmt.Errorf("wire: response of %s: %w", m.name, err)
	}
	return out.Bytes(), nil
}

// jsonReason is protojson's message without its prefix, whose space varies from
// build to build.
func jsonReason(err error) string {
	return strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
}

// ResponseToStruct turns the protobuf encoding of a method's response into its
// JSON form.
func ResponseToStruct(method string, payload []byte) (*structpb.Struct, error) {
	m, ok := LookupMethod(method)
	if !ok {
		return nil, ErrUnknownMethod
	}
	text, err := m.ResponseToJSON(payload)
	if err != nil {
		return nil, err
	}
	out := new(structpb.Struct)
	if err := protojson.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("wire: response of %s: %w", method, err)
	}
	return out, nil
}

// maxExact is the largest integer of which every smaller one is exact in a float64.
const maxExact = 1<<53 - 1

// checkExact refuses numbers that may have been rounded.
func checkExact(path string, v *structpb.Value) error {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		if k.NumberValue > maxExact || k.NumberValue < -maxExact {
			return fmt.Errorf("%s: a number beyond 2^53-1 must be sent as a string", strings.TrimPrefix(path, "."))
		}
	case *structpb.Value_StructValue:
		for name, f := range k.StructValue.GetFields() {
			if err := checkExact(path+"."+name, f); err != nil {
				return err
			}
		}
	case *structpb.Value_ListValue:
		for i, f := range k.ListValue.GetValues() {
			if err := checkExact(fmt.Sprintf("%s[%d]", path, i), f); err != nil {
				return err
			}
		}
	}
	return nil
}
