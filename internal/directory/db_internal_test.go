package directory

import (
	"fmt"
	"testing"
)

// Lists of all lengths have few texts where the driver keeps them; an embedded
// database gets them as they are.
func TestListsHaveFewTexts(t *testing.T) {
	server, embedded := New(nil, Dialect{}), New(nil, Dialect{Embedded: true})
	texts := map[string]bool{}
	ids := []string{}
	for n := range 1001 {
		text, args := in(server, []any{"x"}, ids)
		texts[text] = true
		if n > 0 && (args[n] != ids[n-1] || args[len(args)-1] != ids[n-1] || len(args) > 2*n) {
			t.Fatalf("%d: %d arguments, the last %v", n, len(args), args[len(args)-1])
		}
		if _, args := in(embedded, []any{"x"}, ids); len(args) != n+1 {
			t.Fatalf("%d: %d arguments", n, len(args))
		}
		ids = append(ids, fmt.Sprint(n))
	}
	if len(texts) != 12 {
		t.Errorf("%d texts", len(texts))
	}
	if text, _ := in(server, []any{"x"}, []string{"a", "b", "c"}); text != "($2,$3,$4,$5)" {
		t.Error(text)
	}
}
