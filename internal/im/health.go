package im

import "time"

// Health is how a deployment is, as one node sees it. What it does not know is zero.
type Health struct {
	At              time.Time
	Version, Go     string
	Node            string
	Started         time.Time
	Ready           bool
	Reasons         []string
	Warnings        []string
	Nodes           []NodeHealth
	Stores          []StoreHealth
	Connections     int
	Users           int
	Stored          uint64
	StoredPerSecond float64
	// SendsWaiting for the committer, and how many may.
	SendsWaiting, SendsMost int
	Refused                 []CodeCount
	Followers               []FollowerHealth
	Push                    *PushHealth // nil: nobody is woken
	Later                   LaterHealth
	Certificates            []CertificateHealth
	Memory                  uint64
	Goroutines              int
	Files, FilesMost        int
}

// NodeHealth is what a node is heard to say of itself.
type NodeHealth struct {
	Name  string
	Roles []string
	Ready bool
	Heard time.Time
	Self  bool
}

// StoreHealth is what a store takes, and what an acknowledgement waits for.
type StoreHealth struct {
	Name, Kind  string
	Bytes, Free uint64
	Durability  string
	Trouble     string
}

// CodeCount is how often something ended in a way.
type CodeCount struct {
	Code  string
	Count uint64
}

// FollowerHealth is how far a follower of the journal is.
type FollowerHealth struct {
	Name     string
	Behind   uint64
	Lag      time.Duration
	SetAside uint64
	Here     bool
}

// PushHealth is what waits to be pushed.
type PushHealth struct {
	Subscriptions    uint64
	Waiting, Failing uint64
	Oldest           time.Duration
	Results          []CodeCount
}

// LaterHealth is what is to be done at a time.
type LaterHealth struct {
	Scheduled, Due    uint64
	Timers, TimersDue uint64
	Erasures          uint64
	Promises          uint64
}

// CertificateHealth is until when a certificate holds.
type CertificateHealth struct {
	Names    []string
	NotAfter time.Time
	Source   string
	Trouble  string
}

// Queues is what waits in the directory, and for how long.
type Queues struct {
	Subscriptions, PushWaiting, PushFailing uint64
	PushOldest                              time.Duration
	Later                                   LaterHealth
	// Followers are those that are noted there, with what they passed over.
	Followers []FollowerNote
}

// FollowerNote is where a follower was when it last noted it.
type FollowerNote struct {
	Name     string
	Shard    int
	Place    Place
	Updated  time.Time
	SetAside uint64
}
