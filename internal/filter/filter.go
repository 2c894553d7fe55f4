// Package filter has the words and links that the deployment does not allow, or has reported
// (SPEC §3.26): the rules that administrators made, and what messages and names break.
//
// It owns the rules, what they mean, and the form in which texts are compared. It must not
// know who is in a conversation, how anything is stored, nor the protocol but for the form of
// an entry's body.
//
// What an entry says is looked at in one pass from memory, whatever the number of rules
// (automaton.go), where the message comes in; without a rule that is one look at a pointer.
// Where it breaks one, what the rule depends on (who is a contact, who has a role) is asked of
// the stores: that is rare, and no other message waits for it.
//
// Goroutines: the list's, and one, from Start to Close, that writes reports. Locks: none; the
// rules are exchanged whole.
//
// Invariants:
//   - a rule that was added counts for what is looked at after that was answered, on each
//     node that is heard (serverlist);
//   - an author is never told which rule it was;
//   - a message that breaks a rule to be reported is stored before it is reported; its
//     report may be missing if the server is killed within seconds.
package filter

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/serverlist"
)

// ListName is what the rules are kept under.
const ListName = "filter"

// HostPattern is of hosts that rules name.
const HostPattern = `^[0-9A-Za-z\x{80}-\x{10ffff}]([0-9A-Za-z\x{80}-\x{10ffff}-]*[0-9A-Za-z\x{80}-\x{10ffff}])?([.][0-9A-Za-z\x{80}-\x{10ffff}]([0-9A-Za-z\x{80}-\x{10ffff}-]*[0-9A-Za-z\x{80}-\x{10ffff}])?)+$`

var host = regexp.MustCompile(HostPattern)

// Reports keeps what is reported. internal/directory is one.
type Reports interface {
	// PutReport keeps a report, once of a message; of one author at most most since a time.
	PutReport(ctx context.Context, r im.Report, since time.Time, most int) error
}

// Options say what a Service needs. All must be set but the clock and the logger.
type Options struct {
	List    serverlist.Options
	Reports Reports
	// Contact tells whether two users are contacts, Role what a user may do to the deployment.
	Contact func(ctx context.Context, a, b im.UserID) (bool, error)
	Role    func(ctx context.Context, u im.UserID) (im.ServerRole, error)
	Random  io.Reader
	Now     func() time.Time
	Logger  *slog.Logger
}

// Service has the rules. It is safe for concurrent use.
type Service struct {
	o       Options
	list    *serverlist.List[im.FilterRule]
	rules   atomic.Pointer[automaton] // nil: there are none
	reports chan im.Report
	life    context.Context
	end     context.CancelFunc
	done    sync.WaitGroup
}

// New makes a Service that knows no rules yet; Start reads them.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.List.Name, o.List.Now, o.List.Logger = ListName, o.Now, o.Logger
	s := &Service{o: o, reports: make(chan im.Report, maxWaiting)}
	s.list = serverlist.New(o.List, func(k *serverlist.Known[im.FilterRule]) { s.rules.Store(compile(k.All)) })
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Start reads the rules, and begins to write reports.
func (s *Service) Start(ctx context.Context) error {
	s.done.Go(s.write)
	return s.list.Start(ctx)
}

// Close ends that, and writes what waits.
func (s *Service) Close() {
	s.list.Close()
	s.end()
	s.done.Wait()
}

// Look reads what changed, if anything did.
func (s *Service) Look(ctx context.Context) error { return s.list.Look(ctx) }

// Empty tells that there are no rules, as far as this node knows.
func (s *Service) Empty() bool { return s.rules.Load() == nil }

// All are the rules, in the order in which they were added. Nobody changes them.
func (s *Service) All(ctx context.Context) ([]im.FilterRule, error) {
	err := s.list.Look(ctx)
	return s.list.Known().All, err
}

// Add adds a rule.
func (s *Service) Add(ctx context.Context, r im.FilterRule) (im.FilterRule, error) {
	if err := check(&r); err != nil {
		return r, err
	}
	var random [10]byte
	if _, err := io.ReadFull(s.o.Random, random[:]); err != nil {
		return r, im.Wrap(err, im.CodeInternal, "the server has no random numbers")
	}
	now := s.o.Now()
	r.ID, r.Created = strings.ReplaceAll(im.NewMessageID(now, random).String(), "-", ""), now
	return r, s.list.Change(ctx, func(all []im.FilterRule) ([]im.FilterRule, error) {
		bytes := len(seen(r.Pattern))
		for i := range all {
			if all[i].Same(&r) {
				return nil, im.Errorf(im.CodeAlreadyExists, "there is this rule already")
			}
			bytes += len(seen(all[i].Pattern))
		}
		if len(all) >= im.MaxFilterRules {
			return nil, im.Errorf(im.CodeTooLarge, "there are %d rules, which is as many as may be", len(all))
		}
		if bytes > im.MaxFilterBytes {
			return nil, im.TooLarge("rule.pattern", "would make %d bytes of all patterns together; at most %d are allowed", bytes, im.MaxFilterBytes)
		}
		return append(all, r), nil
	})
}

// Remove takes a rule away; not_found: there is none.
func (s *Service) Remove(ctx context.Context, id string) error {
	return s.list.Change(ctx, func(all []im.FilterRule) ([]im.FilterRule, error) {
		left := slices.DeleteFunc(slices.Clone(all), func(r im.FilterRule) bool { return r.ID == id })
		if len(left) == len(all) {
			return nil, im.Errorf(im.CodeNotFound, "no such rule")
		}
		return left, nil
	})
}

func check(r *im.FilterRule) error {
	r.Pattern = strings.TrimSpace(r.Pattern)
	switch r.Kind {
	case im.FilterWord:
		if n := utf8.RuneCountInString(r.Pattern); n > im.MaxFilterPattern {
			return im.TooLarge("rule.pattern", "has %d characters; at most %d are allowed", n, im.MaxFilterPattern)
		}
		if err := im.CheckLines("rule.pattern", &r.Pattern, im.MaxFilterPattern); err != nil {
			return err
		}
		if seen(r.Pattern) == "" {
			return im.Wrong("rule.pattern", "must have 1 to %d characters that are seen", im.MaxFilterPattern)
		}
	case im.FilterLink:
		r.Pattern = strings.ToLower(strings.TrimSuffix(r.Pattern, "."))
		if r.Part {
			return im.Wrong("rule.part", "is for words; a host is one with all below it")
		}
		if len(r.Pattern) > im.MaxFilterHost || !utf8.ValidString(r.Pattern) || !host.MatchString(r.Pattern) {
			return im.Wrong("rule.pattern", "must be a host, as example.com, without scheme, port and path")
		}
		// Of a host of characters that are not seen would be left what any text has.
		if !host.MatchString(seen(r.Pattern)) {
			return im.Wrong("rule.pattern", "must be a host also without the characters that are not seen")
		}
	default:
		return im.Wrong("rule.kind", "is missing")
	}
	switch {
	case r.Action != im.FilterRefuse && r.Action != im.FilterReport:
		return im.Wrong("rule.action", "is missing")
	case r.Scope > im.FilterStrangers:
		return im.Wrong("rule.scope", "is not known")
	case r.Exempt > im.ServerOwner:
		return im.Wrong("rule.exempt", "is not known")
	}
	if n := utf8.RuneCountInString(r.Note); n > im.MaxFilterNote {
		return im.TooLarge("rule.note", "has %d characters; at most %d are allowed", n, im.MaxFilterNote)
	}
	return im.CheckLines("rule.note", &r.Note, im.MaxFilterNote)
}

// seen is a pattern in normal form, as it is looked for.
func seen(pattern string) string { return strings.TrimSpace(string(normal(nil, pattern))) }

// MaxFound is of how many rules Test tells.
const MaxFound = 16

// Test tells which rules a text breaks, wherever they hold, as this node knows them: at most
// MaxFound, as a person reads them.
func (s *Service) Test(text string) (rules []im.FilterRule) {
	broken := s.BreaksText(text)
	for _, r := range broken[:min(len(broken), MaxFound)] {
		rules = append(rules, *r)
	}
	return rules
}

// Judge decides about what breaks rules, in a conversation of its author's: filtered, or the
// rule by which it is to be reported, or nothing.
func (s *Service) Judge(ctx context.Context, from im.UserID, c im.ConversationID, broken []*im.FilterRule) (report *im.FilterRule, err error) {
	if _, saved := c.SavedBy(); saved {
		return nil, nil
	}
	who := asked{s: s, from: from, to: c}
	for _, r := range broken {
		if r.Action == im.FilterReport && report != nil {
			continue
		}
		holds, err := who.held(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("whether a rule of the filter holds: %w", err)
		}
		switch {
		case !holds:
		case r.Action == im.FilterRefuse:
			return nil, im.ErrFiltered
		default:
			report = r
		}
	}
	return report, nil
}

// Named decides about what somebody or something is to be called, or a text that is no
// message: filtered by a rule that refuses. group: in a group.
func (s *Service) Named(ctx context.Context, from im.UserID, group bool, text string) error {
	broken := s.BreaksText(text)
	who := asked{s: s, from: from}
	for _, r := range broken {
		if r.Action != im.FilterRefuse || r.Scope == im.FilterStrangers || r.Scope == im.FilterGroups && !group {
			continue
		}
		exempt, err := who.exempt(ctx, r)
		if err != nil {
			return err
		}
		if !exempt {
			return im.ErrFiltered
		}
	}
	return nil
}

// asked is what was asked about an author, each once.
type asked struct {
	s               *Service
	from            im.UserID
	to              im.ConversationID
	role            im.ServerRole
	contact         bool
	knowsRole, knew bool
}

// held tells whether an author is held to a rule in a conversation.
func (a *asked) held(ctx context.Context, r *im.FilterRule) (bool, error) {
	switch {
	case r.Scope == im.FilterGroups && a.to.Kind() != im.KindGroup:
		return false, nil
	case r.Scope == im.FilterStrangers:
		peer, ok := a.to.Peer(a.from)
		if !ok {
			return false, nil
		}
		if !a.knew {
			var err error
			if a.contact, err = a.s.o.Contact(ctx, a.from, peer); err != nil {
				return false, err
			}
			a.knew = true
		}
		if a.contact {
			return false, nil
		}
	}
	exempt, err := a.exempt(ctx, r)
	return !exempt, err
}

func (a *asked) exempt(ctx context.Context, r *im.FilterRule) (bool, error) {
	if r.Exempt == im.ServerUser {
		return false, nil
	}
	if !a.knowsRole {
		var err error
		if a.role, err = a.s.o.Role(ctx, a.from); err != nil {
			return false, err
		}
		a.knowsRole = true
	}
	return a.role >= r.Exempt, nil
}
