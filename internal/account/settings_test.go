package account_test

import (
	"testing"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

// TestRegistrationAtRunTime: who may register is set at run time, for all processes at once.
func TestRegistrationAtRunTime(t *testing.T) {
	two(t, func(t *testing.T, a, b *fixture, _ *logged) {
		register := func(f *fixture, name string) im.Code {
			_, err := f.Register(t.Context(), home, account.Registration{Username: name, Password: password})
			return im.CodeOf(err)
		}
		if code := register(b, "annie"); code != "" {
			t.Errorf("as configured: %q", code)
		}
		info := must(a.SetInfo(t.Context(), account.SettingsChange{Registration: im.RegistrationClosed}))
		if info.Registration != im.RegistrationClosed || info.Name != "Skein" || info.Guests {
			t.Errorf("%+v", info)
		}
		if code := register(b, "bobby"); code != im.CodePermissionDenied {
			t.Errorf("closed: %q", code)
		}
		must(b.SetInfo(t.Context(), account.SettingsChange{Registration: im.RegistrationOpen}))
		if code := register(a, "bobby"); code != "" {
			t.Errorf("open again: %q", code)
		}
	})
}
