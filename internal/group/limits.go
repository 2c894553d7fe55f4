package group

// Limits are those of Options which may change while the service runs.
type Limits struct {
	MaxMembers, MaxGroups, AddsPerHour, StrangersPerDay, MadePerDay int
}

// SetLimits changes the limits for what is asked from now on: groups that have more members
// keep them, and what was counted stays counted.
func (s *Service) SetLimits(l Limits) {
	s.limits.Store(&l)
	s.adds.setMost(l.AddsPerHour)
	s.strangers.setMost(l.StrangersPerDay)
	s.askers.setMost(l.StrangersPerDay)
	s.made.setMost(l.MadePerDay)
}

func (a *adds) setMost(most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.most = float64(most)
}
