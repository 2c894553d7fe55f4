package gateway

import (
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// state is what a row of the command table asks of a session.
type state uint8

const (
	stateNew   state = iota // nothing said yet
	stateReady              // after the Welcome
	stateAny                // also before the Hello, see sayEarly
)

// who is who may use a row. What a user may do to which conversation is
// Logic's decision.
type who uint8

const (
	whoAnyone who = iota
	whoUser       // an authenticated user
)

// command is a row of the table: one frame of the client.
type command struct {
	name  string
	state state
	class limits.Class
	who   who
	// bytes is the longest encoded frame.
	bytes  func(l *Limits) int
	handle func(s *session, c *command, f *wire.ClientFrame)
	// answer is the form an error has for this frame.
	answer func(f *wire.ClientFrame, err error) *wire.ServerFrame
	index  int
	// aside: the handler asks the stores and needs a deep stack (see session.aside).
	aside bool
}

// The rows of the table, in the order of ClientFrame's fields.
const (
	cmdUnknown = iota
	cmdHello
	cmdSend
	cmdReceived
	cmdRead
	cmdSync
	cmdPull
	cmdTyping
	cmdWatchPresence
	cmdCall
	cmdPing
	cmdPong
	cmdBye
	cmdSignal
	cmdRenew
	cmdPulls
	cmdBackground
	cmdAmend
	commandCount
)

func fixed(n int) func(*Limits) int { return func(*Limits) int { return n } }

func wholeFrame(l *Limits) int { return l.FrameBytes }

// sendBytes leaves room for base64 and escapes, the mentions, extra and the ids.
func sendBytes(l *Limits) int {
	const rest = 2*(contract.MaxFallbackBytes+contract.MaxExtraBytes) + 1024
	return min(l.FrameBytes, 2*l.ContentBytes+l.Mentions*(im.MaxID+8)+rest)
}

// commands is the table: everything a client can say, and under which
// conditions. It is never written to.
var commands = [commandCount]command{
	cmdUnknown: {"unknown", stateAny, limits.Signals, whoAnyone, wholeFrame, (*session).onUnknown, errorOn, cmdUnknown, false},
	cmdHello:   {"hello", stateNew, limits.None, whoAnyone, fixed(helloBytes), (*session).onHello, errorOn, cmdHello, false},
	cmdSend: {"send", stateReady, limits.Sends, whoUser, sendBytes, (*session).onSend,
		func(f *wire.ClientFrame, err error) *wire.ServerFrame {
			return sendError(f.GetSend().GetId(), im.In("send", err))
		}, cmdSend, false},
	cmdReceived: {"received", stateReady, limits.Marks, whoUser, fixed(1 << 10), (*session).onReceived, errorOn, cmdReceived, false},
	cmdRead:     {"read", stateReady, limits.Marks, whoUser, fixed(1 << 10), (*session).onRead, errorOn, cmdRead, false},
	cmdSync: {"sync", stateReady, limits.Reads, whoUser, fixed(4 << 10), (*session).onSync,
		func(f *wire.ClientFrame, err error) *wire.ServerFrame { return syncError(f.GetSync(), err) }, cmdSync, true},
	cmdPull: {"pull", stateReady, limits.Reads, whoUser, fixed(1 << 10), (*session).onPull,
		func(f *wire.ClientFrame, err error) *wire.ServerFrame { return rangeError("pull", f.GetPull(), err) }, cmdPull, true},
	cmdTyping:        {"typing", stateReady, limits.Signals, whoUser, fixed(1 << 10), (*session).onTyping, errorOn, cmdTyping, true},
	cmdWatchPresence: {"watch_presence", stateReady, limits.Signals, whoUser, fixed(maxListed*(im.MaxID+4) + 1024), (*session).onWatchPresence, errorOn, cmdWatchPresence, true},
	cmdCall: {"call", stateAny, limits.Calls, whoAnyone, wholeFrame, (*session).onCall,
		func(f *wire.ClientFrame, err error) *wire.ServerFrame {
			return resultError(f.GetCall().GetNumber(), err)
		}, cmdCall, false},
	cmdSignal: {"signal", stateReady, limits.Signals, whoUser, fixed(4 << 10), (*session).onSignal, errorOn, cmdSignal, true},
	cmdPing:   {"ping", stateReady, limits.Signals, whoUser, fixed(4 << 10), (*session).onPing, errorOn, cmdPing, true},
	cmdPong:   {"pong", stateReady, limits.Signals, whoUser, fixed(4 << 10), (*session).onPong, errorOn, cmdPong, false},
	cmdBye:    {"bye", stateReady, limits.None, whoUser, fixed(1 << 10), (*session).onBye, errorOn, cmdBye, false},
	cmdRenew: {"renew", stateReady, limits.Signals, whoUser, fixed(1 << 10), (*session).onRenew,
		func(_ *wire.ClientFrame, err error) *wire.ServerFrame { return renewError(err) }, cmdRenew, true},
	// Refused, each of its Pulls is (refusePulls).
	cmdPulls:      {"pulls", stateReady, limits.Reads, whoUser, fixed(pullsBytes), (*session).onPulls, errorOn, cmdPulls, true},
	cmdBackground: {"background", stateReady, limits.Signals, whoUser, fixed(1 << 10), (*session).onBackground, errorOn, cmdBackground, false},
	cmdAmend: {"amend", stateReady, limits.Sends, whoUser, sendBytes, (*session).onSend,
		func(f *wire.ClientFrame, err error) *wire.ServerFrame {
			return sendError(f.GetAmend().GetId(), im.In("amend", err))
		}, cmdAmend, false},
}

// commandOf returns the row of a frame.
func commandOf(f *wire.ClientFrame) *command {
	switch f.Frame.(type) {
	case *wire.ClientFrame_Hello:
		return &commands[cmdHello]
	case *wire.ClientFrame_Send:
		return &commands[cmdSend]
	case *wire.ClientFrame_Received:
		return &commands[cmdReceived]
	case *wire.ClientFrame_Read:
		return &commands[cmdRead]
	case *wire.ClientFrame_Sync:
		return &commands[cmdSync]
	case *wire.ClientFrame_Pull:
		return &commands[cmdPull]
	case *wire.ClientFrame_Typing:
		return &commands[cmdTyping]
	case *wire.ClientFrame_WatchPresence:
		return &commands[cmdWatchPresence]
	case *wire.ClientFrame_Call:
		return &commands[cmdCall]
	case *wire.ClientFrame_Ping:
		return &commands[cmdPing]
	case *wire.ClientFrame_Pong:
		return &commands[cmdPong]
	case *wire.ClientFrame_Bye:
		return &commands[cmdBye]
	case *wire.ClientFrame_Signal:
		return &commands[cmdSignal]
	case *wire.ClientFrame_Renew:
		return &commands[cmdRenew]
	case *wire.ClientFrame_Pulls:
		return &commands[cmdPulls]
	case *wire.ClientFrame_Background:
		return &commands[cmdBackground]
	case *wire.ClientFrame_Amend:
		return &commands[cmdAmend]
	}
	return &commands[cmdUnknown]
}

// admits checks the state and who asks; an error ends the connection (SPEC §3.1).
func (c *command) admits(s *session, size int) error {
	switch {
	case !s.ready && size > helloBytes: // the transport was told this limit too
		return im.Errorf(im.CodeFrameTooLong, "a message before the Welcome may have %d bytes", helloBytes)
	case c.state == stateReady && !s.ready:
		return im.Errorf(im.CodeProtocolError, "the first frame must be Hello or a Call that needs no token, not %s", c.name)
	case c.state == stateNew && s.ready:
		return im.Errorf(im.CodeProtocolError, "%s was said already", c.name)
	case c.who == whoUser && s.Actor.User == "":
		return im.Errorf(im.CodeTokenInvalid, "%s needs a user", c.name)
	}
	return nil
}
