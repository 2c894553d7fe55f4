package importing

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// sortBytes is how much of the messages is kept until it is written aside.
const sortBytes = 32 << 20

// sorter gives messages back in the order of their conversations and times; those of one time
// as they came. What does not fit into memory lies in files of its own, which go with it.
type sorter struct {
	dir   string
	bytes int // see sortBytes
	size  int
	n     uint64
	held  []record
	runs  []*os.File
}

// record is a message with what it is sorted by.
type record struct {
	conversation string
	at           int64
	n            uint64
	body         []byte
}

func (a *record) compare(b *record) int {
	return cmp.Or(cmp.Compare(a.conversation, b.conversation), cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n))
}

func newSorter(dir string) *sorter { return &sorter{dir: dir, bytes: sortBytes} }

func (s *sorter) add(conversation string, at int64, m *Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.n++
	s.held = append(s.held, record{conversation, at, s.n, body})
	if s.size += len(body) + len(conversation) + 64; s.size < s.bytes {
		return nil
	}
	return s.spill()
}

// spill writes what is held aside, sorted.
func (s *sorter) spill() (err error) {
	s.sort()
	f, err := os.CreateTemp(s.dir, "sorted-")
	if err != nil {
		return err
	}
	s.runs = append(s.runs, f)
	withoutName(f)
	w := bufio.NewWriterSize(f, 64<<10)
	for i := range s.held {
		r := &s.held[i]
		var head []byte
		head = binary.AppendUvarint(head, uint64(len(r.conversation)))
		head = append(head, r.conversation...)
		head = binary.AppendVarint(head, r.at)
		head = binary.AppendUvarint(head, r.n)
		head = binary.AppendUvarint(head, uint64(len(r.body)))
		if _, err := w.Write(append(head, r.body...)); err != nil {
			return err
		}
	}
	clear(s.held)
	s.held, s.size = s.held[:0], 0
	return w.Flush()
}

func (s *sorter) sort() {
	slices.SortFunc(s.held, func(a, b record) int { return a.compare(&b) })
}

// each calls f for every message in order.
func (s *sorter) each(f func(m *Message) error) error {
	s.sort()
	var all merged
	held := 0
	next := []func(*record) error{func(r *record) error {
		if held == len(s.held) {
			return io.EOF
		}
		*r = s.held[held]
		held++
		return nil
	}}
	for _, run := range s.runs {
		if _, err := run.Seek(0, io.SeekStart); err != nil {
			return err
		}
		r := bufio.NewReaderSize(run, 64<<10)
		next = append(next, func(to *record) error { return readRecord(r, to) })
	}
	for _, from := range next {
		if err := all.take(from); err != nil {
			return err
		}
	}
	for len(all) > 0 {
		var m Message
		from := all[0].next
		if err := json.Unmarshal(all[0].body, &m); err != nil {
			return fmt.Errorf("what was written aside: %w", err)
		}
		heap.Pop(&all)
		if err := f(&m); err != nil {
			return err
		}
		if err := all.take(from); err != nil {
			return err
		}
	}
	return nil
}

func readRecord(r *bufio.Reader, to *record) error {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return err // io.EOF: the end
	}
	name := make([]byte, n)
	if _, err = io.ReadFull(r, name); err == nil {
		to.at, err = binary.ReadVarint(r)
	}
	if err == nil {
		to.n, err = binary.ReadUvarint(r)
	}
	if err == nil {
		n, err = binary.ReadUvarint(r)
	}
	if err == nil {
		to.conversation, to.body = string(name), make([]byte, n)
		_, err = io.ReadFull(r, to.body)
	}
	if err != nil {
		return fmt.Errorf("what was written aside: %w", err)
	}
	return nil
}

func (s *sorter) close() (err error) {
	for _, f := range s.runs {
		err = errors.Join(err, closeAside(f))
	}
	s.runs, s.held = nil, nil
	return err
}

// withoutName removes the name of a file that is open, where the system lets one: what people
// said does not stay there when the import is killed.
func withoutName(f *os.File) { _ = os.Remove(f.Name()) }

// closeAside closes a file that is needed no more, and removes it if it has its name yet.
func closeAside(f *os.File) error {
	err := f.Close()
	if removed := os.Remove(f.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// merged are the first records of what is sorted, the least first.
type merged []run

type run struct {
	record
	next func(*record) error
}

func (m merged) Len() int           { return len(m) }
func (m merged) Less(i, j int) bool { return m[i].compare(&m[j].record) < 0 }
func (m merged) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merged) Push(x any)        { *m = append(*m, x.(run)) }
func (m *merged) Pop() any {
	last := len(*m) - 1
	x := (*m)[last]
	*m = (*m)[:last]
	return x
}

// take reads the next record, if there is one.
func (m *merged) take(next func(*record) error) error {
	s := run{next: next}
	err := next(&s.record)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		heap.Push(m, s)
	}
	return err
}
