package account

import (
	"context"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// MaxServerPicture is how long the address of the deployment's picture may be, in bytes.
const MaxServerPicture = 500

// SettingStore keeps what is set at run time.
type SettingStore interface {
	// ServerSettings returns all of it, by name (im.SettingNames).
	ServerSettings(ctx context.Context) (map[string]string, error)
	// SetServerSettings sets what is given; the rest stays.
	SetServerSettings(ctx context.Context, values map[string]string, at time.Time) error
}

// Info is what the deployment tells everybody of itself: as it was set at run time, otherwise
// as it was configured. It is read anew each time, so all processes say the same at once.
func (s *Service) Info(ctx context.Context) (im.ServerInfo, error) {
	set, err := s.store.ServerSettings(ctx)
	if err != nil {
		return im.ServerInfo{}, err
	}
	info := im.ServerInfo{Name: set[im.SettingName], Picture: set[im.SettingPicture], Registration: im.ParseRegistration(set[im.SettingRegistration]), Guests: s.o.MaxGuests > 0}
	if info.Name == "" {
		info.Name = s.o.Issuer
	}
	if info.Registration == 0 {
		info.Registration = s.configured()
	}
	return info, nil
}

// configured is who may register where nothing was set at run time.
func (s *Service) configured() im.RegistrationMode {
	switch {
	case s.o.OpenRegistration:
		return im.RegistrationOpen
	case s.o.InvitedRegistration:
		return im.RegistrationInvited
	}
	return im.RegistrationClosed
}

// SettingsChange is a change of what is set at run time: what is nil or 0 stays; an empty
// name or picture is as configured again.
type SettingsChange struct {
	Name, Picture *string
	Registration  im.RegistrationMode
}

// SetInfo changes what the deployment tells everybody of itself, and who may register.
func (s *Service) SetInfo(ctx context.Context, c SettingsChange) (im.ServerInfo, error) {
	values := map[string]string{}
	if c.Name != nil {
		name := strings.TrimSpace(*c.Name)
		if *c.Name != "" {
			if err := im.CheckName("name", name, 1, MaxDisplayName); err != nil {
				return im.ServerInfo{}, err
			}
		}
		values[im.SettingName] = name
	}
	if p := c.Picture; p != nil {
		if *p != "" && !strings.HasPrefix(*p, "https://") || !printable(*p) || strings.ContainsAny(*p, " \"<>") {
			return im.ServerInfo{}, im.Wrong("picture", "must be an https address")
		}
		if len(*p) > MaxServerPicture {
			return im.ServerInfo{}, im.TooLarge("picture", "has %d bytes; at most %d are allowed", len(*p), MaxServerPicture)
		}
		values[im.SettingPicture] = *p
	}
	if c.Registration > im.RegistrationClosed {
		return im.ServerInfo{}, im.Wrong("registration", "is not known")
	}
	if c.Registration != 0 {
		values[im.SettingRegistration] = c.Registration.String()
	}
	if err := s.store.SetServerSettings(ctx, values, s.o.Now()); err != nil {
		return im.ServerInfo{}, err
	}
	return s.Info(ctx)
}

// mayRegister tells who may register now; permission_denied: nobody.
func (s *Service) mayRegister(ctx context.Context) (im.RegistrationMode, error) {
	info, err := s.Info(ctx)
	if err == nil && info.Registration == im.RegistrationClosed {
		err = im.Errorf(im.CodePermissionDenied, "registration is closed on this server; ask its administrator for an account")
	}
	return info.Registration, err
}
