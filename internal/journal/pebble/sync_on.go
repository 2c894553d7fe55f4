//go:build !skein_nosync

package pebble

// noSync is false: commits wait for fsync.
const noSync = false
