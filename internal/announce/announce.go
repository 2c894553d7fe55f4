// Package announce has what the deployment announces to everybody (SPEC §3.25).
//
// It owns which announcements there may be and which of them are told. It must not know who
// is connected, how they are told, nor how anything is stored.
//
// Goroutines: its list's. Locks: none of its own.
package announce

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/serverlist"
)

// ListName is what they are kept under.
const ListName = "announcements"

// LanguagePattern is of tags of languages, a part of what BCP 47 allows.
const LanguagePattern = "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$"

var language = regexp.MustCompile(LanguagePattern)

// Service has them. It is safe for concurrent use.
type Service struct {
	list   *serverlist.List[im.Announcement]
	now    func() time.Time
	random io.Reader
}

// New makes a Service. changed is called when this node knows others than before.
func New(o serverlist.Options, random io.Reader, changed func()) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Name = ListName
	return &Service{now: o.Now, random: random, list: serverlist.New(o, func(*serverlist.Known[im.Announcement]) { changed() })}
}

// Start reads them, and begins to look for what others changed.
func (s *Service) Start(ctx context.Context) error { return s.list.Start(ctx) }

// Close ends that.
func (s *Service) Close() { s.list.Close() }

// Look reads what changed, if anything did.
func (s *Service) Look(ctx context.Context) error { return s.list.Look(ctx) }

// Current is what is to be told now.
func (s *Service) Current() im.Announced {
	k := s.list.Known()
	return im.Announced{Revision: k.Revision, All: living(k.All, s.now())}
}

// living leaves out what is over.
func living(all []im.Announcement, now time.Time) []im.Announcement {
	return slices.DeleteFunc(slices.Clone(all), func(a im.Announcement) bool { return a.Over(now) })
}

// Add announces something.
func (s *Service) Add(ctx context.Context, a im.Announcement) (im.Announcement, error) {
	now := s.now()
	if err := check(&a, now); err != nil {
		return a, err
	}
	var random [10]byte
	if _, err := io.ReadFull(s.random, random[:]); err != nil {
		return a, im.Wrap(err, im.CodeInternal, "the server has no random numbers")
	}
	a.ID, a.Created = strings.ReplaceAll(im.NewMessageID(now, random).String(), "-", ""), now
	return a, s.list.Change(ctx, func(all []im.Announcement) ([]im.Announcement, error) {
		all = living(all, now)
		if len(all) >= im.MaxAnnouncements {
			return nil, im.Errorf(im.CodeTooLarge, "there are %d announcements, which is as many as may be: withdraw one first", len(all))
		}
		return append([]im.Announcement{a}, all...), nil
	})
}

// Withdraw takes one back; not_found: there is none.
func (s *Service) Withdraw(ctx context.Context, id string) error {
	return s.list.Change(ctx, func(all []im.Announcement) ([]im.Announcement, error) {
		left := slices.DeleteFunc(living(all, s.now()), func(a im.Announcement) bool { return a.ID == id })
		if !slices.ContainsFunc(all, func(a im.Announcement) bool { return a.ID == id }) {
			return nil, im.Errorf(im.CodeNotFound, "no such announcement")
		}
		return left, nil
	})
}

func check(a *im.Announcement, now time.Time) error {
	if err := checkText("text", &a.Text); err != nil {
		return err
	}
	if n := len(a.Texts); n > im.MaxAnnouncementTexts {
		return im.TooLarge("texts", "has %d; at most %d are allowed", n, im.MaxAnnouncementTexts)
	}
	seen := map[string]bool{}
	for i := range a.Texts {
		t := &a.Texts[i]
		if err := checkOne(t, seen); err != nil {
			return im.In(fmt.Sprintf("texts[%d]", i), err)
		}
	}
	if !a.Until.IsZero() && (!a.Until.After(now) || a.Until.After(now.Add(im.MaxAnnouncementTime))) {
		return im.Wrong("untilMs", "must be in the future, and at most %d days from now", im.MaxAnnouncementTime/(24*time.Hour))
	}
	return nil
}

func checkOne(t *im.AnnouncementText, seen map[string]bool) error {
	if !language.MatchString(t.Language) {
		return im.Wrong("language", "must be a tag of a language, as de or zh-Hans")
	}
	if lower := strings.ToLower(t.Language); seen[lower] {
		return im.Wrong("language", "stands there twice")
	} else {
		seen[lower] = true
	}
	return checkText("text", &t.Text)
}

func checkText(field string, text *string) error {
	if strings.TrimSpace(*text) == "" {
		return im.Wrong(field, "is missing")
	}
	return im.CheckLines(field, text, im.MaxAnnouncementText)
}
