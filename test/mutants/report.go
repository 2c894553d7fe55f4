package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// print shows the results as a table, with what the tests said of those that
// were not caught, or as JSON.
func print(w io.Writer, results []Result, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(results)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "bug\tverdict\tafter\tfound by\tbreaks")
	caught, longest := 0, time.Duration(0)
	for i := range results {
		r := &results[i]
		if r.Verdict == Caught {
			caught++
			longest = max(longest, r.Took)
		}
		fmt.Fprintf(t, "%s\t%s\t%.2f s\t%s %s\t%s\n", r.Name, r.Verdict, r.Took.Seconds(), r.Package, r.Test, r.Breaks)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range results {
		if r := &results[i]; r.Verdict != Caught {
			fmt.Fprintf(w, "\n=== %s: %s\n%s\n", r.Name, r.Verdict, r.Output)
		}
	}
	_, err := fmt.Fprintf(w, "\n%d of %d caught; the slowest test took %.1f s to fail\n", caught, len(results), longest.Seconds())
	return err
}
