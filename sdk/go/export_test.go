package skein

import (
	"crypto/tls"
	"testing"

	"github.com/skein-im/skein/wire"
)

// What the tests of package skein_test, which may import stores, see of the fake server.

type Fake = fake

func NewFake(t *testing.T) *Fake { return newFake(t) }

func (f *fake) ListenTCP() string                                { return f.listenTCP() }
func (f *fake) ListenWS() string                                 { return f.listenWS() }
func (f *fake) ListenTLS() (wss, tls string, client *tls.Config) { return f.listenTLS() }
func (f *fake) HangUp()                                          { f.hangUp() }
func (f *fake) Texts() []string                                  { return f.texts() }
func (f *fake) Stop()                                            { f.stop() }

func (f *fake) Say(conversation, sender, text string) { f.say(conversation, sender, text) }

// LoseAcks makes the server store messages without answering, until false.
func (f *fake) LoseAcks(lose bool) {
	f.do(func() {
		f.onSend = nil
		if lose {
			f.onSend = func(*fakeConn, *wire.Send) verdict { return verdict{noAck: true} }
		}
	})
}

// Refuse answers every Hello with an error.
func (f *fake) Refuse(code wire.Code) {
	f.do(func() { f.onHello = refuse(code) })
}

// Answer answers every call.
func (f *fake) Answer(g func(*wire.Call) *wire.Result) { f.do(func() { f.onCall = g }) }

func CheckWindow(t *testing.T, c *Client, s Store, f *Fake, conversation string) {
	t.Helper()
	checkWindow(t, c, s, f, conversation)
}
