package contract

import (
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Announcement translates one.
func Announcement(a *im.Announcement) *wire.Announcement {
	w := &wire.Announcement{
		Id: a.ID, Level: wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_INFO, Text: a.Text,
		CreatedAtMs: Millis(a.Created), UntilMs: Millis(a.Until), Dismissible: !a.Stays,
	}
	if a.Warning {
		w.Level = wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_WARNING
	}
	for _, t := range a.Texts {
		w.Texts = append(w.Texts, &wire.AnnouncementText{Language: t.Language, Text: t.Text})
	}
	return w
}

// Announcements translates all that is announced.
func Announcements(a im.Announced) *wire.Announcements {
	w := &wire.Announcements{Revision: a.Revision}
	for i := range a.All {
		w.Announcements = append(w.Announcements, Announcement(&a.All[i]))
	}
	return w
}

// AnnouncementFromWire translates one that was told, as far as nodes tell each other.
func AnnouncementFromWire(w *wire.Announcement) im.Announcement {
	a := im.Announcement{
		ID: w.GetId(), Warning: w.GetLevel() == wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_WARNING, Text: w.GetText(),
		Created: time.UnixMilli(w.GetCreatedAtMs()), Stays: !w.GetDismissible(),
	}
	if w.GetUntilMs() != 0 {
		a.Until = time.UnixMilli(w.GetUntilMs())
	}
	for _, t := range w.GetTexts() {
		a.Texts = append(a.Texts, im.AnnouncementText{Language: t.GetLanguage(), Text: t.GetText()})
	}
	return a
}
