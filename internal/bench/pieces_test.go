package bench

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

// What is kept in pieces is read as if it were one: none, less than a piece, exactly one,
// and several, written in parts that do not end where pieces do.
func TestPieces(t *testing.T) {
	for _, size := range []int{0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3*pieceBytes + 7} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i>>8 ^ i)
		}
		var p pieces
		if n, err := io.CopyBuffer(&p, struct{ io.Reader }{bytes.NewReader(want)}, make([]byte, 300_007)); err != nil || n != int64(size) {
			t.Fatal(n, err)
		}
		if err := iotest.TestReader(io.NewSectionReader(&p, 0, int64(size)), want); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if n, err := p.ReadAt(make([]byte, 1), int64(size)); n != 0 || err != io.EOF {
			t.Errorf("behind %d bytes: %d, %v", size, n, err)
		}
		if n, err := p.ReadAt(make([]byte, 1), int64(size)+5*pieceBytes); n != 0 || err != io.EOF {
			t.Errorf("far behind %d bytes: %d, %v", size, n, err)
		}
	}
}
