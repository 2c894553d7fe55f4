//go:build !race

package filter

const raced = false
