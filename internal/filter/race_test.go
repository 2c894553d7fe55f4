//go:build race

package filter

// raced: the race detector has sync.Pool throw things away at random, so allocations are not counted.
const raced = true
