package nats

import (
	"fmt"
	"log/slog"
	"strings"
)

// notes passes the server's log on. Its notices are about connections that come
// and go: worth a line here.
type notes struct {
	log   *slog.Logger
	fatal chan string // room for one
}

func (n *notes) Noticef(format string, v ...any) { n.log.Info("nats: " + fmt.Sprintf(format, v...)) }
func (n *notes) Warnf(format string, v ...any)   { n.log.Warn("nats: " + fmt.Sprintf(format, v...)) }
func (n *notes) Debugf(format string, v ...any)  { n.log.Debug("nats: " + fmt.Sprintf(format, v...)) }

// Errorf is a warning where a peer cannot be reached: it is not started yet, or was stopped, and
// is tried again. What is missing then is told by who needs it.
func (n *notes) Errorf(format string, v ...any) {
	s := "nats: " + fmt.Sprintf(format, v...)
	if strings.HasPrefix(format, "Error trying to connect to route") {
		n.log.Warn(s)
		return
	}
	n.log.Error(s)
}

// Tracef is for contents, which are nobody's business.
func (n *notes) Tracef(string, ...any) {}

// Fatalf is called where the server's own program would end, and the server goes
// on. That it has no port for clients is as it should be (serverOptions); anything
// else is for startServer.
func (n *notes) Fatalf(format string, v ...any) {
	s := fmt.Sprintf(format, v...)
	if strings.HasPrefix(s, "Error listening on port: ") {
		n.log.Debug("nats: no port for clients")
		return
	}
	n.log.Error("nats: " + s)
	select {
	case n.fatal <- s:
	default:
	}
}
