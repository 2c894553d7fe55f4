package capacity

import (
	"math"
	"strings"
	"testing"
)

func machine() Machine {
	return Machine{MemoryGB: 8, Mbps: 1000, Cores: 4, MessageBytes: 200, SecondsPerMessage: 60, Recipients: 1}
}

func TestCompute(t *testing.T) {
	e, err := Compute(machine())
	if err != nil {
		t.Fatal(err)
	}
	if want := math.Floor((8*(1<<30) - ServerRSS) / float64(ConnectionRSS+ConnectionKernel)); e.Connections != want {
		t.Errorf("%v connections, want %v", e.Connections, want)
	}
	if want := 4e6 / float64(CPUMicros); e.ByCPU != want || e.Messages != math.Floor(want) || e.Limit != "memory" || e.ActiveUsers != e.Connections {
		t.Errorf("%+v", e)
	}
	m := machine()
	m.SecondsPerMessage = 1
	if e, _ = Compute(m); e.Limit != "cpu" || e.ActiveUsers != e.Messages {
		t.Errorf("a busy service: %+v", e)
	}
	m.Mbps = 10
	if e, _ = Compute(m); e.Limit != "network" || e.Messages != math.Floor(10e6/8/e.WireBytes) {
		t.Errorf("a slow network: %+v", e)
	}
	small := e.WireBytes
	m.Recipients = 100
	if e, _ = Compute(m); e.WireBytes < 50*small {
		t.Errorf("a group of 100 takes %v bytes, one recipient %v", e.WireBytes, small)
	}
	m = machine()
	m.ConnectionBytes, m.CPUMicros = 1<<20, 1000
	if e, _ = Compute(m); e.Connections != 7936 || e.ByCPU != 4000 {
		t.Errorf("own figures: %+v", e)
	}
	m.MemoryGB = 0.01
	if e, err = Compute(m); err != nil || e.Connections != 0 || e.ActiveUsers != 0 || e.Limit != "memory" {
		t.Errorf("less memory than the server needs: %+v %v", e, err)
	}
}

func TestBadInput(t *testing.T) {
	for name, change := range map[string]func(*Machine){
		"memory-gb":           func(m *Machine) { m.MemoryGB = 0 },
		"mbps":                func(m *Machine) { m.Mbps = -1 },
		"cores":               func(m *Machine) { m.Cores = math.NaN() },
		"message-bytes":       func(m *Machine) { m.MessageBytes = math.Inf(1) },
		"seconds-per-message": func(m *Machine) { m.SecondsPerMessage = 0 },
		"recipients":          func(m *Machine) { m.Recipients = 0 },
		"connection-bytes":    func(m *Machine) { m.ConnectionBytes = -5 },
		"cpu-us":              func(m *Machine) { m.CPUMicros = -5 },
	} {
		m := machine()
		change(&m)
		if _, err := Compute(m); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
