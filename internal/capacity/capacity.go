// Package capacity estimates what a machine carries: connections by memory,
// messages by bandwidth and by CPU, and the active users that follow, after
// GlideIM's formulas, fed with Skein's own measured costs.
//
// It is arithmetic: no state, no I/O.
package capacity

import (
	"errors"
	"fmt"
	"math"
)

// What Skein was measured to cost (docs/performance.md has the commands and
// the machine). One place, so that a new measurement changes one place.
const (
	// ConnectionRSS is the memory of an idle connection in the server, and
	// ConnectionKernel in the kernel, in bytes: `skein bench idle`.
	ConnectionRSS    = 6 << 10
	ConnectionKernel = 5 << 10
	// ServerRSS is the server's memory before anybody connects: the journal's tables
	// and cache among it.
	ServerRSS = 256 << 20
	// CPUMicros is the server's CPU time of a one-to-one message at full load, in
	// microseconds, and CPUMicrosLight the same at a tenth of it, where nearly every
	// message has its own writes and commits: `skein bench chat`.
	CPUMicros      = 30
	CPUMicrosLight = 70
	// FrameOverhead is what a message's text is wrapped in when it is sent, and again
	// when it is pushed; AnswerBytes are its ack, its received mark and its receipt:
	// protobuf over WebSocket, with TCP's and IP's headers, one packet for each write.
	FrameOverhead = 130
	AnswerBytes   = 330
)

// Machine is what there is, and how it is used.
type Machine struct {
	MemoryGB float64 `json:"memory_gb"`
	Mbps     float64 `json:"mbps"` // of the network, each way
	Cores    float64 `json:"cores"`
	// MessageBytes is the text of a message, SecondsPerMessage how often an active
	// user writes one, Recipients how many connections get it.
	MessageBytes      float64 `json:"message_bytes"`
	SecondsPerMessage float64 `json:"seconds_per_message"`
	Recipients        float64 `json:"recipients"`
	// ConnectionBytes and CPUMicros replace what was measured; 0: as measured.
	ConnectionBytes float64 `json:"connection_bytes"`
	CPUMicros       float64 `json:"cpu_us_per_message"`
}

// Estimate is what the machine carries.
type Estimate struct {
	Machine Machine `json:"machine"`
	// Connections that fit into the memory.
	Connections float64 `json:"connections"`
	// WireBytes are what one message takes of the busier direction of the network.
	WireBytes float64 `json:"wire_bytes_per_message"`
	// Messages per second by network and by CPU; the smaller is the throughput.
	ByNetwork float64 `json:"messages_per_s_by_network"`
	ByCPU     float64 `json:"messages_per_s_by_cpu"`
	Messages  float64 `json:"messages_per_s"`
	// ActiveUsers write all the time at the given pace: throughput × seconds per
	// message, and no more than there are connections.
	ActiveUsers float64 `json:"active_users"`
	// Limit is what runs out first: memory, network or cpu.
	Limit string `json:"limited_by"`
}

// Validate tells what is wrong with the input.
func (m *Machine) Validate() error {
	var errs []error
	for _, x := range []struct {
		name  string
		value float64
		zero  bool
	}{
		{"memory-gb", m.MemoryGB, false}, {"mbps", m.Mbps, false}, {"cores", m.Cores, false},
		{"message-bytes", m.MessageBytes, false}, {"seconds-per-message", m.SecondsPerMessage, false}, {"recipients", m.Recipients, false},
		{"connection-bytes", m.ConnectionBytes, true}, {"cpu-us", m.CPUMicros, true},
	} {
		switch {
		case math.IsNaN(x.value) || math.IsInf(x.value, 0):
			errs = append(errs, fmt.Errorf("%s: want a number", x.name))
		case x.value < 0 || x.value == 0 && !x.zero:
			errs = append(errs, fmt.Errorf("%s: want more than 0, not %g", x.name, x.value))
		}
	}
	return errors.Join(errs...)
}

// Compute estimates what the machine carries.
func Compute(m Machine) (*Estimate, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if m.ConnectionBytes == 0 {
		m.ConnectionBytes = ConnectionRSS + ConnectionKernel
	}
	e := &Estimate{Machine: m}
	memory := m.MemoryGB*(1<<30) - ServerRSS
	e.Connections = math.Floor(max(memory, 0) / m.ConnectionBytes)
	// In: the message, and its recipients' marks. Out: its ack and receipts, and the
	// message again for each recipient. Out is the busier direction.
	answers := float64(AnswerBytes) / 3
	e.WireBytes = 2*answers + m.Recipients*(m.MessageBytes+FrameOverhead)
	e.ByNetwork = m.Mbps * 1e6 / 8 / e.WireBytes
	cpu := m.CPUMicros
	if cpu == 0 {
		// The measured cost is that of one recipient: about half of it is its push.
		cpu = CPUMicros/2 + m.Recipients*CPUMicros/2
	}
	e.Machine.CPUMicros = cpu
	e.ByCPU = m.Cores * 1e6 / cpu
	e.Messages = math.Floor(min(e.ByNetwork, e.ByCPU))
	e.ActiveUsers = math.Floor(e.Messages * m.SecondsPerMessage)
	switch {
	case e.ActiveUsers > e.Connections:
		e.ActiveUsers, e.Limit = e.Connections, "memory"
	case e.ByNetwork < e.ByCPU:
		e.Limit = "network"
	default:
		e.Limit = "cpu"
	}
	return e, nil
}
