package importing

import (
	"fmt"
	"maps"
	"slices"
)

// Things are how many of each kind of thing.
type Things struct {
	Users         int   `json:"users"`
	Conversations int   `json:"conversations"`
	Messages      int64 `json:"messages"`
	// Replies are those of the messages that are in threads.
	Replies   int64 `json:"replies"`
	Reactions int64 `json:"reactions"`
	Files     int64 `json:"files"`
	FileBytes int64 `json:"file_bytes"`
}

// Report is what an import came to. Reactions to a message that was there already count as
// there, whatever became of them then; a file of it only if the message has it, or it is left out. Of users, conversations, messages, reactions and files
// those that were read are those that were written, were there already, or were left out.
type Report struct {
	System    string `json:"system"`
	Workspace string `json:"workspace"`
	DryRun    bool   `json:"dry_run"`
	Read      Things `json:"read"`
	Written   Things `json:"written"`
	Already   Things `json:"already"`
	// LeftOut counts by what it was and why, as "message: system message".
	LeftOut map[string]int64 `json:"left_out"`
	// Parts are entries beyond one a message: for further files, and for texts that were too
	// long for one.
	Parts    int64 `json:"parts"`
	Pictures int   `json:"pictures"`
	Groups   int   `json:"groups"`
	Directs  int   `json:"direct_chats"`
	// Problems are the first of what somebody should look at; ProblemCount is all of it.
	Problems     []Problem `json:"problems"`
	ProblemCount int       `json:"problem_count"`
	ReadSeconds  float64   `json:"read_seconds"`
	WriteSeconds float64   `json:"write_seconds"`
	// MessagesPerSecond is of those that were written, files included.
	MessagesPerSecond float64 `json:"messages_per_second"`
}

// Problem is what was found at a place of the export.
type Problem struct {
	Where string `json:"where"`
	What  string `json:"what"`
}

// maxProblems is how many problems are named.
const maxProblems = 1000

func (r *Report) problem(where, what string) {
	if r.ProblemCount++; len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{where, what})
	}
}

// leave counts what is left out.
func (r *Report) leave(what, why string, n int64) {
	if n > 0 {
		r.LeftOut[what+": "+why] += n
	}
}

// Left is how much of one kind was left out.
func (r *Report) Left(what string) (n int64) {
	for k, v := range r.LeftOut {
		if len(k) > len(what) && k[:len(what)+1] == what+":" {
			n += v
		}
	}
	return n
}

// Check tells whether what was read is what became of it.
func (r *Report) Check() error {
	for _, k := range []struct {
		what                        string
		read, written, already, out int64
	}{
		{"users", int64(r.Read.Users), int64(r.Written.Users), int64(r.Already.Users), r.Left("user")},
		{"conversations", int64(r.Read.Conversations), int64(r.Written.Conversations), int64(r.Already.Conversations), r.Left("conversation")},
		{"messages", r.Read.Messages, r.Written.Messages, r.Already.Messages, r.Left("message")},
		{"reactions", r.Read.Reactions, r.Written.Reactions, r.Already.Reactions, r.Left("reaction")},
		{"files", r.Read.Files, r.Written.Files, r.Already.Files, r.Left("file")},
	} {
		if sum := k.written + k.already + k.out; sum != k.read {
			return fmt.Errorf("%d %s were read, and %d are accounted for (%d written, %d there already, %d left out)", k.read, k.what, sum, k.written, k.already, k.out)
		}
	}
	return nil
}

// Reasons are the reasons in their order.
func (r *Report) Reasons() []string { return slices.Sorted(maps.Keys(r.LeftOut)) }
