//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "newcomer: it makes a Debian, which only a Linux can")
	os.Exit(1)
}
