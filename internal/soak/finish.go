package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Heard waits until all devices have written down what a server that is gone had said:
// until nobody heard anything for a time. A device on a busy machine may be seconds
// behind with what it was sent.
func (w *World) Heard(ctx context.Context, silence time.Duration) error {
	for deadline := time.Now().Add(time.Minute); ; {
		before := w.heard.Load()
		select {
		case <-time.After(silence):
		case <-ctx.Done():
			return ctx.Err()
		}
		switch {
		case w.heard.Load() == before:
			return nil
		case time.Now().After(deadline):
			return errors.New("a server that is gone goes on talking")
		}
	}
}

// Quiesce waits until every message has its answer and every device holds
// everything, or ctx ends: then it tells who is behind. Nobody sends meanwhile.
func (w *World) Quiesce(ctx context.Context) error {
	var behind error
	calm := 0
	for {
		if behind = w.behind(ctx); behind == nil {
			// Marks travel a little behind the entries.
			if calm++; calm >= 10 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("soak: not calm in time: %w", behind)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (w *World) behind(ctx context.Context) error {
	for _, d := range w.devices {
		user, device := d.Name()
		if n := d.Pending(); n > 0 {
			return fmt.Errorf("%s/%s waits for %d answers", user, device, n)
		}
	}
	for _, p := range w.users {
		call, cancel := context.WithTimeout(ctx, callTime)
		list, err := Conversations(call, w.plan.HTTP, p.token)
		cancel()
		if err != nil {
			return err
		}
		for _, d := range w.devices {
			user, device := d.Name()
			if user != p.id {
				continue
			}
			holds := d.Holds()
			for _, st := range list.GetConversations() {
				end := st.Seq
				if st.UntilSeq != 0 {
					end = st.UntilSeq
				}
				if at := holds[st.Conversation]; at < end && !strings.HasPrefix(st.Conversation, "me:") {
					return fmt.Errorf("%s/%s holds %s up to %d of %d", user, device, st.Conversation, at, end)
				}
			}
		}
	}
	return nil
}

// Fresh reads everything once more as every user, and what was answered over HTTP.
func (w *World) Fresh(ctx context.Context) ([]View, error) {
	if err := w.clerk.check(ctx); err != nil {
		return nil, err
	}
	var views []View
	for _, p := range slices.Concat(w.users, w.clerk.users[:2]) { // those of the clerk's who have conversations
		v, err := ReadFresh(ctx, w.plan.HTTP, p.token, p.id)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

// Close ends all devices.
func (w *World) Close() error {
	var errs []error
	for _, d := range w.devices {
		errs = append(errs, d.Close())
	}
	for _, f := range w.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Stores reads what each device keeps. Call it after Close.
func (w *World) Stores(ctx context.Context) ([]View, error) {
	var views []View
	for _, d := range w.devices {
		v, err := d.View(ctx)
		if err != nil {
			user, device := d.Name()
			return nil, fmt.Errorf("soak: store of %s/%s: %w", user, device, err)
		}
		views = append(views, v)
	}
	return views, nil
}

// Histories reads what the devices wrote down.
func (w *World) Histories() ([][]Record, error) { return ReadHistories(w.plan.Dir) }
