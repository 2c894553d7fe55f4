package im

import "time"

// FilterRule is a word or a link that the deployment does not allow, or has reported.
type FilterRule struct {
	ID      string       `json:"id"`
	Kind    FilterKind   `json:"kind"`
	Pattern string       `json:"pattern"`
	Part    bool         `json:"part,omitempty"` // also inside longer words
	Action  FilterAction `json:"action"`
	Scope   FilterScope  `json:"scope,omitempty"`
	// Exempt: who has this role or a greater one is not held to it; 0: everybody is.
	Exempt  ServerRole `json:"exempt,omitempty"`
	Note    string     `json:"note,omitempty"`
	Created time.Time  `json:"created"`
	By      UserID     `json:"by,omitempty"` // "": the admin key
}

// Same tells whether two rules forbid the same.
func (r *FilterRule) Same(o *FilterRule) bool {
	return r.Kind == o.Kind && r.Pattern == o.Pattern && r.Part == o.Part && r.Action == o.Action && r.Scope == o.Scope && r.Exempt == o.Exempt
}

// FilterKind is what a rule looks for. The numbers are the contract's.
type FilterKind uint8

// The kinds.
const (
	FilterWord FilterKind = 1
	FilterLink FilterKind = 2
)

// FilterAction is what becomes of what breaks a rule. The numbers are the contract's.
type FilterAction uint8

// The actions.
const (
	FilterRefuse FilterAction = 1
	FilterReport FilterAction = 2
)

// FilterScope is where a rule holds. The numbers are the contract's.
type FilterScope uint8

// The scopes. The zero one is everywhere.
const (
	FilterEverywhere FilterScope = iota
	FilterGroups
	FilterStrangers
)

// Bounds of the rules.
const (
	MaxFilterRules   = 1000
	MaxFilterPattern = 100 // characters of a word or phrase
	MaxFilterHost    = 253 // bytes of a host
	MaxFilterNote    = 200
	// MaxFilterBytes is of all patterns together, in the form in which they are compared:
	// what is looked up for each message is in memory, and grows with it.
	MaxFilterBytes = 32 << 10
)

// ErrFiltered is what an author is told, whatever it was.
var ErrFiltered error = Errorf(CodeFiltered, "this is not allowed here")
