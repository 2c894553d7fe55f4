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
	"github.com/skein-im/skein/internal/schema"
)

// The server's codes (SQLSTATE) that mean something here.
const (
	uniqueViolation      = "23505"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	diskFull             = "53100"
	readOnly             = "25006" // a former primary
	lockNotAvailable     = "55P03"
	planChanged          = "0A000" // by a migration, while the driver kept a statement
	resolutionUnknown    = "08007"
	completionUnknown    = "40003"
)

// classify tells the codes that PostgreSQL's errors mean to a user.
func classify(err error) im.Code {
	var e *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &e) && e.Code == diskFull:
		return im.CodeStorageFull
	case errors.As(err, &connect): // also when it is the password: an operator's matter, which may end
		if errors.Is(err, context.Canceled) {
			return ""
		}
		return im.CodeUnavailable
	case errors.As(err, new(*schema.NewerError)):
		return im.CodeUnavailable // here; at nodes of the newer version it is
	case e != nil:
		switch e.Code {
		case uniqueViolation, serializationFailure, deadlockDetected, readOnly, lockNotAvailable:
			return im.CodeUnavailable
		}
		if away(e) || fatal(e) {
			return im.CodeUnavailable
		}
	case gone(err):
		return im.CodeUnavailable
	}
	return ""
}

// away tells of answers that mean that the server is not there for us: it
// starts, ends, has no room, gave a statement up that took too long, or failed.
func away(e *pgconn.PgError) bool {
	switch e.Code[:min(2, len(e.Code))] {
	case "08", "53", "57", "58":
		return true
	}
	return false
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
		case uniqueViolation, serializationFailure, deadlockDetected, planChanged:
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
		return !fatal(e) && e.Code != resolutionUnknown && e.Code != completionUnknown
	}
	return errors.Is(err, pgx.ErrTxCommitRollback)
}
