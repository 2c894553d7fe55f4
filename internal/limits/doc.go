// Package limits is what both doors of a process, connections and HTTP, hold
// clients to together: how often a device may ask for what, with those that belong
// together (Devices), how many may log in at a time (Logins), in which order passwords are
// checked (Turns), and how many connections of plain HTTP there are (Sockets).
//
// It owns the buckets, the lines and the table of sockets. It must not know frames, methods
// or stores: the doors say which class a request is of.
//
// Goroutines: none; Devices has a timer while it remembers devices that nobody is
// connected with. Locks: Devices.mu is never held together with a share's mu; the shares of
// an allowance are locked in the order of their levels (device, account, address, network).
// Turns.mu and Sockets.mu are held alone. Nothing is called under any of them.
//
// Invariants:
//   - a device has one bucket of each class, whichever door it comes through and
//     however often it connects, and so have its account, its address and its network;
//   - who waits as told after a refusal is let in then, unless others of the same
//     device, account, address or network take what was meant for it without waiting as told;
//   - a device is closed as one that does not listen for its own refusals alone;
//   - nobody loses a place in a queue to somebody who is trusted less;
//   - what is remembered is bounded, and forgotten when it is as good as new.
package limits
