package group

// Limits are those of Options which may change while the service runs.
type Limits struct {
	MaxMembers, MaxGroups, AddsPerHour, StrangersPerDay, MadePerDay int
}

// SetLimits changes the limits for what is asked from now on: groups that have more members
// keep them, and what was counted stays counted.
func (s *Service) SetLimits(l Limits) {
	s.limits.Store(&l)
	s.adds.SetMost(l.AddsPerHour)
	s.strangers.SetMost(l.StrangersPerDay)
	s.askers.SetMost(l.StrangersPerDay)
	s.made.SetMost(l.MadePerDay)
}
