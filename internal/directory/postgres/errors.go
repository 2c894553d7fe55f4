package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg"
	"github.com/skein-im/skein/internal/schema"
)

// classify tells the codes that PostgreSQL's errors mean to a user.
func classify(err error) im.Code {
	var e *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &e) && e.Code == pg.DiskFull:
		return im.CodeStorageFull
	case errors.As(err, &connect): // also when it is the password: an operator's matter, which may end
		if errors.Is(err, context.Canceled) {
			return ""
		}
		return im.CodeUnavailable
	case errors.As(err, new(*schema.NewerError)):
		return im.CodeUnavailable // here; at nodes of the newer version it is
	case e != nil:
		// Whose outcome the server does not know is not asked for again blindly.
		if e.Code == pg.UniqueViolation || pg.Away(e.Code) && e.Code != pg.CompletionUnknown || fatal(e) {
			return im.CodeUnavailable
		}
	case gone(err):
		return im.CodeUnavailable
	}
	return ""
}

// gone tells that the connection is.
func gone(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // the caller's end, which takes the connection along
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, errSilent) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// lost tells that a connection that was there is not any more.
func lost(err error) bool {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return false
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return fatal(e)
	}
	return gone(err)
}

// again tells that a transaction or a read may be tried again at once: it lost
// against another one, or had a connection that had ended. Not when there is no
// new connection to be had.
func again(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case pg.UniqueViolation, pg.SerializationFailure, pg.DeadlockDetected, pg.PlanChanged:
			return true
		}
	}
	return lost(err) && !errors.Is(err, errSilent)
}

// fatal tells that the server ended the connection with this answer.
func fatal(e *pgconn.PgError) bool {
	severity := e.SeverityUnlocalized
	if severity == "" {
		severity = e.Severity
	}
	return severity == "FATAL" || severity == "PANIC"
}

// refused tells that a commit was answered with no. What the driver says of
// errors that came before it sent anything is not to be relied on: a connection
// that ends while the answer to a statement without arguments is awaited, as
// COMMIT is one, gives an error that claims to be one of these.
func refused(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		// A process that is ended may have committed before; distributed databases
		// have words for what they do not know themselves.
		return !fatal(e) && e.Code != pg.ResolutionUnknown && e.Code != pg.CompletionUnknown
	}
	return errors.Is(err, pgx.ErrTxCommitRollback)
}
