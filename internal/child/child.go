// Package child starts processes of tests and benchmarks that end with the
// process that started them, however it ends.
//
// Linux ties a process not to the process but to the thread that started it:
// when that thread ends, the child is sent its signal. Go ends a thread whenever
// a goroutine that is locked to it returns, and any thread may have started a
// child before it was locked. So Start uses a thread of its own, which stays
// until the child has ended.
//
// A Clock is one clock for a test and its processes, which the test moves.
package child
