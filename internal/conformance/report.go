package conformance

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Status is how a case ended.
type Status string

// The ends of a case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	LeftOut Status = "left_out"
)

// Result is what came of a case.
type Result struct {
	// Case is script/transport-codec, and /part where a script has several.
	Case   string `json:"case"`
	Status Status `json:"status"`
	// Proves is what the script is about.
	Proves string `json:"proves,omitempty"`
	// Reason tells why it was left out.
	Reason  string   `json:"reason,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}

// Failure is a promise that a server did not keep.
type Failure struct {
	// At is the line of the transcript, file:line; "" for what is no transcript.
	At string `json:"at,omitempty"`
	// Step is that line.
	Step string `json:"step,omitempty"`
	// Expected is what SPEC has come there, in the language of the transcripts.
	Expected string `json:"expected,omitempty"`
	// Got is what came, and Why where the two differ.
	Got string `json:"got"`
	Why string `json:"why,omitempty"`
	// Spec are the sections of proto/SPEC.md that the case cites there.
	Spec string `json:"spec,omitempty"`
	// Heard is the end of what each connection heard.
	Heard []string `json:"heard,omitempty"`
}

// Report is the outcome of all cases.
type Report struct {
	Server  string   `json:"server"`
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	LeftOut int      `json:"left_out"`
	Results []Result `json:"results"`

	mu sync.Mutex
	// progress gets a line for each case that failed, as it does.
	progress io.Writer
}

func (r *Report) add(all ...Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range all {
		switch x.Status {
		case Passed:
			r.Passed++
		case Failed:
			r.Failed++
			fmt.Fprintf(r.progress, "failed: %s\n", x.Case)
		case LeftOut:
			r.LeftOut++
		}
		r.Results = append(r.Results, x)
	}
}

// Broken tells what failed, "" if nothing did.
func (r *Report) Broken() string {
	if r.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d cases failed", r.Failed, r.Failed+r.Passed)
}

// Table writes the report for people: what failed, what was left out and why, and
// how many passed.
func (r *Report) Table(w io.Writer) error {
	var b strings.Builder
	reasons := map[string][]string{}
	for _, x := range r.Results {
		switch x.Status {
		case Failed:
			x.write(&b)
		case LeftOut:
			reasons[x.Reason] = append(reasons[x.Reason], x.Case)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		cases := reasons[reason]
		fmt.Fprintf(&b, "left out, %d: %s\n\t%s\n", len(cases), reason, strings.Join(folded(cases), " "))
	}
	fmt.Fprintf(&b, "%s: %d passed, %d failed, %d left out\n", r.Server, r.Passed, r.Failed, r.LeftOut)
	_, err := io.WriteString(w, b.String())
	return err
}

func (x Result) write(b *strings.Builder) {
	f := x.Failure
	fmt.Fprintf(b, "failed: %s\n", x.Case)
	for _, row := range []struct{ name, text string }{
		{"proves", x.Proves}, {"at", f.At}, {"step", f.Step}, {"expected", f.Expected}, {"got", f.Got}, {"differs", f.Why}, {"SPEC", f.Spec},
	} {
		if row.text != "" {
			fmt.Fprintf(b, "\t%-9s %s\n", row.name, strings.ReplaceAll(clip(row.text), "\n", "\n\t          "))
		}
	}
	for _, h := range f.Heard {
		fmt.Fprintf(b, "\t\t%s\n", h)
	}
}

// folded writes the cases of a script that differ in transport and codec as one.
func folded(cases []string) (all []string) {
	times := map[string]int{}
	for _, c := range cases {
		name, _, _ := strings.Cut(c, "/")
		if times[name]++; times[name] == 1 {
			all = append(all, name)
		}
	}
	for i, name := range all {
		if n := times[name]; n > 1 {
			all[i] = fmt.Sprintf("%s (%d)", name, n)
		}
	}
	return all
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Results, func(a, b Result) int { return cmp.Compare(a.Case, b.Case) })
}
