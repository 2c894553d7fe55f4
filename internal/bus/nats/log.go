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
func (n *notes) Errorf(format string, v ...any)  { n.log.Error("nats: " + fmt.Sprintf(format, v...)) }
func (n *notes) Debugf(format string, v ...any)  { n.log.Debug("nats: " + fmt.Sprintf(format, v...)) }

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
