//go:build !linux

package bench

import "os"

func datasync(f *os.File) error { return f.Sync() }

// processesTell: figures of the server's process are left out of the reports.
const processesTell = false
