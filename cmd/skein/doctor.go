package main

type doctorCmd struct{}

func (doctorCmd) Run() error { return nil }
