package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The needs of cases, and the words for the configuration of a server.
const (
	// NeedPolicy: which connections of a user end each other (SPEC §3.5): class, all, one.
	NeedPolicy = "device_policy"
	// NeedUserConnections: how many connections a user may have to a node.
	NeedUserConnections = "user_connections"
	// NeedAddressConnections: how many an address may have; the server's own machine any number.
	NeedAddressConnections = "address_connections"
	// NeedSendBurst and NeedSendRate: Welcome's limits.sends.
	NeedSendBurst = "send_burst"
	NeedSendRate  = "send_rate"
	// NeedDM: who may write to a new user: contacts, everyone.
	NeedDM = "dm_policy"
	// NeedOpen: whether anyone may register.
	NeedOpen = "registration"
	// NeedStop: the server may be stopped.
	NeedStop = "stop"
	// NeedAdmin: an administrator's key is known.
	NeedAdmin = "admin"
	// NeedPasswords: it tries passwords. A server bounds how often an address may, so
	// that these cases are played one after another, and again if they were refused.
	NeedPasswords = "passwords"
)

// Needs are what a case asks of a server, or what a server is, by name.
type Needs map[string]string

// settings of `skein serve` by need; the others need none.
var settings = map[string]string{
	NeedPolicy: "accounts.device_policy", NeedUserConnections: "gateway.max_per_user", NeedAddressConnections: "gateway.max_per_address",
	NeedSendBurst: "gateway.send_burst", NeedSendRate: "gateway.send_rate", NeedDM: "accounts.dm_policy", NeedOpen: "accounts.registration",
}

// defaults hold of a server of which nothing else is known.
var defaults = Needs{NeedPolicy: "class", NeedDM: "contacts", NeedOpen: "open"}

// ParseNeeds reads a list of name=value.
func ParseNeeds(words []string) (Needs, error) {
	n := Needs{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			value = "yes"
		}
		_, configured := settings[name]
		if !configured && name != NeedStop && name != NeedPasswords && name != NeedAdmin {
			return nil, fmt.Errorf("nobody knows what %s is; there are %s", name, strings.Join(slices.Sorted(maps.Keys(settings)), ", "))
		}
		n[name] = value
	}
	return n, nil
}

// Settings are those of `skein serve` that fulfil the needs, as key=value, sorted.
// What is so by default is left out.
func (n Needs) Settings() (list []string) {
	for name, value := range n {
		if key := settings[name]; key != "" && defaults[name] != value {
			list = append(list, key+"="+value)
		}
	}
	slices.Sort(list)
	return list
}

// lacks tells which need a server of this kind does not fulfil, "" if it does.
func (n Needs) lacks(has Needs) string {
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if name == NeedPasswords {
			continue
		}
		is, known := has[name]
		if !known {
			is, known = defaults[name], defaults[name] != ""
		}
		switch {
		case is == n[name]:
		case name == NeedStop:
			return "the case stops the server"
		case name == NeedAdmin:
			return "the case needs an administrator's key"
		case known:
			return fmt.Sprintf("the case is for a server with %s=%s, this one has %s", name, n[name], is)
		default:
			return fmt.Sprintf("the case is for a server with %s=%s, of which nothing is known here", name, n[name])
		}
	}
	return ""
}
