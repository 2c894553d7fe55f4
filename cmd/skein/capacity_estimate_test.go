package main

import (
	"math"
	"strings"
	"testing"

	"github.com/skein-im/skein/wire"
)

func smallMachine() (machine, load, unitCosts) {
	return machine{MemoryGB: 4, Mbps: 100, Cores: 2}, load{MessageBytes: 100, SecondsPerMessage: 30},
		unitCosts{ServerBytes: 4e8, ConnectionBytes: 18_000, FrameBytes: 300, PacketBytes: 100, CPUMicros: 40}
}

// TestCapacityFormulas: the numbers can be checked by hand.
func TestCapacityFormulas(t *testing.T) {
	m, l, c := smallMachine()
	e, err := estimateOf(m, l, c)
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]float64{
		"max connections": {e.MaxConnections, 200_000}, // 3.6e9 / 18,000
		"wire bytes":      {e.WireBytes, 1000},         // 2·100 + 300 + 5·100
		"bandwidth":       {e.BandwidthPerS, 12_500},   // 12.5e6 / 1,000
		"cpu":             {e.CPUPerS, 50_000},         // 2e6 / 40
		"messages":        {e.MessagesPerS, 12_500},
		"active users":    {e.ActiveUsers, 200_000}, // 12,500 · 30 = 375,000, more than fit
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
}

// TestCapacityLimits: what there is least of is named, and more of it helps.
func TestCapacityLimits(t *testing.T) {
	for _, test := range []struct {
		change func(*machine, *load, *unitCosts)
		want   limit
		users  float64
	}{
		{func(*machine, *load, *unitCosts) {}, byMemory, 200_000},
		{func(m *machine, _ *load, _ *unitCosts) { m.MemoryGB = 40 }, byBandwidth, 375_000},
		{func(m *machine, _ *load, _ *unitCosts) { m.MemoryGB, m.Mbps = 400, 10_000 }, byCPU, 1_500_000},
		{func(_ *machine, l *load, _ *unitCosts) { l.SecondsPerMessage = 1 }, byBandwidth, 12_500},
		{func(m *machine, l *load, c *unitCosts) { l.SecondsPerMessage, c.CPUMicros = 1, 400 }, byCPU, 5_000},
	} {
		m, l, c := smallMachine()
		test.change(&m, &l, &c)
		e, err := estimateOf(m, l, c)
		if err != nil || e.LimitedBy != test.want || e.ActiveUsers != test.users {
			t.Errorf("%+v %+v: limited by %s, %v users, %v; want %s, %v", m, l, e.LimitedBy, e.ActiveUsers, err, test.want, test.users)
		}
	}
}

func TestCapacityBadInput(t *testing.T) {
	for name, set := range map[string]func(*machine, *load, *unitCosts, float64){
		"memory-gb":           func(m *machine, _ *load, _ *unitCosts, v float64) { m.MemoryGB = v },
		"mbps":                func(m *machine, _ *load, _ *unitCosts, v float64) { m.Mbps = v },
		"cores":               func(m *machine, _ *load, _ *unitCosts, v float64) { m.Cores = v },
		"message-bytes":       func(_ *machine, l *load, _ *unitCosts, v float64) { l.MessageBytes = v },
		"seconds-per-message": func(_ *machine, l *load, _ *unitCosts, v float64) { l.SecondsPerMessage = v },
		"connection-bytes":    func(_ *machine, _ *load, c *unitCosts, v float64) { c.ConnectionBytes = v },
		"cpu-us":              func(_ *machine, _ *load, c *unitCosts, v float64) { c.CPUMicros = v },
	} {
		for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
			m, l, c := smallMachine()
			set(&m, &l, &c, v)
			if _, err := estimateOf(m, l, c); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s = %v: error %v, want one that names it", name, v, err)
			}
		}
	}
	m, l, c := smallMachine()
	m.MemoryGB = 0.1
	if _, err := estimateOf(m, l, c); err == nil || !strings.Contains(err.Error(), "memory-gb") {
		t.Errorf("less memory than the server needs: %v", err)
	}
}

// TestCapacityFiniteEverywhere: the extremes of what is accepted give numbers.
func TestCapacityFiniteEverywhere(t *testing.T) {
	for _, big := range []float64{1e-9, 1, maxInput} {
		for _, small := range []float64{1e-9, 1, maxInput} {
			e, err := estimateOf(machine{maxInput, big, big}, load{small, big}, unitCosts{1, small, small, small, small})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []float64{e.MaxConnections, e.WireBytes, e.BandwidthPerS, e.CPUPerS, e.MessagesPerS, e.ActiveUsers} {
				if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					t.Fatalf("%+v", e)
				}
			}
		}
	}
}

// TestCapacityFrameBytes holds the constant against the protocol, with ids as the server
// makes them.
func TestCapacityFrameBytes(t *testing.T) {
	const a, b, conversation = "aaaaaaaaaaaaa", "bbbbbbbbbbbbb", "dm:aaaaaaaaaaaaa:bbbbbbbbbbbbb"
	const seq, now = 1000, 1_800_000_000_000
	id := make([]byte, 16)
	content := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: strings.Repeat("x", 100)}}
	total := -2 * 100
	add := func(raw []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		total += len(raw)
	}
	codec := wire.Protobuf()
	add(codec.Append(nil, wire.NewClientFrame(&wire.Send{Conversation: conversation, Id: id, Content: content})))
	add(codec.Append(nil, wire.NewServerFrame(&wire.SendAck{Conversation: conversation, Id: id, Seq: seq, StoredAtMs: now, Count: seq})))
	add(codec.Append(nil, wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{
		Conversation: conversation, Seq: seq, Id: id, Sender: a, StoredAtMs: now, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: content, Count: seq,
	}}})))
	add(codec.Append(nil, wire.NewClientFrame(&wire.Received{Conversation: conversation, Seq: seq})))
	add(codec.Append(nil, wire.NewServerFrame(&wire.Receipt{Conversation: conversation, User: b, Received: seq})))
	if got := measuredCosts().FrameBytes; math.Abs(float64(total)-got) > 0.05*got {
		t.Errorf("the frames of a message have %d bytes without its content; measuredCosts says %v", total, got)
	}
}

func TestCapacityTable(t *testing.T) {
	m, l, c := smallMachine()
	e, err := estimateOf(m, l, c)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := e.table(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"200000", "12500 messages/s", "50000 messages/s", "limited by memory"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
