package main

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// How many users a machine can serve: the arithmetic, and the measured constants
// behind it, all in one place (measuredCosts). Nothing is measured here.
//
// Estimates are for messages between two users, with everything on as shipped
// (fsync, de-duplication, receipts); no input makes a result that is not a finite
// number; what limits is always named.

// unitCosts are what one connection and one message take.
type unitCosts struct {
	// ServerBytes is what a server takes before anybody connects: caches, tables
	// in memory, the runtime.
	ServerBytes float64 `json:"server_bytes"`
	// ConnectionBytes is memory per connection: the server's and the kernel's.
	ConnectionBytes float64 `json:"connection_bytes"`
	// FrameBytes is what five frames have of their own when a message goes from one
	// user to another: send, ack, push, received and receipt, without the content.
	FrameBytes float64 `json:"frame_bytes"`
	// PacketBytes is what carrying a frame takes: WebSocket, TCP and IP headers,
	// and the segment that acknowledges it.
	PacketBytes float64 `json:"packet_bytes"`
	// CPUMicros is the server's CPU time per message.
	CPUMicros float64 `json:"cpu_us"`
}

// framesPerMessage is how many frames a message makes: send, ack, push, received, receipt.
const framesPerMessage = 5

// measuredCosts returns the costs measured on a virtual machine with 2 cores. Measure
// again on yours:
//
//	skein-lab bench idle    ConnectionBytes: RSS plus kernel per connection
//	skein-lab bench chat    CPUMicros: cpu_us_per_message at saturation
//
// The sizes of frames follow from the protocol; a test holds them against it.
func measuredCosts() unitCosts {
	return unitCosts{
		ServerBytes:     256 << 20,
		ConnectionBytes: 4_700 + 4_700,
		FrameBytes:      315,
		PacketBytes:     6 + 52 + 52,
		CPUMicros:       35,
	}
}

// machine is what there is.
type machine struct {
	MemoryGB float64 `json:"memory_gb"` // 10^9 bytes
	Mbps     float64 `json:"mbps"`      // 10^6 bits per second, both directions together
	Cores    float64 `json:"cores"`
}

// load is what users do.
type load struct {
	MessageBytes      float64 `json:"message_bytes"`
	SecondsPerMessage float64 `json:"seconds_per_message"` // between two messages of an active user
}

// limit is what an estimate ends at.
type limit string

// The limits.
const (
	byMemory    limit = "memory"
	byBandwidth limit = "bandwidth"
	byCPU       limit = "cpu"
)

// estimate is what the machine can do.
type estimate struct {
	Machine machine   `json:"machine"`
	Load    load      `json:"load"`
	Costs   unitCosts `json:"costs"`
	// maxConnections is memory / bytes per connection.
	MaxConnections float64 `json:"max_connections"`
	// wireBytes is one message with all it causes.
	WireBytes float64 `json:"wire_bytes_per_message"`
	// BandwidthPerS is bandwidth / wire bytes per message, CPUPerS cores / CPU time
	// per message; MessagesPerS is the lesser.
	BandwidthPerS float64 `json:"bandwidth_messages_per_s"`
	CPUPerS       float64 `json:"cpu_messages_per_s"`
	MessagesPerS  float64 `json:"messages_per_s"`
	// activeUsers is messages per second × seconds per message, but no more than
	// can be connected.
	ActiveUsers float64 `json:"active_users"`
	LimitedBy   limit   `json:"limited_by"`
}

// maxInput keeps every product of inputs a number that can be printed.
const maxInput = 1e12

func checkInput(name string, v float64) error {
	switch {
	case math.IsNaN(v):
		return fmt.Errorf("%s: not a number", name)
	case v <= 0:
		return fmt.Errorf("%s: %v, want more than 0", name, v)
	case v > maxInput:
		return fmt.Errorf("%s: %v, want %v at most", name, v, maxInput)
	}
	return nil
}

// estimateOf estimates what a machine can do under a load. Names in errors are those of
// the flags of `skein capacity`.
func estimateOf(m machine, l load, c unitCosts) (estimate, error) {
	err := errors.Join(
		checkInput("memory-gb", m.MemoryGB), checkInput("mbps", m.Mbps), checkInput("cores", m.Cores),
		checkInput("message-bytes", l.MessageBytes), checkInput("seconds-per-message", l.SecondsPerMessage),
		checkInput("connection-bytes", c.ConnectionBytes), checkInput("cpu-us", c.CPUMicros),
		checkInput("frame bytes", c.FrameBytes), checkInput("packet bytes", c.PacketBytes), checkInput("server bytes", c.ServerBytes),
	)
	if err != nil {
		return estimate{}, err
	}
	if m.MemoryGB*1e9 < c.ServerBytes+c.ConnectionBytes {
		return estimate{}, fmt.Errorf("memory-gb: %v, want more than the %.2f the server takes by itself", m.MemoryGB, c.ServerBytes/1e9)
	}
	e := estimate{Machine: m, Load: l, Costs: c}
	e.MaxConnections = math.Floor(maxConnections(m.MemoryGB*1e9-c.ServerBytes, c.ConnectionBytes))
	e.WireBytes = wireBytes(l.MessageBytes, c)
	e.BandwidthPerS = throughput(m.Mbps*1e6/8, e.WireBytes)
	e.CPUPerS = throughput(m.Cores*1e6, c.CPUMicros)
	e.MessagesPerS, e.LimitedBy = e.BandwidthPerS, byBandwidth
	if e.CPUPerS < e.MessagesPerS {
		e.MessagesPerS, e.LimitedBy = e.CPUPerS, byCPU
	}
	e.ActiveUsers = math.Floor(activeUsers(e.MessagesPerS, l.SecondsPerMessage))
	if e.ActiveUsers > e.MaxConnections {
		e.ActiveUsers, e.LimitedBy = e.MaxConnections, byMemory
	}
	return e, nil
}

// maxConnections is how many connections memory is enough for.
func maxConnections(memoryBytes, connectionBytes float64) float64 {
	return memoryBytes / connectionBytes
}

// wireBytes is what a message and all it causes put on the wire: its content
// goes in once and out once.
func wireBytes(messageBytes float64, c unitCosts) float64 {
	return 2*messageBytes + c.FrameBytes + framesPerMessage*c.PacketBytes
}

// throughput is how many messages a second a resource is enough for.
func throughput(perSecond, perMessage float64) float64 { return perSecond / perMessage }

// activeUsers is how many users send that much, each one message in so many
// seconds.
func activeUsers(messagesPerS, secondsPerMessage float64) float64 {
	return messagesPerS * secondsPerMessage
}

// table writes the estimate for people.
func (e *estimate) table(w io.Writer) error {
	line := func(name string, v float64, unit string, from string, args ...any) string {
		return fmt.Sprintf("  %-18s %12.0f %-12s %s\n", name, v, unit, fmt.Sprintf(from, args...))
	}
	_, err := fmt.Fprintf(w, "%g GB of memory, %g Mbit/s, %g cores; messages of %g bytes, one per active user every %g s\n%s%s%s%s%slimited by %s\n",
		e.Machine.MemoryGB, e.Machine.Mbps, e.Machine.Cores, e.Load.MessageBytes, e.Load.SecondsPerMessage,
		line("max connections", e.MaxConnections, "", "(memory − %.0f MB) / %.0f bytes", e.Costs.ServerBytes/1e6, e.Costs.ConnectionBytes),
		line("bandwidth", e.BandwidthPerS, "messages/s", "%.0f bytes each, with ack, push, receipt and headers", e.WireBytes),
		line("CPU", e.CPUPerS, "messages/s", "%g µs each", e.Costs.CPUMicros),
		line("throughput", e.MessagesPerS, "messages/s", "the lesser"),
		line("active users", e.ActiveUsers, "", "throughput × %g s, as far as they can be connected", e.Load.SecondsPerMessage),
		e.LimitedBy)
	return err
}
