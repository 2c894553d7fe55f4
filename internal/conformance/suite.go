package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options are what to play, and how.
type Options struct {
	Servers *Servers
	// Only: the cases whose name it matches; nil: all.
	Only *regexp.Regexp
	// Timeout of a case. Default 2 min.
	Timeout time.Duration
	// Parallel is how many cases are played at a time. Default 8.
	Parallel int
	// Progress gets the name of each case that fails, as it does; nil: nobody.
	Progress io.Writer
}

// job is a script, or a promise, in one of the variants.
type job struct {
	name    string
	about   string
	needs   Needs
	variant variant
	// cases are its names in the report.
	cases []string
	play  func(p *player) []Result
}

// player plays a job.
type player struct {
	ctx     context.Context
	job     job
	server  *Server
	timeout time.Duration
	want    func(name string) bool
}

// Run plays the cases. The error tells why it could not; what a server did wrong is
// in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	want := func(name string) bool { return o.Only == nil || o.Only.MatchString(name) }
	all, err := jobs()
	if err != nil {
		return nil, err
	}
	r := &Report{progress: o.Progress}
	if s := o.Servers.running; s != nil {
		r.Server = s.URL
		if err := s.look(ctx, o.Timeout); err != nil {
			return nil, err
		}
	} else {
		r.Server = "servers of its own"
	}
	// Those that try passwords come last, one after another: an address may try only so
	// often.
	var many, alone []job
	for _, j := range all {
		if j.needs[NeedPasswords] != "" && o.Servers.running != nil {
			alone = append(alone, j)
		} else {
			many = append(many, j)
		}
	}
	o.playAll(ctx, r, want, many, o.Parallel)
	o.playAll(ctx, r, want, alone, 1)
	r.sort()
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case len(r.Results) == 0:
		return r, errors.New("no case has such a name")
	}
	return r, nil
}

func (o Options) playAll(ctx context.Context, r *Report, want func(string) bool, all []job, at int) {
	var busy sync.WaitGroup
	waiting := make(chan job)
	for range at {
		busy.Go(func() {
			for j := range waiting {
				r.add(o.playOne(ctx, j, want)...)
			}
		})
	}
	for _, j := range all {
		waiting <- j
	}
	close(waiting)
	busy.Wait()
}

// playOne plays a job, or says why not.
func (o Options) playOne(ctx context.Context, j job, want func(string) bool) (all []Result) {
	every := func(x Result) (all []Result) {
		for _, c := range j.cases {
			if want(c) {
				x.Case, x.Proves = c, j.about
				all = append(all, x)
			}
		}
		return all
	}
	if len(every(Result{})) == 0 {
		return nil
	}
	s, err := o.Servers.get(ctx, j.name+"/"+j.variant.String(), j.needs)
	if why, ok := notHere(err); ok {
		return every(Result{Status: LeftOut, Reason: why})
	}
	if err != nil {
		return every(Result{Status: Failed, Failure: &Failure{Got: err.Error(), Expected: "a server to try"}})
	}
	if j.variant.transport == "tcp" && s.TCP == "" {
		return every(Result{Status: LeftOut, Reason: "the address of a stream listener is not known (--tcp)"})
	}
	all = j.play(&player{ctx: ctx, job: j, server: s, timeout: o.Timeout, want: want})
	for i := range all {
		all[i].Proves = j.about
	}
	return all
}

// jobs are all that there is to play.
func jobs() (all []job, err error) {
	scripts, err := readScripts()
	if err != nil {
		return nil, err
	}
	for _, s := range scripts {
		for _, v := range variants() {
			j := job{name: s.name, about: s.about, needs: s.needs, variant: v, play: func(p *player) []Result { return p.script(s) }}
			for _, x := range s.parts {
				if played(x, v) {
					j.cases = append(j.cases, caseName(s.name, v, x.name))
				}
			}
			all = append(all, j)
		}
	}
	for _, x := range promises {
		for _, v := range variants() {
			all = append(all, job{
				name: x.name, about: x.about, needs: Needs{NeedPolicy: "class"}, variant: v,
				cases: []string{caseName(x.name, v, "")}, play: func(p *player) []Result { return p.promise(x) },
			})
		}
	}
	return all, nil
}

func caseName(script string, v variant, part string) string {
	name := script + "/" + v.String()
	if part != "" {
		name += "/" + part
	}
	return name
}

// played: the part has answers to wait for in this variant; otherwise it is no case
// there.
func played(p part, v variant) bool {
	for _, l := range p.lines {
		if l.in(v) && (fromServer.MatchString(l.text) || strings.HasPrefix(l.text, "http ")) {
			return true
		}
	}
	return false
}

// A case that the server refuses for its rate limits is played so often, and no longer
// apart than that.
const (
	tries        = 6
	longestPause = 20 * time.Second
)

// script plays a script: its setup, and the parts; the setup again after one that
// failed.
func (p *player) script(s script) (all []Result) {
	var r *run
	defer func() {
		if r != nil {
			r.close()
		}
	}()
	for _, x := range s.parts {
		name := caseName(s.name, p.job.variant, x.name)
		if !played(x, p.job.variant) || !p.want(name) {
			continue
		}
		for try := 1; ; try++ {
			failure := p.part(&r, s, x)
			if failure == nil {
				all = append(all, Result{Case: name, Status: Passed})
				break
			}
			wait, refused := failure.refused()
			if !refused {
				all = append(all, Result{Case: name, Status: Failed, Failure: failure})
				break
			}
			// The next try asks as much once more, and so it needs as many turns.
			pause := max(wait, min(max(wait, time.Second)*time.Duration(try*s.refusable()), longestPause))
			if try == tries || wait > longestWait || p.sleep(pause) != nil {
				all = append(all, Result{Case: name, Status: LeftOut, Reason: fmt.Sprintf("the server's rate limits refused it %d times; the last time it was to wait for %v more", try, wait)})
				break
			}
		}
	}
	return all
}

func (p *player) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-timer.C:
		return nil
	}
}

var retryAfter = regexp.MustCompile(`"?retryAfterMs"?:"?(\d+)`)

// refused: the server's own rate limits came between, and say how long to wait. Where
// frames may come in any order, what came instead stands in Why.
func (f *Failure) refused() (time.Duration, bool) {
	came := f.Got + " " + f.Why
	if !strings.Contains(came, "rate_limited") || strings.Contains(f.Expected, "rate_limited") {
		return 0, false
	}
	wait := time.Second
	if m := retryAfter.FindStringSubmatch(came); m != nil {
		if ms, err := strconv.Atoi(m[1]); err == nil {
			wait = time.Duration(ms) * time.Millisecond
		}
	}
	return wait, true
}

// part plays a part, in the run that there is or in a new one; the run is over after a
// failure.
func (p *player) part(r **run, s script, x part) (failure *Failure) {
	if *r == nil {
		var err error
		if *r, err = p.begin(s); err != nil {
			return &Failure{Got: err.Error(), Expected: "users for the case"}
		}
		failure = (*r).lines(s.setup)
	}
	if failure == nil {
		failure = (*r).lines(x.lines)
	}
	if failure == nil {
		if err := (*r).finish(); err != nil {
			failure = (*r).fail(line{text: "(the end)", sections: lastSections(x)}, err)
			failure.Expected = "nothing more"
		}
	}
	if failure != nil {
		(*r).close()
		*r = nil
	}
	return failure
}

func lastSections(x part) string { return x.lines[len(x.lines)-1].sections }

// begin makes the users of a script; they may have to wait for their turn.
func (p *player) begin(s script) (*run, error) {
	r, err := prepare(p.ctx, p.server, s, p.job.variant, p.timeout/2)
	if err != nil {
		return nil, err
	}
	// Each part has a little of its own, beside the time for a case.
	r.ctx, r.cancel = context.WithTimeout(p.ctx, p.timeout+time.Duration(len(s.parts))*time.Second)
	return r, nil
}

// lines plays lines until one fails.
func (r *run) lines(all []line) *Failure {
	for _, l := range all {
		if !l.in(r.variant) {
			continue
		}
		if err := r.step(l.text); err != nil {
			return r.fail(l, err)
		}
	}
	return nil
}

// fail tells of a line that was not kept.
func (r *run) fail(l line, err error) *Failure {
	f := &Failure{Step: clip(l.text), Got: err.Error(), Heard: r.heardSoFar()}
	if l.number > 0 {
		f.At = fmt.Sprintf("%s.txt:%d", r.script.name, l.number)
	}
	if l.sections != "" {
		f.Spec = "§" + strings.ReplaceAll(l.sections, ", ", ", §")
	}
	if m := fromServer.FindStringSubmatch(l.text); m != nil {
		f.Expected = clip(m[3])
	} else if _, want, ok := strings.Cut(l.text, " -> "); ok {
		f.Expected = clip(want)
	}
	var differs *mismatch
	if errors.As(err, &differs) {
		f.Got, f.Why = differs.got, differs.why
	}
	return f
}

// Case is a script or a promise, as it is told to people.
type Case struct {
	Name, Proves string
	Parts        int
	Needs        []string
}

// Cases lists all that there is to play, by name.
func Cases() (list []Case, err error) {
	all, err := jobs()
	for _, j := range all {
		if len(list) > 0 && list[len(list)-1].Name == j.name {
			list[len(list)-1].Parts = max(list[len(list)-1].Parts, len(j.cases))
			continue
		}
		c := Case{Name: j.name, Proves: j.about, Parts: len(j.cases)}
		for _, name := range slices.Sorted(maps.Keys(j.needs)) {
			if defaults[name] != j.needs[name] {
				c.Needs = append(c.Needs, strings.TrimSuffix(name+"="+j.needs[name], "=yes"))
			}
		}
		list = append(list, c)
	}
	return list, err
}
