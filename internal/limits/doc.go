// Package limits is what both doors of a process, connections and HTTP, hold
// clients to together: how often a device may ask for what (Devices), and how many
// may log in at a time (Logins).
//
// It owns the buckets and the lines. It must not know frames, methods or stores:
// the doors say which class a request is of.
//
// Goroutines: none; Devices has a timer while it remembers devices that nobody is
// connected with. Locks: Devices.mu is never held together with an Allowance's mu;
// nothing is called under either.
//
// Invariants:
//   - a device has one bucket of each class, whichever door it comes through and
//     however often it connects;
//   - who waits as told after a refusal is let in then, unless others of the same
//     device take what was meant for it without waiting as told;
//   - what is remembered is bounded, and forgotten when it is as good as new.
package limits
