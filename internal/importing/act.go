package importing

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// actTime bounds writing what came of an import to the audit log.
const actTime = 30 * time.Second

// act has a line in the audit log of what do does, written before, as that of an act of an
// administrator is: an import that was killed has one that says so, and where none can be
// written nothing is done. What was written is said at the end.
func (w *writer) act(ctx context.Context, do func() error) error {
	now := w.t.Now()
	var random [10]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	a := im.Act{
		ID: im.NewMessageID(now, random), At: now, Kind: im.ActAdmin, Action: "import", Role: im.ServerOwner, Target: w.o.Workspace, Device: w.o.By,
		Code: im.ActBegun, Detail: w.detail(), Times: 1,
	}
	if err := w.t.Directory.PutActs(ctx, []im.Act{a}); err != nil {
		return fmt.Errorf("the audit log cannot be written, nothing was done: %w", err)
	}
	err := do()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), actTime)
	defer cancel()
	if failed := w.t.Directory.EndAct(late, a.ID, im.CodeOf(err), w.detail()); failed != nil && err == nil {
		err = fmt.Errorf("what was imported could not be written to the audit log: %w", failed)
	}
	return err
}

// detail is what a line says of the import so far.
func (w *writer) detail() string {
	var left int64
	for _, n := range w.r.LeftOut {
		left += n
	}
	text, err := json.Marshal(struct {
		System  string `json:"system"`
		Read    Things `json:"read"`
		Written Things `json:"written"`
		Already Things `json:"already"`
		LeftOut int64  `json:"left_out"`
	}{w.r.System, w.r.Read, w.r.Written, w.r.Already, left})
	if err != nil {
		return ""
	}
	return string(text)
}
