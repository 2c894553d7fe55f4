package conformance

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// look finds out, with a user of its own, whether there is a server at all, and what
// its Welcome and its accounts say of its configuration.
func (s *Server) look(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sc, err := parseScript("look", "user alice\nA login alice phone\n")
	if err != nil {
		return err
	}
	r, err := prepare(ctx, s, sc, variant{"ws", "json"}, patience/2)
	if err != nil {
		return fmt.Errorf("%s: no user can be made there: %w", s.URL, err)
	}
	defer r.close()
	if f := r.lines(sc.parts[0].lines); f != nil {
		return fmt.Errorf("%s: nobody can log in there: %s: expected %s, got %s", s.URL, f.Step, f.Expected, f.Got)
	}
	if s.Has == nil {
		s.Has = Needs{}
	}
	tell := func(name, value string) {
		if _, said := s.Has[name]; !said {
			s.Has[name] = value
		}
	}
	sends := r.welcome.GetLimits().GetSends()
	tell(NeedSendBurst, strconv.FormatUint(uint64(sends.GetBurst()), 10))
	tell(NeedSendRate, strconv.FormatFloat(sends.GetPerSecond(), 'g', -1, 64))
	var profile struct{ DmPolicy string }
	if err := s.must(ctx, "UserService/UpdateProfile", r.token("alice"), struct{}{}, &profile); err == nil && profile.DmPolicy == "DM_POLICY_EVERYONE" {
		tell(NeedDM, "everyone")
	}
	return nil
}
