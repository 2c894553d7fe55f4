package nats

// Password is for tests that look for it where it must not be.
var Password = password
