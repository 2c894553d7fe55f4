// Package sdkconformance plays the scenarios of sdk/conformance with a client: it is
// the server the client talks to, and tells the client's driver what the application
// does. It knows the protocol and the driver's lines (sdk/conformance/README.md), and
// nothing of any SDK.
//
// # Goroutines and locks
//
// One goroutine plays a scenario and owns all of its state. Each connection has a
// goroutine that reads frames, each driver process one that reads lines; both hand on
// what they read through one channel, so that it has an order. No locks but the one
// around the tail of what a driver says on stderr.
//
// # Invariants
//
//   - Every wait has a deadline.
//   - What the client does and the scenario does not name is a failure, but for what a
//     client may do at any time (pings, marks, presence).
//   - A scenario that the driver cannot play is reported as such; it has not passed.
//   - When Run returns, all processes and directories it made are gone, and the
//     connections end.
package sdkconformance
