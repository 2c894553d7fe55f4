//go:build !linux

package bench

import (
	"context"
	"errors"
)

// RunFloor needs epoll.
func RunFloor(context.Context, string, string, string) error {
	return errors.New("the floor is a loop over epoll, which only Linux has")
}
