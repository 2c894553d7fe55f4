package im

// The names of what is set at run time.
const (
	SettingName         = "name"
	SettingPicture      = "picture"
	SettingRegistration = "registration"
)

// SettingNames are all of them, in the order in which they are written.
var SettingNames = [...]string{SettingName, SettingPicture, SettingRegistration}

// RegistrationMode is who may register. The numbers are the contract's.
type RegistrationMode uint8

// The modes.
const (
	RegistrationOpen RegistrationMode = iota + 1
	RegistrationInvited
	RegistrationClosed
)

var registrationWords = [...]string{"", "open", "invitation", "closed"}

func (m RegistrationMode) String() string {
	if int(m) >= len(registrationWords) {
		return ""
	}
	return registrationWords[m]
}

// ParseRegistration is the mode of a word, 0 for any other.
func ParseRegistration(word string) RegistrationMode {
	for m, w := range registrationWords {
		if m > 0 && w == word {
			return RegistrationMode(m)
		}
	}
	return 0
}

// ServerInfo is what the deployment tells everybody of itself.
type ServerInfo struct {
	Name, Picture string
	Registration  RegistrationMode
	Guests        bool
}
