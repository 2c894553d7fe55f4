package bench

import (
	"fmt"
	"io"
	"runtime"
	"time"
)

// Options are what a scenario is asked for. Each uses its part.
type Options struct {
	Scenario    string        `json:"scenario"`
	Preset      string        `json:"preset,omitempty"`
	Connections int           `json:"connections"`
	Transport   string        `json:"transport"` // ws or tcp
	Codec       string        `json:"codec"`     // pb or json
	Duration    time.Duration `json:"duration_ns,omitempty"`
	Warmup      time.Duration `json:"warmup_ns,omitempty"`
	// Rate is messages per second in all; 0: a closed loop with Window unanswered
	// messages per connection, or Gap.
	Rate   float64 `json:"rate,omitempty"`
	Window int     `json:"window,omitempty"`
	// Steps are rates at which chat is measured before, in the same run, each for half
	// of Duration.
	Steps []float64 `json:"steps,omitempty"`
	// Gap is the time between two messages of a connection, drawn evenly.
	GapMin time.Duration `json:"gap_min_ns,omitempty"`
	GapMax time.Duration `json:"gap_max_ns,omitempty"`
	// OpenWindow is how many unanswered messages a connection of an open loop may
	// have; its further ones wait, and their waiting counts. 0: 200.
	OpenWindow int `json:"open_window,omitempty"`
	// Messages per connection end the run; 0: Duration does.
	Messages int `json:"messages,omitempty"`
	// Payload is the bytes of a message's text, at least 16.
	Payload int `json:"payload,omitempty"`
	// Corpus has texts like people's instead, in English and Chinese.
	Corpus bool `json:"corpus,omitempty"`

	// Groups of GroupSize members, GroupOnline of them connected, get GroupShare of
	// the messages; the others go to friends.
	Groups      int     `json:"groups,omitempty"`
	GroupSize   int     `json:"group_size,omitempty"`
	GroupOnline int     `json:"group_online,omitempty"`
	GroupShare  float64 `json:"group_share,omitempty"`
	// StormRate is entries per second of the storm in a group, Reactions the share of
	// them that are reactions.
	StormRate float64 `json:"storm_rate,omitempty"`
	Reactions float64 `json:"reactions,omitempty"`
	// CrowdNice has the storm's group in load processes of their own, which give way to
	// all others by so much (nice, 1 to 19): as if those clients were on another machine.
	CrowdNice int `json:"crowd_nice,omitempty"`
	// Friends is how many others a user writes to: 1, 3, 7 or 15.
	Friends int `json:"friends,omitempty"`
	// Sampled is how many users' latencies count; 0: all.
	Sampled int `json:"sampled,omitempty"`

	// Rounds of a broadcast, each given up after RoundTime, default 30 s.
	Rounds    int           `json:"rounds,omitempty"`
	RoundTime time.Duration `json:"round_time_ns,omitempty"`
	// Conversations of each user, Changed of them while it was away (resume).
	Conversations int `json:"conversations,omitempty"`
	Changed       int `json:"changed,omitempty"`

	// Tokens is a file of users and their tokens, written if it is not there.
	Tokens string `json:"-"`
	// Workers is how many load generating processes run; 0: as many as file
	// descriptors and ports require.
	Workers int `json:"workers,omitempty"`
	// Floor also runs the bare server under the same load.
	Floor bool `json:"floor,omitempty"`
	// Lab is the program that has RunWorker and RunFloor as its commands `bench
	// worker` and `bench floor-server`; it runs as a process for each.
	Lab      string    `json:"-"`
	Progress io.Writer `json:"-"`
	// Log gets the stderr of started processes.
	Log io.Writer `json:"-"`
}

func (o *Options) progress(format string, args ...any) {
	if o.Progress != nil {
		fmt.Fprintf(o.Progress, format+"\n", args...)
	}
}

// Report is what a scenario found, one object. Times are in milliseconds where
// the name says so.
type Report struct {
	Scenario    string  `json:"scenario"`
	Preset      string  `json:"preset"`
	Version     string  `json:"version"` // of the load generator
	Settings    Options `json:"settings"`
	Connections int     `json:"connections"`

	Sent      uint64 `json:"sent"`
	Acked     uint64 `json:"acked"`
	Delivered uint64 `json:"delivered"`
	Lost      uint64 `json:"lost"`
	// Late came when the members compared heads with the server, up to a minute after
	// the last message, not by themselves.
	Late       uint64 `json:"late,omitempty"`
	Duplicated uint64 `json:"duplicated"`
	Disordered uint64 `json:"disordered"`
	// Rejected were refused with a retryable code before an ack; Unanswered had no
	// answer when the run ended.
	Rejected   uint64 `json:"rejected"`
	Unanswered uint64 `json:"unanswered"`
	// RefusedForNow are the marks and pulls that were refused with a retryable code: a
	// later mark says what they did, a pull is repeated.
	RefusedForNow uint64 `json:"refused_for_now,omitempty"`
	// Pulled of the delivered came by a pull, after a gap or a beacon, not by a push;
	// Overtaken of these were pushed afterwards all the same, which a client ignores
	// (SPEC §6.1) and which costs traffic only.
	Pulled    uint64 `json:"pulled"`
	Overtaken uint64 `json:"overtaken"`

	Seconds    float64 `json:"seconds"`
	AckedPerS  float64 `json:"acked_per_s"`
	FramesPerS float64 `json:"frames_per_s"`
	Ack        Latency `json:"ack_ms"`
	Delivery   Latency `json:"delivery_ms"`
	// LastMember is, for each round of a broadcast, when its last member had it.
	LastMember []float64 `json:"last_member_ms,omitempty"`
	// AddMembersMS is how long adding all members to the (last) group took.
	AddMembersMS float64 `json:"add_members_ms,omitempty"`
	// Resume is what the storm of reconnects found.
	Resume *ResumeReport `json:"resume,omitempty"`

	Groups   *GroupReport    `json:"groups,omitempty"`
	Overload *OverloadReport `json:"overload,omitempty"`
	Backup   *BackupReport   `json:"backup,omitempty"`
	Stall    *StallReport    `json:"stall,omitempty"`
	Storm    *StormReport    `json:"storm,omitempty"`
	Roster   *RosterReport   `json:"roster,omitempty"`
	Amend    *AmendReport    `json:"amend,omitempty"`
	Search   *SearchReport   `json:"search,omitempty"`
	Media    *MediaReport    `json:"media,omitempty"`
	Export   *ExportReport   `json:"export,omitempty"`
	Erase    *EraseReport    `json:"erase,omitempty"`

	Retention *RetentionReport `json:"retention,omitempty"`

	Server ServerReport `json:"server"`
	// ClientCPU is the load generator's µs of CPU per message: it shares the cores.
	ClientCPU      float64 `json:"client_cpu_us_per_message"`
	ClientSwitches float64 `json:"client_context_switches_per_message"`
	// Steps are the paces of Settings.Steps and then the report's own, with what each
	// costs.
	Steps []Step `json:"steps,omitempty"`
	// Login is what it took to log everybody in, with an empty list of conversations
	// or nearly so.
	Login *LoginReport `json:"login,omitempty"`
	// Silence is what clients cost that only keep alive.
	Silence *SilenceReport `json:"silence,omitempty"`
	// Bound tells what kept the rate down if it was not the server's speed.
	Bound string `json:"bound,omitempty"`
	// FloorRatio compares with the floor in the same run: rate ÷ the floor's rate,
	// or for a broadcast the median time to the last member ÷ the floor's.
	FloorRatio float64 `json:"floor_ratio"`
	// FloorCPU is CPU per message ÷ the floor's: others on the machine disturb it less.
	FloorCPU float64 `json:"floor_cpu_ratio,omitempty"`
	Floor    *Report `json:"floor,omitempty"`
	// HalfRate is the same at half the rate that was reached.
	HalfRate *Report `json:"half_rate,omitempty"`
	Machine  Machine `json:"machine"`
}

// ServerReport is the measured process.
type ServerReport struct {
	// Version is what the program says of itself, "" of a server that ran already.
	Version                  string  `json:"version,omitempty"`
	CPUMicrosPerMessage      float64 `json:"cpu_us_per_message"`
	CPUPercent               float64 `json:"cpu_percent"`
	RSSBytes                 int64   `json:"rss_bytes"`
	RSSPerConnection         int64   `json:"rss_per_connection"`
	KernelBytesPerConnection int64   `json:"kernel_bytes_per_connection"`
	// Writes to sockets per message.
	Writes float64 `json:"writes_per_message"`
	// Allocs and AllocBytes per message, of the whole process.
	Allocs     float64 `json:"allocs_per_message"`
	AllocBytes float64 `json:"alloc_bytes_per_message"`
	// Fsyncs are those of commits, WitnessFsyncs those of the file that remembers how
	// far the journal reached.
	Fsyncs        uint64 `json:"fsyncs"`
	WitnessFsyncs uint64 `json:"witness_fsyncs"`
	Commits       uint64 `json:"commits"`
	// Switches are context switches per message.
	Switches float64 `json:"context_switches_per_message"`
	// Database is what the PostgreSQL server did per message, nil without one.
	Database *DatabaseCost `json:"database_per_message,omitempty"`
}

// LoginReport is the logins of a scenario's users, some at a time.
type LoginReport struct {
	Seconds float64 `json:"seconds"`
	Cost    Cost    `json:"server_per_login"`
}

// SilenceReport is a silent client for half a minute, the time after which one
// pings. What the server did before anybody was connected is taken off.
type SilenceReport struct {
	Server Cost `json:"server_per_client"`
	// Pings it sent, with a digest, and Resyncs it was told.
	Pings   float64 `json:"pings"`
	Resyncs float64 `json:"resyncs"`
	// Nobody is what the server and its database did in half a minute without clients.
	Nobody Cost `json:"nobody"`
}

// Machine is what the figures were measured on.
type Machine struct {
	Cores       int     `json:"cores"`
	FsyncMicros float64 `json:"fsync_us"`
}

// ResumeReport is the storm of reconnects.
type ResumeReport struct {
	// InSync is from the first dial to the last client that had all it missed.
	InSyncSeconds float64 `json:"all_in_sync_s"`
	// PerClient is from a client's own dial, Sync from its Hello, to the same.
	PerClient Latency `json:"client_ms"`
	Sync      Latency `json:"sync_ms"`
	// Bytes of the answer to the Hello: Welcome and delta, framed.
	BytesMean  float64 `json:"bytes_mean"`
	BytesMax   uint64  `json:"bytes_max"`
	RoundTrips float64 `json:"round_trips"`
	// Missing are messages that a client did not have when it was in sync.
	Missing     uint64  `json:"missing"`
	ServerCPUus float64 `json:"server_cpu_us_per_client"`
}

// OverloadReport is what twice the load that saturates did. The report's own
// figures are those of that time.
type OverloadReport struct {
	PeakPerS    float64 `json:"peak_per_s"`
	OfferedPerS float64 `json:"offered_per_s"`
	GoodputPerS float64 `json:"goodput_per_s"`
	// OfPeak is goodput ÷ peak.
	OfPeak float64 `json:"of_peak"`
	// Before and After are the acks at half of the peak.
	Before Latency `json:"half_before_ms"`
	After  Latency `json:"half_after_ms"`
	// Recovery is how long after the end of the overload the median ack was back
	// at twice what it was before; -1: not within 30 s.
	Recovery float64 `json:"recovery_s"`
}

// StallReport is what the acks of direct chats take while others give the server trouble.
type StallReport struct {
	// Alone are the acks without any.
	Alone  Latency   `json:"alone_ack_ms"`
	Beside []Trouble `json:"beside"`
}

// Trouble is one of them: how often it happened, and the acks meanwhile, also as parts
// of those without.
type Trouble struct {
	Name     string  `json:"name"`
	Times    uint64  `json:"times"`
	Ack      Latency `json:"ack_ms"`
	P50Ratio float64 `json:"p50_ratio"`
	P99Ratio float64 `json:"p99_ratio"`
}

// GroupReport is what groups and direct chats do to each other.
type GroupReport struct {
	// Direct are the acks of direct chats.
	Direct Latency `json:"direct_ack_ms"`
	// LastMember is when the last connected member had a group's message; with
	// several load processes the last one of each counts.
	LastMember Latency `json:"last_member_ms"`
}

// quiet tells that nobody sends by itself.
func (o *Options) quiet() bool {
	return o.Scenario == ScenarioBroadcast || o.Scenario == ScenarioIdle || o.Scenario == ScenarioResume || o.Scenario == ScenarioStorm
}

func newReport(o *Options) *Report {
	return &Report{Scenario: o.Scenario, Preset: o.Preset, Settings: *o, Connections: o.Connections, Machine: Machine{Cores: runtime.NumCPU()}}
}

// Failed tells what promise was broken, "" if none.
func (r *Report) Failed() string {
	for _, x := range []*Report{r, r.HalfRate} {
		if x == nil {
			continue
		}
		if x.Lost+x.Duplicated+x.Disordered > 0 {
			return fmt.Sprintf("%d messages were lost, %d duplicated, %d out of order", x.Lost, x.Duplicated, x.Disordered)
		}
		if x.Resume != nil && x.Resume.Missing > 0 {
			return fmt.Sprintf("%d messages were missing after the reconnect", x.Resume.Missing)
		}
	}
	return ""
}
