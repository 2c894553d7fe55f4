package importing

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errLong: an object is longer than is read.
var errLong = fmt.Errorf("it is longer than %d MiB", maxObject>>20)

// lines calls f for each line of a file that is not empty, with its number. A line that is too
// long is told, and passed over, and what is damaged is told, and read no further. f's slice is
// its own until it returns.
func lines(ctx context.Context, r io.Reader, tell func(line int, err error), f func(line int, text []byte) error) error {
	b := bufio.NewReaderSize(r, 64<<10)
	var text []byte
	for line := 1; ; line++ {
		text = text[:0]
		long := false
		var err error
		for {
			var part []byte
			part, err = b.ReadSlice('\n')
			if long = long || len(text)+len(part) > maxObject; !long {
				text = append(text, part...)
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		if damaged(err) {
			tell(line, fmt.Errorf("the file is damaged here, and is read no further: %w", err))
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if line%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if long {
			tell(line, errLong)
		} else if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 {
			if fault := f(line, trimmed); fault != nil {
				return fault
			}
		}
		if err != nil {
			return nil
		}
	}
}

// counted counts lines as they are read, and how much was read since the last reset.
type counted struct {
	r     io.Reader
	read  int64
	since int64
	lines []int64 // where lines begin, of what may be asked for still
	first int     // number of lines[0]
}

func (c *counted) Read(p []byte) (int, error) {
	if c.since > maxObject {
		return 0, errLong
	}
	n, err := c.r.Read(p)
	for i, x := range p[:n] {
		if x == '\n' {
			c.lines = append(c.lines, c.read+int64(i)+1)
		}
	}
	c.read += int64(n)
	c.since += int64(n)
	return n, err
}

// line is the number of the line that has the byte at an offset; it forgets those before it.
func (c *counted) line(offset int64) int {
	n := 0
	for n < len(c.lines) && c.lines[n] <= offset {
		n++
	}
	c.first += n
	c.lines = append(c.lines[:0], c.lines[n:]...)
	return c.first + 1
}

// array calls f for each element of a JSON array, with its line. What is no array, or ends
// early, is an error that names the line.
func array(ctx context.Context, r io.Reader, f func(line int, raw json.RawMessage) error) error {
	c := &counted{r: r}
	d := json.NewDecoder(c)
	at := func(err error) error {
		var syntax *json.SyntaxError
		offset := d.InputOffset()
		if errors.As(err, &syntax) {
			offset = max(offset, syntax.Offset-1)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			offset, err = c.read, io.ErrUnexpectedEOF
		}
		return &lineError{c.line(offset), err}
	}
	t, err := d.Token()
	if err != nil {
		return at(err)
	}
	if t != json.Delim('[') {
		return at(errors.New("it is not a JSON array"))
	}
	for n := 0; d.More(); n++ {
		c.since = 0
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return at(err)
		}
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f(c.line(d.InputOffset()-int64(len(raw))), raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return at(err)
	}
	return nil
}

// lineError is what is wrong in a line of a file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }
