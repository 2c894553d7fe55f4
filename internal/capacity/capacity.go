// Package capacity estimates how many users a machine can serve.
//
// It owns the arithmetic and the measured constants behind it, all in one place
// (Measured). It measures nothing itself and knows nothing of the server.
//
// Invariants: estimates are for messages between two users, with everything on
// as shipped (fsync, de-duplication, receipts); no input makes a result that is
// not a finite number; what limits is always named.
package capacity

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Costs are what one connection and one message take.
type Costs struct {
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

// Frames is how many frames a message makes: send, ack, push, received, receipt.
const Frames = 5

// Measured returns the costs measured on a virtual machine with 2 cores. Measure
// again on yours:
//
//	skein bench idle    ConnectionBytes: RSS plus kernel per connection
//	skein bench chat    CPUMicros: cpu_us_per_message at saturation
//
// The sizes of frames follow from the protocol; a test holds them against it.
func Measured() Costs {
	return Costs{
		ServerBytes:     256 << 20,
		ConnectionBytes: 4_700 + 4_700,
		FrameBytes:      315,
		PacketBytes:     6 + 52 + 52,
		CPUMicros:       35,
	}
}

// Machine is what there is.
type Machine struct {
	MemoryGB float64 `json:"memory_gb"` // 10^9 bytes
	Mbps     float64 `json:"mbps"`      // 10^6 bits per second, both directions together
	Cores    float64 `json:"cores"`
}

// Load is what users do.
type Load struct {
	MessageBytes      float64 `json:"message_bytes"`
	SecondsPerMessage float64 `json:"seconds_per_message"` // between two messages of an active user
}

// Limit is what an estimate ends at.
type Limit string

// The limits.
const (
	Memory    Limit = "memory"
	Bandwidth Limit = "bandwidth"
	CPU       Limit = "cpu"
)

// Estimate is what the machine can do.
type Estimate struct {
	Machine Machine `json:"machine"`
	Load    Load    `json:"load"`
	Costs   Costs   `json:"costs"`
	// MaxConnections is memory / bytes per connection.
	MaxConnections float64 `json:"max_connections"`
	// WireBytes is one message with all it causes.
	WireBytes float64 `json:"wire_bytes_per_message"`
	// BandwidthPerS is bandwidth / wire bytes per message, CPUPerS cores / CPU time
	// per message; MessagesPerS is the lesser.
	BandwidthPerS float64 `json:"bandwidth_messages_per_s"`
	CPUPerS       float64 `json:"cpu_messages_per_s"`
	MessagesPerS  float64 `json:"messages_per_s"`
	// ActiveUsers is messages per second × seconds per message, but no more than
	// can be connected.
	ActiveUsers float64 `json:"active_users"`
	LimitedBy   Limit   `json:"limited_by"`
}

// maxInput keeps every product of inputs a number that can be printed.
const maxInput = 1e12

func check(name string, v float64) error {
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

// Of estimates what a machine can do under a load. Names in errors are those of
// the flags of `skein capacity`.
func Of(m Machine, l Load, c Costs) (Estimate, error) {
	err := errors.Join(
		check("memory-gb", m.MemoryGB), check("mbps", m.Mbps), check("cores", m.Cores),
		check("message-bytes", l.MessageBytes), check("seconds-per-message", l.SecondsPerMessage),
		check("connection-bytes", c.ConnectionBytes), check("cpu-us", c.CPUMicros),
		check("frame bytes", c.FrameBytes), check("packet bytes", c.PacketBytes), check("server bytes", c.ServerBytes),
	)
	if err != nil {
		return Estimate{}, err
	}
	if m.MemoryGB*1e9 < c.ServerBytes+c.ConnectionBytes {
		return Estimate{}, fmt.Errorf("memory-gb: %v, want more than the %.2f the server takes by itself", m.MemoryGB, c.ServerBytes/1e9)
	}
	e := Estimate{Machine: m, Load: l, Costs: c}
	e.MaxConnections = math.Floor(MaxConnections(m.MemoryGB*1e9-c.ServerBytes, c.ConnectionBytes))
	e.WireBytes = WireBytes(l.MessageBytes, c)
	e.BandwidthPerS = Throughput(m.Mbps*1e6/8, e.WireBytes)
	e.CPUPerS = Throughput(m.Cores*1e6, c.CPUMicros)
	e.MessagesPerS, e.LimitedBy = e.BandwidthPerS, Bandwidth
	if e.CPUPerS < e.MessagesPerS {
		e.MessagesPerS, e.LimitedBy = e.CPUPerS, CPU
	}
	e.ActiveUsers = math.Floor(ActiveUsers(e.MessagesPerS, l.SecondsPerMessage))
	if e.ActiveUsers > e.MaxConnections {
		e.ActiveUsers, e.LimitedBy = e.MaxConnections, Memory
	}
	return e, nil
}

// MaxConnections is how many connections memory is enough for.
func MaxConnections(memoryBytes, connectionBytes float64) float64 {
	return memoryBytes / connectionBytes
}

// WireBytes is what a message and all it causes put on the wire: its content
// goes in once and out once.
func WireBytes(messageBytes float64, c Costs) float64 {
	return 2*messageBytes + c.FrameBytes + Frames*c.PacketBytes
}

// Throughput is how many messages a second a resource is enough for.
func Throughput(perSecond, perMessage float64) float64 { return perSecond / perMessage }

// ActiveUsers is how many users send that much, each one message in so many
// seconds.
func ActiveUsers(messagesPerS, secondsPerMessage float64) float64 {
	return messagesPerS * secondsPerMessage
}

// Table writes the estimate for people.
func (e *Estimate) Table(w io.Writer) error {
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
