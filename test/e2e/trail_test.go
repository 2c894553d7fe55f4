package e2e

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// TestActsSurviveAKill: a process that is killed the moment it answered has the line of what
// an administrator did, and of who signed in, on either store.
func TestActsSurviveAKill(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"embedded":   nil,
		"postgresql": {"--store", pgtest.Database(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, t.TempDir(), args...)
			for round := range 3 {
				var made wire.RegisterResponse
				register := &wire.RegisterRequest{Username: "eve-" + string(rune('a'+round)), Password: "correct horse", Device: &wire.Device{Id: "d", Name: "Eve's phone"}}
				if err := skein.Post(t.Context(), p.HTTP(), "skein.v1.AccountService/Register", "", register, &made); err != nil {
					t.Fatal(err)
				}
				eve := made.Tokens.GetUser()
				if _, err := skein.NewAdmin(p.HTTP(), p.AdminKey()).Ban(t.Context(), eve, time.Time{}, "spam"); err != nil {
					t.Fatal(err)
				}
				p.kill(t)
				p.Start(t)
				var told []string
				for e, err := range skein.NewAdmin(p.HTTP(), p.AdminKey()).AuditLog(t.Context(), &wire.ListAuditLogRequest{OldestFirst: true}) {
					if err != nil {
						t.Fatal(err)
					}
					if e.By == eve || e.Target == eve {
						told = append(told, e.Action+" "+e.Code)
					}
				}
				if len(told) != 2 || told[0] != "register " || told[1] != "AdminService/BanUser " {
					t.Errorf("round %d: %q", round, told)
				}
			}
		})
	}
}
