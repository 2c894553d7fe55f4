package wire

// ClientMessage is what a ClientFrame can carry.
type ClientMessage interface {
	*Hello | *Send | *Received | *Read | *Sync | *Pull | *Typing | *WatchPresence | *Call | *Ping | *Pong | *Bye |
		*Pulls | *Signal | *Renew | *Background | *Amend
}

// ServerMessage is what a ServerFrame can carry.
type ServerMessage interface {
	*Welcome | *SendAck | *SendError | *Push | *Receipt | *SyncDelta | *Range | *Typing | *Presence | *MyState | *Result |
		*Pong | *Ping | *Heads | *Resync | *Kick | *GoAway | *Error | *Signal | *Renewed | *Part | *Floor | *Announcements
}

// NewClientFrame puts a message into its frame.
func NewClientFrame[M ClientMessage](message M) *ClientFrame {
	switch m := any(message).(type) {
	case *Hello:
		return &ClientFrame{Frame: &ClientFrame_Hello{Hello: m}}
	case *Send:
		return &ClientFrame{Frame: &ClientFrame_Send{Send: m}}
	case *Received:
		return &ClientFrame{Frame: &ClientFrame_Received{Received: m}}
	case *Read:
		return &ClientFrame{Frame: &ClientFrame_Read{Read: m}}
	case *Sync:
		return &ClientFrame{Frame: &ClientFrame_Sync{Sync: m}}
	case *Pull:
		return &ClientFrame{Frame: &ClientFrame_Pull{Pull: m}}
	case *Typing:
		return &ClientFrame{Frame: &ClientFrame_Typing{Typing: m}}
	case *WatchPresence:
		return &ClientFrame{Frame: &ClientFrame_WatchPresence{WatchPresence: m}}
	case *Call:
		return &ClientFrame{Frame: &ClientFrame_Call{Call: m}}
	case *Ping:
		return &ClientFrame{Frame: &ClientFrame_Ping{Ping: m}}
	case *Pong:
		return &ClientFrame{Frame: &ClientFrame_Pong{Pong: m}}
	case *Bye:
		return &ClientFrame{Frame: &ClientFrame_Bye{Bye: m}}
	case *Pulls:
		return &ClientFrame{Frame: &ClientFrame_Pulls{Pulls: m}}
	case *Signal:
		return &ClientFrame{Frame: &ClientFrame_Signal{Signal: m}}
	case *Renew:
		return &ClientFrame{Frame: &ClientFrame_Renew{Renew: m}}
	case *Background:
		return &ClientFrame{Frame: &ClientFrame_Background{Background: m}}
	case *Amend:
		return &ClientFrame{Frame: &ClientFrame_Amend{Amend: m}}
	}
	return &ClientFrame{}
}

// NewServerFrame puts a message into its frame.
func NewServerFrame[M ServerMessage](message M) *ServerFrame {
	switch m := any(message).(type) {
	case *Welcome:
		return &ServerFrame{Frame: &ServerFrame_Welcome{Welcome: m}}
	case *SendAck:
		return &ServerFrame{Frame: &ServerFrame_SendAck{SendAck: m}}
	case *SendError:
		return &ServerFrame{Frame: &ServerFrame_SendError{SendError: m}}
	case *Push:
		return &ServerFrame{Frame: &ServerFrame_Push{Push: m}}
	case *Receipt:
		return &ServerFrame{Frame: &ServerFrame_Receipt{Receipt: m}}
	case *SyncDelta:
		return &ServerFrame{Frame: &ServerFrame_SyncDelta{SyncDelta: m}}
	case *Range:
		return &ServerFrame{Frame: &ServerFrame_Range{Range: m}}
	case *Typing:
		return &ServerFrame{Frame: &ServerFrame_Typing{Typing: m}}
	case *Presence:
		return &ServerFrame{Frame: &ServerFrame_Presence{Presence: m}}
	case *MyState:
		return &ServerFrame{Frame: &ServerFrame_MyState{MyState: m}}
	case *Result:
		return &ServerFrame{Frame: &ServerFrame_Result{Result: m}}
	case *Pong:
		return &ServerFrame{Frame: &ServerFrame_Pong{Pong: m}}
	case *Ping:
		return &ServerFrame{Frame: &ServerFrame_Ping{Ping: m}}
	case *Heads:
		return &ServerFrame{Frame: &ServerFrame_Heads{Heads: m}}
	case *Resync:
		return &ServerFrame{Frame: &ServerFrame_Resync{Resync: m}}
	case *Kick:
		return &ServerFrame{Frame: &ServerFrame_Kick{Kick: m}}
	case *GoAway:
		return &ServerFrame{Frame: &ServerFrame_GoAway{GoAway: m}}
	case *Error:
		return &ServerFrame{Frame: &ServerFrame_Error{Error: m}}
	case *Signal:
		return &ServerFrame{Frame: &ServerFrame_Signal{Signal: m}}
	case *Part:
		return &ServerFrame{Frame: &ServerFrame_Part{Part: m}}
	case *Floor:
		return &ServerFrame{Frame: &ServerFrame_Floor{Floor: m}}
	case *Announcements:
		return &ServerFrame{Frame: &ServerFrame_Announcements{Announcements: m}}
	case *Renewed:
		return &ServerFrame{Frame: &ServerFrame_Renewed{Renewed: m}}
	}
	return &ServerFrame{}
}

// Named returns how JSON names a client's frame, and the conversation that it names;
// empty for frames that are not known or name none.
func Named(f *ClientFrame) (frame, conversation string) {
	m := f.ProtoReflect()
	which := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	if which == nil {
		return "", ""
	}
	in := m.Get(which).Message()
	if c := in.Descriptor().Fields().ByName("conversation"); c != nil {
		conversation = in.Get(c).String()
	}
	return which.JSONName(), conversation
}
