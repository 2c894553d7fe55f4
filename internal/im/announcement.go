package im

import "time"

// Announcement is what the deployment tells everybody.
type Announcement struct {
	ID      string             `json:"id"`
	Warning bool               `json:"warning,omitempty"`
	Text    string             `json:"text"`
	Texts   []AnnouncementText `json:"texts,omitempty"` // in other languages
	Created time.Time          `json:"created"`
	Until   time.Time          `json:"until"` // zero: until it is withdrawn
	// Stays: a user does not put it away.
	Stays bool `json:"stays,omitempty"`
}

// AnnouncementText is the same in another language, by its tag of BCP 47.
type AnnouncementText struct {
	Language string `json:"language"`
	Text     string `json:"text"`
}

// Over tells whether it is not to be told any more.
func (a *Announcement) Over(now time.Time) bool { return !a.Until.IsZero() && !now.Before(a.Until) }

// Bounds of announcements.
const (
	MaxAnnouncements     = 10
	MaxAnnouncementText  = 1000
	MaxAnnouncementTexts = 10
	MaxAnnouncementTime  = 366 * 24 * time.Hour
)

// Announced is what the deployment tells everybody, the newest first, as of a revision; 0:
// nothing was ever announced, or nobody here knows.
type Announced struct {
	Revision uint64
	All      []Announcement
}
