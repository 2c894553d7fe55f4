package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// BackupReport is what a backup of a running server costs, and what is had of it.
type BackupReport struct {
	// Messages were stored when the first backup began.
	Messages uint64 `json:"messages"`
	// Before are the acks at the rate without a backup, During those of the time in
	// which the first one was made, Again of the second one, which copies what is new.
	Before Latency `json:"before_ms"`
	During Latency `json:"during_ms"`
	Again  Latency `json:"again_ms"`
	// P99Ratio is During.P99 ÷ Before.P99, 0 if nothing was acknowledged before.
	P99Ratio float64   `json:"p99_ratio"`
	First    BackupRun `json:"first"`
	Second   BackupRun `json:"second"`
	// Drill restores the second one to a scratch directory, reads all and compares.
	DrillSeconds   float64 `json:"drill_s"`
	RestoreSeconds float64 `json:"restore_s"`
	// ReadySeconds is how long a server then takes from its start to ready.
	ReadySeconds float64 `json:"ready_s"`
}

// BackupRun is one backup. Seconds are of the whole command.
type BackupRun struct {
	Seconds  float64 `json:"seconds"`
	Bytes    int64   `json:"bytes"`
	NewBytes int64   `json:"new_bytes"`
	Entries  uint64  `json:"entries"`
}

// Backup fills a server, and backs it up twice under the load of o.Rate; then
// drill, restore, and a start of what was restored. rate is that of the backup in
// MB/s, as `skein backup --rate`.
func Backup(ctx context.Context, o Options, messages, rate int, start Starter) (*Report, error) {
	o.Scenario, o.Friends = ScenarioBackup, 1
	o.Connections &^= 1
	return withServer(ctx, &o, start, func(r *run) error {
		if r.s.cmd == nil {
			return errors.New("a backup is made of a server that is started for it, not of --server")
		}
		users, err := r.s.register(ctx, r.o, r.o.Connections)
		if err != nil {
			return err
		}
		if err := r.connect(ctx, users, nil, nil); err != nil {
			return err
		}
		x := &BackupReport{}
		r.r.Backup = x
		b := &backups{run: r, x: x, rate: rate, to: filepath.Join(r.s.dir, "backups"), restored: filepath.Join(r.s.dir, "restored")}
		if x.Messages, err = b.fill(ctx, uint64(messages)); err != nil {
			return err
		}
		if err := b.underLoad(ctx); err != nil {
			return err
		}
		return b.restore(ctx)
	})
}

type backups struct {
	*run
	x            *BackupReport
	rate         int
	to, restored string
}

// underLoad measures acks without and beside a backup, and accounts for every
// message of the whole run.
func (b *backups) underLoad(ctx context.Context) error {
	before, after, err := b.phase(ctx, fmt.Sprintf("%g msg/s", b.o.Rate), b.o.Rate, b.o.Warmup, b.o.Duration)
	if err != nil {
		return err
	}
	b.x.Before = between(before, after)
	from, err := b.s.usage(ctx)
	if err != nil {
		return err
	}
	first := after
	for _, one := range []struct {
		name string
		run  *BackupRun
		acks *Latency
	}{{"a backup", &b.x.First, &b.x.During}, {"another, of what is new", &b.x.Second, &b.x.Again}} {
		b.o.progress("%s", one.name)
		before = after
		if err := b.backup(ctx, one.run); err != nil {
			return err
		}
		if after, err = b.totals(ctx, command{Do: doStats}); err != nil {
			return err
		}
		*one.acks = between(before, after)
	}
	if b.x.Before.P99 > 0 { // JSON has no other numbers
		b.x.P99Ratio = b.x.During.P99 / b.x.Before.P99
	}
	to, err := b.s.usage(ctx)
	if err != nil {
		return err
	}
	b.measured(from, to, first, after)
	b.r.Ack, b.r.Delivery = between(first, after), Latency{}
	return b.account(ctx)
}

// backup runs `skein backup` as an operator does.
func (b *backups) backup(ctx context.Context, run *BackupRun) error {
	begin := time.Now()
	out, err := b.skein(ctx, "backup", "to", b.to, "--data", b.s.data, "--admin", b.s.admin, "--rate", strconv.Itoa(b.rate), "--json")
	if err != nil {
		return err
	}
	run.Seconds = time.Since(begin).Seconds()
	var told struct {
		Bytes    int64 `json:"bytes"`
		NewBytes int64 `json:"new_bytes"`
		Contents struct {
			Entries struct {
				Rows uint64 `json:"rows"`
			} `json:"entries"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(out, &told); err != nil {
		return fmt.Errorf("skein backup --json: %w", err)
	}
	run.Bytes, run.NewBytes, run.Entries = told.Bytes, told.NewBytes, told.Contents.Entries.Rows
	if run.Entries < b.x.Messages {
		return fmt.Errorf("the backup has %d entries, of %d that were acknowledged before it began", run.Entries, b.x.Messages)
	}
	return nil
}

func (b *backups) restore(ctx context.Context) error {
	for _, step := range []struct {
		name    string
		seconds *float64
		args    []string
	}{
		{"drill", &b.x.DrillSeconds, []string{"backup", "drill", b.to, "--scratch", b.s.dir, "--json"}},
		{"restore", &b.x.RestoreSeconds, []string{"restore", b.to, "--data", b.restored, "--json"}},
	} {
		b.o.progress("%s", step.name)
		begin := time.Now()
		if _, err := b.skein(ctx, step.args...); err != nil {
			return err
		}
		*step.seconds = time.Since(begin).Seconds()
	}
	if err := copyKeys(filepath.Join(b.s.data, "keys"), filepath.Join(b.restored, "keys")); err != nil {
		return err
	}
	b.o.progress("a server on what was restored")
	begin := time.Now()
	s, err := startOn(ctx, b.s.binary, b.restored, nil, b.o.Log)
	if err != nil {
		return err
	}
	b.x.ReadySeconds = time.Since(begin).Seconds()
	s.Stop()
	return nil
}

// skein runs the program that serves, and returns what it prints.
func (b *backups) skein(ctx context.Context, args ...string) ([]byte, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, b.s.binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("skein %s: %w: %s", args[0], err, said.String())
	}
	return out.Bytes(), nil
}

// copyKeys copies the keys of a server, which a start takes only where nobody else can read
// them.
func copyKeys(from, to string) error {
	all, err := os.ReadDir(from)
	if err == nil {
		err = os.MkdirAll(to, 0o700)
	}
	if err != nil {
		return err
	}
	for _, e := range all {
		key, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, e.Name()), key, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
