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
	enums   bool // a request has fields of named values
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
	return Method{name: string(md.Parent().FullName()) + "/" + string(md.Name()), in: in, out: out, enums: hasEnums(md.Input(), map[protoreflect.FullName]bool{})}, true
}

// StructToRequest turns the JSON form of a Call into the protobuf encoding of
// the method's request. A nil Struct is an empty request. Unknown fields are
// ignored (SPEC §1.4). The error is ErrUnknownMethod or a *FrameError.
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
	if err := checkExact("", m.in.Descriptor(), in); err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(in)
	if err != nil {
		return nil, &FrameError{cause: errNotJSON}
	}
	payload, err := m.RequestFromJSON(text, maxJSONDepth)
	if wrong := (*FrameError)(nil); errors.As(err, &wrong) { // it has no columns that the caller could know
		wrong.Line, wrong.Column = 0, 0
	}
	return payload, err
}

// RequestFromJSON turns the canonical JSON of the method's request into its
// protobuf encoding. Unknown fields are ignored (SPEC §1.4); objects and arrays stand
// in each other at most that deep. The error is a *FrameError, whose paths begin at
// the request.
func (m Method) RequestFromJSON(text []byte, depth int) ([]byte, error) {
	req := m.NewRequest()
	o := protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: depth}
	if err := o.Unmarshal(text, req); err != nil {
		return nil, ofRequest(wrongJSON(text, m.in.Descriptor(), err))
	}
	if m.enums {
		if err := checkNames(text, m.in.Descriptor()); err != nil {
			return nil, err
		}
	}
	readIDs(req)
	return proto.Marshal(req)
}

// UnmarshalRequest decodes a request from protobuf. The error is a *FrameError, whose
// paths begin at the request.
func UnmarshalRequest(payload []byte, in proto.Message) error {
	if err := proto.Unmarshal(payload, in); err != nil {
		return ofRequest(wrongProtobuf(payload, in, errBadRequest))
	}
	return nil
}

var errBadRequest = errors.New("wire: not the protobuf of a request")

// ofRequest makes err one of a request, which is no frame.
func ofRequest(err *FrameError) error {
	err.Frame = ""
	return err
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

var errNotExact = errors.New("wire: a number beyond 2^53-1 must be sent as a string")

// checkExact refuses numbers in fields of the contract that may have been rounded.
// of is what v is the JSON of, nil if it is nothing of the contract.
func checkExact(path string, of protoreflect.MessageDescriptor, v *structpb.Struct) error {
	for key, value := range v.GetFields() {
		f := fieldNamed(of, key)
		if f == nil || opaque(f) {
			continue // ignored, or a map of texts
		}
		if err := checkValue(path+f.JSONName(), f, value); err != nil {
			return err
		}
	}
	return nil
}

func checkValue(path string, f protoreflect.FieldDescriptor, v *structpb.Value) error {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		if k.NumberValue > maxExact || k.NumberValue < -maxExact {
			return &FrameError{Field: path, cause: errNotExact}
		}
	case *structpb.Value_StructValue:
		return checkExact(path+".", f.Message(), k.StructValue)
	case *structpb.Value_ListValue:
		for i, in := range k.ListValue.GetValues() {
			if err := checkValue(fmt.Sprintf("%s[%d]", path, i), f, in); err != nil {
				return err
			}
		}
	}
	return nil
}
