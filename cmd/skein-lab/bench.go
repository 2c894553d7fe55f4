package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/bench"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/journal/postgres"
)

type benchCmd struct {
	Chat      benchChatCmd      `cmd:"" help:"One-to-one chat: at saturation, at a rate, or in GlideIM's shapes."`
	Broadcast benchBroadcastCmd `cmd:"" help:"One member of a group writes: time until the last member has it (Tailchat's test)."`
	Online    benchOnlineCmd    `cmd:"" help:"Many online, few writing, big groups (OpenIM's stress program)."`
	Idle      benchIdleCmd      `cmd:"" help:"Memory per idle connection, CPU of heartbeats."`
	Resume    benchResumeCmd    `cmd:"" help:"A storm of reconnects: bytes and time until all are in sync."`
	Bytes     benchBytesCmd     `cmd:"" help:"Bytes of a chat hour, a resume and a page of history, in each codec, plain and deflated; memory of connections with deflate."`
	Store     benchStoreCmd     `cmd:"" help:"The journal alone: appends, resends, reads, reopening."`
	Backup    benchBackupCmd    `cmd:"" help:"Backups of a server under load: time, size, what they cost others; drill, restore."`
	Storm     benchStormCmd     `cmd:"" help:"A storm of reactions and messages in a large group: frames and bytes per device, and what direct chats beside it take."`
	Group     benchGroupCmd     `cmd:"" help:"What the members of a large group cost: join, leave, kick, a page of members, finding one, mentioning all."`
	Amend     benchAmendCmd     `cmd:"" help:"Edits and reactions beside plain messages: server CPU and acks; a page of messages with 500 reactions."`
	Search    benchSearchCmd    `cmd:"" help:"Search in messages of English and Chinese: making the index, questions, how far it is behind, what messages pay for it."`
	Export    benchExportCmd    `cmd:"" help:"An export of everything of a user's, and what direct chats beside it take; memory."`
	Media     benchMediaCmd     `cmd:"" help:"Uploads: a long one, cut and resumed; many pictures at once, and what direct chats beside them take; memory."`
	Stall     benchStallCmd     `cmd:"" help:"Direct chats while strangers are refused, a large group changes, a row is locked: acks, as ratios."`
	Floor     benchFloorCmd     `cmd:"" help:"What the machine allows: the bare server under the load of chat or broadcast."`

	Compare benchCompareCmd `cmd:"" help:"Two builds of the server under the same load, in turns: CPU time and allocations per message."`

	Worker      benchWorkerCmd      `cmd:"" hidden:"" help:"A load generating child process."`
	FloorServer benchFloorServerCmd `cmd:"" hidden:"" help:"The bare server."`
}

// benchFlags are shared by the scenarios.
type benchFlags struct {
	Transport string `default:"ws" enum:"ws,tcp" help:"ws or tcp."`
	Codec     string `default:"pb" enum:"pb,json" help:"pb or json."`
	Workers   int    `help:"Load generating processes; 0: as many as file descriptors and ports require."`
	Tokens    string `help:"File of users and tokens: read, or written when it does not exist." placeholder:"FILE"`
	JSON      bool   `name:"json" help:"Print one JSON object on stdout."`

	Skein   skeinPath `help:"The server to start; default: skein beside this program, or on PATH." placeholder:"PATH"`
	Server  []string  `help:"HTTP address of a running server's gateway, instead of starting one; repeat for several." placeholder:"URL"`
	TCP     []string  `help:"With --server: TCP address of a gateway, tcp://host:port." placeholder:"URL"`
	Admin   string    `help:"With --server: its private port, host:port, for figures of the journal."`
	KeyFile string    `help:"With --server: file of its admin key, to make users." placeholder:"FILE"`
	PID     []int     `name:"pid" help:"With --server: its processes on this machine, to be measured; repeat for several."`

	Postgres    string `help:"Start the server on a database of its own on this PostgreSQL server, as a user who may create databases; with --server: the database it uses. What it does is measured, statements too if pg_stat_statements is loaded." placeholder:"URL"`
	PostgresPID int    `name:"postgres-pid" help:"The PostgreSQL server's main process, for its CPU time; default: found if it is on this machine."`

	serverVersion string
}

func (f *benchFlags) options() (bench.Options, error) {
	self, err := os.Executable()
	return bench.Options{
		Transport: f.Transport, Codec: f.Codec, Workers: f.Workers, Tokens: f.Tokens,
		Lab: self, Progress: os.Stderr, Log: os.Stderr,
	}, err
}

// start gives the scenario a fresh server process, or the one that runs already.
func (f *benchFlags) start(ctx context.Context, set ...string) (*bench.Server, error) {
	if len(f.Server) == 0 {
		program, err := f.Skein.find()
		if err != nil {
			return nil, err
		}
		if f.serverVersion, err = versionOf(ctx, program); err != nil {
			return nil, err
		}
		if f.Postgres != "" {
			return bench.StartOnPostgres(ctx, program, f.Postgres, f.PostgresPID, os.Stderr, set...)
		}
		return bench.StartServer(ctx, program, os.Stderr, set...)
	}
	var key string
	if f.KeyFile != "" {
		raw, err := os.ReadFile(f.KeyFile)
		if err != nil {
			return nil, err
		}
		key = strings.TrimSpace(string(raw))
	}
	s, err := bench.Attach(f.Server, f.TCP, f.Admin, key, f.PID)
	if err == nil && f.Postgres != "" {
		err = s.WatchDatabase(ctx, f.Postgres, f.PostgresPID)
	}
	return s, err
}

// print shows a report, and fails when a promise was broken.
func (f *benchFlags) print(r *bench.Report, err error) error {
	if err != nil {
		return err
	}
	r.Version, r.Server.Version = version, f.serverVersion
	err = show(f.JSON, r)
	if broken := r.Failed(); broken != "" {
		return errors.Join(err, errors.New(broken))
	}
	return err
}

// show writes a result to stdout, as one JSON object or as a table for people.
func show(asJSON bool, r interface{ Table(io.Writer) error }) error {
	if !asJSON {
		return r.Table(os.Stdout)
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

type benchChatCmd struct {
	benchFlags `embed:""`
	Users      int           `default:"2000" aliases:"connections" help:"Logged-in users, in pairs."`
	Rate       float64       `help:"Messages per second in all; 0: as many as are answered."`
	Window     int           `default:"1" help:"Without a rate: unanswered messages per user."`
	Messages   int           `help:"Messages each user sends; 0: until the duration is over."`
	Payload    int           `default:"100" help:"Bytes of a message's text."`
	Duration   time.Duration `default:"15s" help:"How long to measure."`
	Warmup     time.Duration `default:"5s" help:"How long before that is not counted."`
	Preset     string        `enum:",glide1,glide2" default:"" help:"glide1: 2,000 users × 600 messages, one every 60–200 ms. glide2: 10,000 × 800, one every 50–100 ms."`
	Scale      float64       `default:"1" help:"With a preset: share of its messages per user."`
	Steps      []float64     `default:"200,2000,10000" help:"Without a rate: CPU time and context switches at these rates, too, each for half of the duration; 0: at none."`
	Half       bool          `default:"true" negatable:"" help:"Without a rate: again at half of what was reached, for the latencies."`
	Floor      bool          `help:"Also run the bare server under the same load, for the ratio."`
	Overload   bool          `help:"Find what saturates the server, then offer twice as much for the duration, then half."`
}

func (c *benchChatCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Connections, o.Rate, o.Window, o.Messages, o.Payload = c.Users, c.Rate, c.Window, c.Messages, c.Payload
	o.Duration, o.Warmup, o.Floor, o.Preset = c.Duration, c.Warmup, c.Floor, c.Preset
	half := c.Half && c.Rate == 0
	if o.Steps, err = steps(c.Steps); err != nil {
		return err
	}
	switch {
	case c.Rate < 0 || c.Users < 2 || c.Messages < 0 || c.Payload < 0 || c.Scale <= 0 || c.Window < 1 || c.Duration <= 0 || c.Warmup < 0:
		return errors.New("bench chat: users must be 2 or more, scale, window and duration positive, nothing negative")
	}
	if c.Preset != "" {
		glide(&o, c.Preset, c.Scale)
		half = false
	}
	if c.Overload {
		if c.Rate != 0 || c.Preset != "" || c.Messages != 0 {
			return errors.New("bench chat: --overload finds its own rates")
		}
		r, err := bench.Overload(ctx, o, c.start)
		return c.print(r, err)
	}
	r, err := bench.Chat(ctx, o, c.start, half)
	return c.print(r, err)
}

// steps are the rates in order, the slowest first; 0 is none.
func steps(rates []float64) ([]float64, error) {
	rates = slices.Sorted(slices.Values(rates))
	if len(rates) > 0 && rates[0] < 0 {
		return nil, errors.New("bench: steps are rates, none negative")
	}
	return slices.DeleteFunc(rates, func(r float64) bool { return r == 0 }), nil
}

// glide sets the shapes of GlideIM's own two tests.
func glide(o *bench.Options, preset string, scale float64) {
	messages := 600
	o.Connections, o.GapMin, o.GapMax = 2000, 60*time.Millisecond, 200*time.Millisecond
	if preset == "glide2" {
		messages = 800
		o.Connections, o.GapMin, o.GapMax = 10_000, 50*time.Millisecond, 100*time.Millisecond
	}
	o.Rate, o.Window, o.Warmup = 0, 0, 0
	o.OpenWindow = 1 // the SDKs send the next message of a conversation when they have the answer
	o.Messages = max(int(float64(messages)*scale), 1)
	o.Duration = 30 * time.Minute // the messages end it
}

type benchBroadcastCmd struct {
	benchFlags `embed:""`
	Members    int  `default:"10000" help:"Members of the group, all online."`
	Rounds     int  `default:"5" help:"Messages, one after the other, after one to warm up."`
	Payload    int  `default:"100" help:"Bytes of a message's text."`
	Floor      bool `default:"true" negatable:"" help:"Also run the bare server under the same load, for the ratio."`
}

func (c *benchBroadcastCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Members < 2 || c.Rounds < 1 || c.Payload < 0 {
		return errors.New("bench broadcast: want two members and one round or more")
	}
	o.Connections, o.Rounds, o.Payload, o.Floor = c.Members, c.Rounds, c.Payload, c.Floor
	r, err := bench.Broadcast(ctx, o, c.start)
	return c.print(r, err)
}

type benchOnlineCmd struct {
	benchFlags  `embed:""`
	Online      int           `default:"10000" help:"Connected users."`
	Rate        float64       `default:"1000" help:"Messages per second in all."`
	Friends     int           `default:"3" help:"How many others a user writes to: 1, 3, 7 or 15."`
	Groups      int           `default:"10" help:"Groups."`
	GroupSize   int           `default:"500" help:"Members of a group."`
	GroupOnline int           `default:"100" help:"How many of them are connected."`
	GroupShare  float64       `default:"0.05" help:"Share of the messages of a group's member that go to a group."`
	Sampled     int           `help:"How many users' latencies are measured; 0: all."`
	Payload     int           `default:"100" help:"Bytes of a message's text."`
	Duration    time.Duration `default:"60s" help:"How long to measure."`
	Warmup      time.Duration `default:"5s" help:"How long before that is not counted."`
}

func (c *benchOnlineCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Online < 2 || c.Groups < 0 || c.GroupSize < 0 || c.GroupOnline < 0 || c.GroupShare < 0 || c.GroupShare > 1 || c.Sampled < 0 || c.Payload < 0 || c.Duration <= 0 || c.Warmup < 0 {
		return errors.New("bench online: two users or more, a share between 0 and 1, a duration, nothing negative")
	}
	if c.Groups == 0 {
		c.GroupSize, c.GroupOnline = 0, 0
	}
	o.Connections, o.Rate, o.Friends, o.Groups, o.GroupSize, o.GroupOnline, o.GroupShare = c.Online, c.Rate, c.Friends, c.Groups, c.GroupSize, c.GroupOnline, c.GroupShare
	o.Sampled, o.Payload, o.Duration, o.Warmup = c.Sampled, c.Payload, c.Duration, c.Warmup
	r, err := bench.Online(ctx, o, c.start)
	return c.print(r, err)
}

type benchIdleCmd struct {
	benchFlags  `embed:""`
	Connections int           `default:"10000" help:"Logged-in connections."`
	Duration    time.Duration `default:"150s" help:"How long to leave them alone."`
}

func (c *benchIdleCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Connections < 1 || c.Duration <= 0 {
		return errors.New("bench idle: want a connection and a duration")
	}
	o.Connections, o.Duration = c.Connections, c.Duration
	r, err := bench.Idle(ctx, o, c.start)
	return c.print(r, err)
}

type benchResumeCmd struct {
	benchFlags    `embed:""`
	Connections   int `default:"1000" help:"Clients that reconnect at once."`
	Conversations int `default:"100" help:"Conversations of each."`
	Changed       int `default:"3" help:"How many further ones change while they are away."`
}

func (c *benchResumeCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Connections, o.Conversations, o.Changed = c.Connections, c.Conversations, c.Changed
	r, err := bench.Resume(ctx, o, c.start)
	return c.print(r, err)
}

type benchBytesCmd struct {
	Messages      int           `default:"600" help:"Messages of the chat hour."`
	Conversations int           `default:"2000" help:"Conversations that change before the resume."`
	Connections   int           `default:"5000" help:"Connections in one group, for what they keep in memory and cost."`
	Quiet         time.Duration `default:"10s" help:"How long they are left alone before their memory is looked at."`
	Skein         skeinPath     `help:"The server to start; default: skein beside this program, or on PATH." placeholder:"PATH"`
	JSON          bool          `name:"json" help:"Print one JSON object on stdout."`
}

func (c *benchBytesCmd) Run(ctx context.Context) error {
	f := benchFlags{Skein: c.Skein}
	o, err := f.options()
	if err != nil {
		return err
	}
	o.Connections, o.Duration = c.Connections, c.Quiet
	r, err := bench.Bytes(ctx, o, c.Messages, c.Conversations, f.start)
	if err != nil {
		return err
	}
	r.Version, r.ServerVersion = version, f.serverVersion
	return show(c.JSON, r)
}

type benchStoreCmd struct {
	Engine        string        `default:"pebble" help:"The journal's engine: pebble or postgres."`
	Postgres      string        `help:"URL of a server, of a user who may create databases; for the engine postgres." placeholder:"URL"`
	PostgresPID   int           `name:"postgres-pid" help:"The server's main process, for its CPU time; default: found if it is on this machine."`
	Messages      int           `default:"1000000" help:"Messages stored before anything is measured."`
	Conversations int           `default:"10000" help:"Conversations they are in, at random."`
	Payload       int           `default:"150" help:"Bytes of a message's text."`
	Batches       []int         `default:"1,32,256,1024" help:"Messages per append."`
	Resends       float64       `default:"0.1" help:"Share of messages that were stored before, in a second step of each batch size."`
	Duration      time.Duration `default:"5s" help:"How long each step takes."`
	Rate          float64       `default:"20000" help:"Messages per second of a last step with an open loop, for the latencies; 0: none."`
	Dir           string        `help:"Where, and it is left there; default: a temporary directory." placeholder:"DIR"`
	JSON          bool          `name:"json" help:"Print one JSON object on stdout."`
}

func (c *benchStoreCmd) Run(ctx context.Context) error {
	r, err := bench.Store(ctx, bench.StoreOptions{
		Engine: c.Engine, Engines: map[string]bench.StoreEngine{"pebble": openPebble, "postgres": openPostgres},
		Postgres: c.Postgres, PostgresPID: c.PostgresPID, Dir: c.Dir, Messages: c.Messages, Conversations: c.Conversations,
		Payload: c.Payload, Batches: c.Batches, Resends: c.Resends, Step: c.Duration, Rate: c.Rate, Progress: os.Stderr,
	})
	if err != nil {
		return fmt.Errorf("bench store: %w", err)
	}
	err = show(c.JSON, r)
	if r.Lost+r.Duplicated+r.Disordered > 0 {
		return errors.Join(err, fmt.Errorf("%d messages were lost, %d duplicated, %d out of order", r.Lost, r.Duplicated, r.Disordered))
	}
	return err
}

func openPebble(dir string) (bench.StoreJournal, func() error, error) {
	j, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		return nil, nil, err
	}
	return j, j.Close, nil
}

func openPostgres(url string) (bench.StoreJournal, func() error, error) {
	j, err := postgres.Open(context.Background(), url, postgres.Options{})
	if err != nil {
		return nil, nil, err
	}
	return j, j.Close, nil
}

type benchBackupCmd struct {
	benchFlags `embed:""`
	Messages   int           `default:"5000000" help:"Stored before the first backup."`
	Users      int           `default:"2000" help:"Logged-in users, in pairs."`
	Rate       float64       `default:"1000" help:"Messages per second meanwhile."`
	Duration   time.Duration `default:"20s" help:"How long acks are measured before the backup, for the ratio."`
	MBPerS     int           `name:"mb-per-s" default:"50" help:"As skein backup --rate; 0: no bound."`
}

func (c *benchBackupCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Messages < 0 || c.Users < 2 || c.Rate <= 0 || c.Duration <= 0 || c.MBPerS < 0 {
		return errors.New("bench backup: users must be 2 or more, rate and duration positive, nothing negative")
	}
	o.Connections, o.Rate, o.Duration, o.Warmup, o.Window, o.Payload = c.Users, c.Rate, c.Duration, 10*time.Second, 1, 100
	r, err := bench.Backup(ctx, o, c.Messages, c.MBPerS, c.start)
	return c.print(r, err)
}

type benchStallCmd struct {
	benchFlags `embed:""`
	Users      int           `default:"200" help:"Logged-in users, in pairs."`
	Rate       float64       `default:"200" help:"Messages per second of theirs in all."`
	Group      int           `default:"3000" help:"Members of the group that changes."`
	Duration   time.Duration `default:"20s" help:"How long to measure each."`
}

func (c *benchStallCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Users < 2 || c.Rate <= 0 || c.Group < 3 || c.Duration <= 0 {
		return errors.New("bench stall: users must be 2 or more, the group 3 or more, rate and duration positive")
	}
	o.Connections, o.Rate, o.Duration, o.Warmup, o.Window, o.Payload = c.Users, c.Rate, c.Duration, 5*time.Second, 1, 100
	r, err := bench.Stall(ctx, o, c.Group, c.start)
	return c.print(r, err)
}

type benchFloorCmd struct {
	benchFlags `embed:""`
	Mirror     string        `arg:"" enum:"chat,broadcast" default:"chat" help:"The scenario whose load it gets: chat or broadcast."`
	Users      int           `default:"2000" help:"Connections."`
	Rate       float64       `help:"chat: messages per second in all; 0: as many as are answered."`
	Window     int           `default:"1" help:"chat, without a rate: unanswered messages per user."`
	Rounds     int           `default:"5" help:"broadcast: messages."`
	Payload    int           `default:"100" help:"Bytes of a message's text."`
	Steps      []float64     `default:"200,2000,10000" help:"chat, without a rate: also at these, each for half of the duration; 0: at none."`
	Duration   time.Duration `default:"15s" help:"chat: how long to measure."`
	Warmup     time.Duration `default:"5s" help:"chat: how long before that is not counted."`
}

func (c *benchFloorCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if o.Steps, err = steps(c.Steps); err != nil {
		return err
	}
	if c.Users < 2 || c.Window < 1 || c.Rounds < 1 || c.Payload < 0 || c.Rate < 0 || c.Duration <= 0 || c.Warmup < 0 {
		return errors.New("bench floor: two users, one round or more, a duration, nothing negative")
	}
	o.Connections, o.Rate, o.Window, o.Rounds, o.Payload, o.Duration, o.Warmup = c.Users, c.Rate, c.Window, c.Rounds, c.Payload, c.Duration, c.Warmup
	start := func(ctx context.Context, _ ...string) (*bench.Server, error) {
		return bench.StartFloor(ctx, o.Lab, o.Log)
	}
	var r *bench.Report
	if c.Mirror == "broadcast" {
		r, err = bench.Broadcast(ctx, o, start)
	} else {
		r, err = bench.Chat(ctx, o, start, false)
	}
	if r != nil {
		r.Scenario, r.Preset = "floor", c.Mirror
	}
	return c.print(r, err)
}

type benchCompareCmd struct {
	Base     string        `arg:"" type:"existingfile" help:"The other build of the server, of any version."`
	Skein    skeinPath     `aliases:"head" help:"The build to judge; default: skein beside this program, or on PATH." placeholder:"PATH"`
	Rounds   int           `default:"3" help:"Runs of each build and load; medians count."`
	Set      []string      `name:"set" help:"A setting of the build to judge alone, e.g. search.index=off to leave out what follows the journal."`
	Users    int           `default:"500" help:"Logged-in users."`
	Rate     float64       `default:"8000" help:"Messages per second of the second load."`
	Codec    string        `default:"pb" enum:"pb,json" help:"pb or json."`
	Duration time.Duration `default:"6s" help:"How long to measure each time."`
	MaxCPU   float64       `default:"1.15" name:"max-cpu" help:"Fail above this ratio of CPU time per message."`
	MaxAlloc float64       `default:"1.05" name:"max-allocs" help:"Fail above this ratio of allocations per message."`
	JSON     bool          `name:"json" help:"Print one JSON object on stdout."`
}

func (c *benchCompareCmd) Run(ctx context.Context) error {
	head, err := c.Skein.find()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if c.Rounds < 1 || c.Users < 2 || c.Rate <= 0 || c.Duration <= 0 {
		return errors.New("bench compare: want a round, two users, a rate and a duration")
	}
	o := bench.Options{
		Connections: c.Users, Transport: "ws", Codec: c.Codec, Payload: 100, Window: 1, Duration: c.Duration, Warmup: 2 * time.Second,
		Lab: self, Log: os.Stderr, Progress: lineFilter{os.Stderr},
	}
	r, err := bench.CompareBuilds(ctx, o, c.Base, head, c.Set, c.Rate, c.Rounds)
	if err != nil {
		return err
	}
	err = show(c.JSON, r)
	if worse := r.Worse(c.MaxCPU, c.MaxAlloc); worse != "" {
		return errors.Join(err, errors.New(worse))
	}
	return err
}

// lineFilter drops the indented lines of a scenario's progress.
type lineFilter struct{ w io.Writer }

func (f lineFilter) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), "  ") {
		return len(p), nil
	}
	return f.w.Write(p)
}

type benchWorkerCmd struct{}

func (c *benchWorkerCmd) Run(ctx context.Context) error {
	signal.Ignore(os.Interrupt) // the parent tells when to end
	return bench.RunWorker(ctx, os.Stdin, os.Stdout)
}

type benchFloorServerCmd struct {
	WS   string `required:"" name:"ws"`
	TCP  string `required:"" name:"tcp"`
	File string `required:""`
}

func (c *benchFloorServerCmd) Run(ctx context.Context) error {
	return bench.RunFloor(ctx, c.WS, c.TCP, c.File)
}
