// Package scan shows bytes to a scanner for viruses that speaks the protocol of clamd:
// ClamAV's daemon, and others that took it over.
//
// It owns one conversation with the scanner: INSTREAM, and what its answer means. It must
// not know what the bytes are of, nor what is done about a verdict.
//
// The conversation, on a connection of its own for each file:
//
//	we       zINSTREAM NUL, then chunks: four bytes of length, most significant first, and
//	         as many bytes; a length of 0 ends it
//	scanner  "stream: OK" NUL, "stream: NAME FOUND" NUL, or "REASON ERROR" NUL
//
// What it guarantees: no error means that the scanner was given all bytes and their end, and
// called them clean; an answer that is there before the end is given is none. Whatever else
// comes, or does not, is an error.
//
// Goroutines: one for each scan, which reads the answer while the bytes are written; it
// ends before Scan returns. No locks.
package scan

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// ErrTooLong: the scanner does not look at so many bytes (clamd: StreamMaxLength).
var ErrTooLong = errors.New("the scanner does not take so many bytes")

const (
	// chunk is how many bytes are given at a time.
	chunk = 64 << 10
	// maxAnswer is how long an answer may be; more is none.
	maxAnswer = 1 << 10
	// endTime is how long an answer is waited for that came before the bytes were all given.
	endTime = 5 * time.Second
)

// Clamd is where a scanner is. It is safe for concurrent use.
type Clamd struct{ network, address string }

// Parse reads an address: tcp://HOST:PORT or unix:///PATH.
func Parse(s string) (*Clamd, error) {
	u, err := url.Parse(s)
	if err == nil && u.RawQuery == "" && u.Fragment == "" && u.User == nil {
		switch {
		case u.Scheme == "tcp" && u.Port() != "" && u.Hostname() != "" && u.Path == "":
			return &Clamd{"tcp", u.Host}, nil
		case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
			return &Clamd{"unix", u.Path}, nil
		}
	}
	return nil, fmt.Errorf("%q is neither tcp://HOST:PORT nor unix:///PATH", s)
}

// Scan shows all that r gives to the scanner: found is what it found in it, "" if it is
// clean. An error tells that there is no verdict: ErrTooLong, an error of r's as it is, or
// that the scanner could not be asked, was silent until the end of ctx, or said something
// else.
func (c *Clamd) Scan(ctx context.Context, r io.Reader) (found string, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, c.network, c.address)
	if err != nil {
		return "", fmt.Errorf("the scanner cannot be reached: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var early atomic.Bool // an answer is there
	answers := make(chan answer, 1)
	go func() {
		text, err := read(conn)
		early.Store(true)
		answers <- answer{text, err}
	}()
	failed := give(conn, r, &early)
	var bad readError
	switch {
	case errors.As(failed, &bad):
		conn.Close()
		<-answers
		return "", bad.error
	case failed != nil:
		// It answered, or hung up, and may have told why.
		_ = conn.SetReadDeadline(time.Now().Add(endTime))
	}
	a := <-answers
	if ctx.Err() != nil {
		return "", fmt.Errorf("the scanner did not answer in time: %w", ctx.Err())
	}
	if a.err != nil {
		return "", fmt.Errorf("the scanner did not answer: %w", errors.Join(failed, a.err))
	}
	return a.verdict(failed)
}

// errEarly: the scanner answered before it was given the end.
var errEarly = errors.New("the scanner answered before it had all of it")

// answer is what a scanner said.
type answer struct {
	text string
	err  error
}

func (a answer) verdict(failed error) (found string, err error) {
	if name, ok := strings.CutSuffix(a.text, " FOUND"); ok {
		if name = strings.TrimSpace(strings.TrimPrefix(name, "stream:")); name == "" {
			name = "something"
		}
		return name, nil // it need not have seen the rest
	}
	switch {
	case strings.Contains(a.text, "size limit exceeded"):
		return "", ErrTooLong
	case a.text == "stream: OK":
		return "", failed
	}
	return "", fmt.Errorf("the scanner said %q", a.text)
}

// readError is of the reader of what is scanned.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// give writes what r gives as the scanner wants it.
func give(w io.Writer, r io.Reader, early *atomic.Bool) error {
	if _, err := io.WriteString(w, "zINSTREAM\x00"); err != nil {
		return err
	}
	b := make([]byte, 4+chunk)
	for {
		n, err := io.ReadFull(r, b[4:])
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return readError{err}
		}
		if early.Load() {
			return errEarly
		}
		if n > 0 {
			binary.BigEndian.PutUint32(b, uint32(n))
			if _, err := w.Write(b[:4+n]); err != nil {
				return err
			}
		}
		if last {
			_, err := w.Write([]byte{0, 0, 0, 0})
			return err
		}
	}
}

// read reads one answer.
func read(conn net.Conn) (string, error) {
	b, err := bufio.NewReader(io.LimitReader(conn, maxAnswer)).ReadString(0)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(strings.TrimSuffix(b, "\x00")), nil
}
