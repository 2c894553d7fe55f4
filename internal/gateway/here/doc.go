// Package here is who is connected to this gateway: users and their sessions, the
// groups that have a member here, who watches whom, and the clock by which all of
// them are judged.
//
// It owns the registries (Users, Groups), what was last seen of a group as far as it
// takes to notice that a parcel was missed, presence with its graces, and the timer
// wheel. It must not know how somebody logs in, what is delivered or why, or how a
// roster is read: the gateway tells it who is in which group. A session is to it a
// Member: an outgoing.Queue with a user.
//
// Goroutines: none of its own. Wheel.Run is the caller's.
//
// Lock order, outer to inner:
//
//	Presence.mu → groupShard.mu → Group.mu → Loads.mu → userShard.mu → Member.links → the lock of an outgoing.Queue
//
// Wheel.mu is a leaf. Peers is called with the lock of what changed, so that others
// hear of changes in their order; it does not block.
//
// Invariants, each with a test:
//   - a group without a member here is not in the registry;
//   - a session that was forgotten joins no group any more;
//   - roster events during a reading know better than what is read (Loads);
//   - who was unwatched while Logic looked is not watched;
//   - a timer is late by two ticks at most, never early.
package here
