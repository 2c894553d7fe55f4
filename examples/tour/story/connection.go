package story

import (
	"context"
	"fmt"
	"net/http"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// callOnce makes a connection for one call: for those who have no token, before the
// Hello (SPEC §8), and for who has one and no device.
func callOnce(ctx context.Context, s Server, token, method string, req, resp proto.Message) error {
	network := &http.Client{Transport: &http.Transport{DialContext: s.dialer()}}
	defer network.CloseIdleConnections()
	ws, _, err := websocket.Dial(ctx, s.socket(), &websocket.DialOptions{HTTPClient: network, Subprotocols: []string{wire.JSONName}})
	if err != nil {
		return err
	}
	defer ws.CloseNow() //nolint:errcheck // what was asked for is answered
	ws.SetReadLimit(2 << 20)
	if token != "" {
		hello := &wire.Hello{VersionMin: 1, VersionMax: 1, Token: token, Device: &wire.Device{Id: "once"}, Client: "tour/1"}
		if err := write(ctx, ws, wire.NewClientFrame(hello)); err != nil {
			return err
		}
	}
	request, err := asStruct(req)
	if err != nil {
		return err
	}
	call := &wire.Call{Number: 1, Method: method, Request: &wire.Call_Json{Json: request}}
	if err := write(ctx, ws, wire.NewClientFrame(call)); err != nil {
		return err
	}
	for {
		_, b, err := ws.Read(ctx)
		if err != nil {
			return err
		}
		var f wire.ServerFrame
		if err := wire.JSON().Decode(b, &f); err != nil {
			return err
		}
		switch {
		case f.GetError() != nil:
			return refusal(f.GetError())
		case f.GetResult().GetError() != nil:
			return refusal(f.GetResult().GetError())
		case f.GetResult() != nil:
			text, err := protojson.Marshal(f.GetResult().GetJson())
			if err != nil {
				return err
			}
			return protojson.Unmarshal(text, resp)
		}
	}
}

func refusal(e *wire.Error) error {
	return &skein.Error{Code: wire.Code(e.Code), Message: e.Message, Ticket: e.Ticket, RetryAfter: e.RetryAfter()}
}

func write(ctx context.Context, ws *websocket.Conn, f *wire.ClientFrame) error {
	b, err := wire.JSON().Append(nil, f)
	if err != nil {
		return err
	}
	return ws.Write(ctx, websocket.MessageText, b)
}

// asStruct is a request as a Call has it in JSON.
func asStruct(m proto.Message) (*structpb.Struct, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	s := new(structpb.Struct)
	return s, protojson.Unmarshal(text, s)
}
