//go:build !linux

package main

import "errors"

func canCutPower() error { return errors.New("power cuts need Linux: they use ext4 on a loop device") }

func newDisk(string) (fault, error) { return nil, canCutPower() }
