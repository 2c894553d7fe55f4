package bench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Repack has the journal's table written anew as docs/operations.md says, by a superuser.
func Repack(ctx context.Context, database string) error {
	c, err := pgx.ParseConfig(database)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_repack")
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return err
	}
	program := "pg_repack"
	if there, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_repack"); len(there) > 0 {
		program = there[len(there)-1]
	}
	cmd := exec.CommandContext(ctx, program, "--host", c.Host, "--port", strconv.Itoa(int(c.Port)), "--username", c.User, "--dbname", c.Database,
		"--table", "journal_entries", "--no-order", "--no-kill-backend")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}
