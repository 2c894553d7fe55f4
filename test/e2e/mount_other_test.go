//go:build !linux

package e2e

import (
	"errors"
	"testing"
)

func mountSmall(*testing.T, string, int) error { return errors.ErrUnsupported }

func freeBytes(*testing.T, string) int { return 0 }
