//go:build !skein_next

package postgres

// next are the steps of a version after this one: none.
func next() []step { return nil }
