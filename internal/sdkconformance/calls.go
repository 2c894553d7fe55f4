package sdkconformance

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// asked is the Call that a result of the scenario answers.
type asked struct {
	number any
	method string
	binary bool // its request is protobuf, and so is the answer
}

// method finds one by its name in a Call, nil if there is none.
func method(name string) protoreflect.MethodDescriptor {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.Replace(name, "/", ".", 1)))
	if err != nil {
		return nil
	}
	m, _ := d.(protoreflect.MethodDescriptor)
	return m
}

// readCall puts the request of a Call beside it, as JSON, whatever form it has.
func readCall(call map[string]any) error {
	if m, ok := call["json"].(map[string]any); ok {
		call["request"] = m
		return nil
	}
	name, _ := call["method"].(string)
	m := method(name)
	if m == nil {
		return nil // the pattern says whether it is the right one
	}
	text, _ := call["body"].(string)
	body, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	request := dynamicpb.NewMessage(m.Input())
	if err := proto.Unmarshal(body, request); err != nil {
		return fmt.Errorf("the request of %s: %w", name, err)
	}
	out, err := protojson.Marshal(request)
	if err != nil {
		return err
	}
	call["request"], err = object(out)
	return err
}

// result completes a Result: it answers the last Call, in the form of its request.
func (c *completer) result(m map[string]any) error {
	put(m, "number", c.call.number)
	response, ok := m["response"]
	if !ok {
		return nil
	}
	delete(m, "response")
	if !c.call.binary {
		m["json"] = response
		return nil
	}
	d := method(c.call.method)
	if d == nil {
		return fmt.Errorf("the scenario answers %q, which is no method", c.call.method)
	}
	text, err := json.Marshal(response)
	if err != nil {
		return err
	}
	out := dynamicpb.NewMessage(d.Output())
	if err := protojson.Unmarshal(text, out); err != nil {
		return fmt.Errorf("the scenario's response of %s: %w", c.call.method, err)
	}
	body, err := proto.Marshal(out)
	m["body"] = base64.StdEncoding.EncodeToString(body)
	return err
}
