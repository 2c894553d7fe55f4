package soak

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/wire"
)

// Kind is what a record tells.
type Kind string

// The kinds of records.
const (
	// Invoked: the message with Hash is about to be sent for the first time.
	Invoked Kind = "invoked"
	// Accepted: the message with Hash is in the device's outbox on disk, under ID:
	// whatever becomes of its process, it is stored or refused in the end.
	Accepted Kind = "accepted"
	// OK: the server answered that it is stored, as Seq.
	OK Kind = "ok"
	// Failed: the server answered that it is not and never will be.
	Failed Kind = "failed"
	// Retry: the server turned it away for now; it is sent again.
	Retry Kind = "retry"
	// Unknown: the connection ended before an answer; it is sent again.
	Unknown Kind = "unknown"
	// Received: an entry arrived.
	Received Kind = "received"
	// Applied: an entry took its place in the device's store.
	Applied Kind = "applied"
	// Cursor: the device claims to hold everything of the conversation up to Seq.
	Cursor Kind = "cursor"
	// ReadSet: the device is about to move its user's read mark to Seq, or has.
	ReadSet Kind = "readset"
	// Head: the server answered that Seq is the conversation's last entry.
	Head Kind = "head"
	// Mark: the server told that User's read mark is Seq, in an answer (Since is
	// set) or by itself.
	Mark Kind = "mark"
	// Unread: the server told how much is unread (Count).
	Unread Kind = "unread"
	// Connected and Disconnected bound what one connection saw.
	Connected    Kind = "connected"
	Disconnected Kind = "disconnected"
	// Reset: the server named another timeline; everything applied is forgotten.
	Reset Kind = "reset"
	// Gap: the device goes on behind Count without the entries from Seq to there.
	Gap Kind = "gap"
	// Misbehaved: the server broke the protocol in a way only the client can see;
	// Code says how.
	Misbehaved Kind = "misbehaved"
	// Resent: the message with Hash, which was acknowledged as Seq, is sent again,
	// perhaps long after; the answer is an OK or Failed as any other.
	Resent Kind = "resent"
	// Synced: all pages of the answer to a sync that was asked for at Since are here:
	// the device was told everything that had changed by then.
	Synced Kind = "synced"
	// Started: the device's process begins again with what its store holds. What its
	// program was told last it may be told once more, in the same order and before
	// anything new.
	Started Kind = "started"
	// Joined: it was answered over HTTP that the user Of is a member of Conversation.
	Joined Kind = "joined"
	// Recalling: the message Seq is about to be taken back; Recalled: it was answered
	// that it is, with the entry Count.
	Recalling Kind = "recalling"
	Recalled  Kind = "recalled"
	// Editing and Edited: the same of an edit of the message Seq.
	Editing Kind = "editing"
	Edited  Kind = "edited"
	// Reacted: it was answered that the user Of reacted to the message Seq, or took it back.
	Reacted Kind = "reacted"
	// Replied: it was answered that the user Of said the message ID, as Count, in the thread of Seq.
	Replied Kind = "replied"
	// Asked: over HTTP, the fact Of is about to be given a value, Code or Seq;
	// Answered: the server said that it has it; Read: it was asked for at Since and
	// told. Each fact has one writer, which gives it one value at a time.
	Asked    Kind = "asked"
	Answered Kind = "answered"
	Read     Kind = "read"
)

// Record is a line of a device's history.
type Record struct {
	Kind Kind `json:"k"`
	// Mono is the machine's monotonic clock in nanoseconds, the same for all
	// processes, Wall the Unix time in milliseconds.
	Mono int64 `json:"m"`
	Wall int64 `json:"w"`
	// User and Device are whose history it is.
	User   string `json:"u"`
	Device string `json:"d"`

	Timeline     string `json:"t,omitempty"`
	Conversation string `json:"c,omitempty"`
	Seq          uint64 `json:"s,omitempty"`
	Count        uint64 `json:"n,omitempty"`
	// ID is the message id in hex.
	ID   string `json:"i,omitempty"`
	Hash string `json:"h,omitempty"`
	// Of is the user a Mark is of or who Joined, or the name of a fact.
	Of string `json:"o,omitempty"`
	// Since is when the request that is answered was begun, by Mono.
	Since int64 `json:"a,omitempty"`
	// At is the address (host:port) that a Connected is to.
	At string `json:"p,omitempty"`
	// Code is what a refusal is called, Why what it says.
	Code string `json:"e,omitempty"`
	Why  string `json:"y,omitempty"`
}

// Entry is an entry of a conversation as somebody read it.
type Entry struct {
	Conversation string `json:"c"`
	Seq          uint64 `json:"s"`
	ID           string `json:"i"`
	Sender       string `json:"u"`
	// Hash is of the content; for entries that are no messages, of the event.
	Hash    string `json:"h"`
	Message bool   `json:"m,omitempty"`
	// Count is the running count of messages.
	Count uint64 `json:"n"`
	// Target is the message that a recall, or whatever amends it, is about.
	Target uint64 `json:"g,omitempty"`
	// React is what a reaction does: + or -, and with what. Totals are the reactions of a
	// message, ordered.
	React  string `json:"r,omitempty"`
	Totals string `json:"t,omitempty"`
	// Joined and Left are members that came or went with this entry.
	Joined []string `json:"j,omitempty"`
	Left   []string `json:"l,omitempty"`
	// Thread is the root of the thread that a reply is in, also of one that stands in the
	// conversation's line as well; Says is what a reply says, HashRecalled if it was taken
	// back; Replies is how many a root says that its thread has.
	Thread  uint64 `json:"th,omitempty"`
	Says    string `json:"sa,omitempty"`
	Replies int    `json:"re,omitempty"`
	// pos and stored are what a device proves its history by.
	pos    uint64
	stored int64
	amends bool // nothing else is known of it
	// edited is what an edit makes of the hash of its target.
	edited string
}

// Standing is where a user stands in a conversation.
type Standing struct {
	Conversation string `json:"c"`
	// First..Last are the entries that the view claims to hold completely.
	First uint64 `json:"f"`
	Last  uint64 `json:"s"`
	// Member is false once the user has left.
	Member bool `json:"m"`
	// Marks tells that Read and Unread were read as well and can be counted from
	// the entries.
	Marks  bool   `json:"k,omitempty"`
	Read   uint64 `json:"r"`
	Unread uint64 `json:"n"`
}

// View is everything that one reader found after the faults.
type View struct {
	// Source is `journal` (the server's store, read directly), `fresh` (a new
	// device through the API) or `store` (what a device keeps itself).
	Source string `json:"source"`
	// User and Device are who read; empty for the journal.
	User      string     `json:"user,omitempty"`
	Device    string     `json:"device,omitempty"`
	Timeline  string     `json:"timeline"`
	Standings []Standing `json:"standings"`
	Entries   []Entry    `json:"entries"`
	// Threads are read by fresh views.
	Threads []ThreadView `json:"threads,omitempty"`
}

// ThreadView is a thread as its reader is told it.
type ThreadView struct {
	Root    Entry   `json:"root"`
	Replies []Entry `json:"replies"`
}

// The sources of views.
const (
	SourceJournal = "journal"
	SourceFresh   = "fresh"
	SourceStore   = "store"
)

// Name tells a view from others in a report.
func (v *View) Name() string {
	if v.User == "" {
		return v.Source
	}
	return v.Source + " " + v.User + "/" + v.Device
}

// HashRecalled stands for content that was erased: it says nothing any more.
const HashRecalled = "recalled"

// editOf begins the hash of an entry that edits another one.
const editOf = "edit of "

// reactTo begins the hash of an entry that reacts to another one.
const reactTo = "reaction to "

// voteOn begins the hash of an entry that votes in a poll.
const voteOn = "vote on "

// pinOf begins the hash of an entry that pins another one, or ends that; partOf of one that
// goes on with a streamed message.
const pinOf, partOf = "pin of ", "part of "

// replyIn begins the hash of a message in a thread that does not stand in the conversation's
// line. What it says is Entry.Says.
const replyIn = "reply in "

// streamedType is the type of messages that grow. Their hash says nothing of their content:
// a fact of the clerk's does (clerk_more.go).
const streamedType = "im.skein.soak.streamed"

// leavesWords tells from an amendment's hash that its target says what it said before, or
// that nothing is known of it from the hash.
func leavesWords(hash string) bool {
	return slices.ContainsFunc([]string{reactTo, voteOn, pinOf, partOf, replyIn}, func(prefix string) bool { return strings.HasPrefix(hash, prefix) })
}

// totalsOf are how many reacted with what.
func totalsOf(counts map[string]int) string {
	var out []string
	for reaction, n := range counts {
		if n != 0 {
			out = append(out, fmt.Sprint(reaction, " ", n))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// editedPrefix begins the hash of a message that was edited: behind it come how often,
// and what it says now.
const editedPrefix = "edited "

func editedHash(e *wire.Entry) string {
	return fmt.Sprint(editedPrefix, e.GetEdits(), " ", ContentHash(e.GetConversation(), e.GetSender(), e.GetContent(), 0))
}

// editsOf is how often a message was edited, by its hash.
func editsOf(hash string) (n int) {
	if text, ok := strings.CutPrefix(hash, editedPrefix); ok {
		text, _, _ = strings.Cut(text, " ")
		n, _ = strconv.Atoi(text)
	}
	return n
}

// amended tells that a message says something else, or nothing, since it was sent.
func amended(hash string) bool { return hash == HashRecalled || editsOf(hash) > 0 }

// isMessage tells from a record's hash whether its entry is a message with content.
func isMessage(hash string) bool { return hash != HashRecalled && !strings.Contains(hash, " ") }

// ContentHash names what a message says and where: it must be the same wherever
// the message is met.
func ContentHash(conversation, sender string, c *wire.Content, replyTo uint64) string {
	h := sha256.New()
	for _, s := range []string{conversation, sender, c.GetType(), c.GetText(), string(c.GetData())} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], replyTo)
	h.Write(n[:])
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// EntryOf is an entry of the protocol as the checker sees it.
func EntryOf(e *wire.Entry) Entry {
	out := Entry{
		Conversation: e.GetConversation(), Seq: e.GetSeq(), ID: hex.EncodeToString(e.GetId()),
		Sender: e.GetSender(), Count: e.GetCount(),
		Message: e.GetKind() == wire.EntryKind_ENTRY_KIND_MESSAGE, Target: e.GetTarget(), pos: e.GetPos(), stored: e.GetStoredAtMs(),
	}
	if out.Message {
		counts := map[string]int{}
		for _, r := range e.GetReactions() {
			counts[r.Reaction] = int(r.Count)
		}
		out.Totals = totalsOf(counts)
		out.Thread, out.Replies = e.GetThread(), int(e.GetReplies().GetCount())
	}
	reply := e.GetKind() == wire.EntryKind_ENTRY_KIND_THREAD_REPLY
	if reply {
		out.Thread = e.GetTarget()
	}
	if out.Thread != 0 {
		if out.Says = HashRecalled; !e.GetRecalled() {
			out.Says = ContentHash(out.Conversation, out.Sender, e.GetContent(), e.GetReplyTo())
		}
		out.Replies = 0 // of a reply that is told, what its root comes to
	}
	switch ev := e.GetEvent(); {
	case e.GetKind() == wire.EntryKind_ENTRY_KIND_REACTION:
		out.Hash = fmt.Sprintf("%s%d", reactTo, e.GetTarget())
		out.React = map[bool]string{false: "+", true: "-"}[e.GetReact().GetRemove()] + e.GetReact().GetReaction()
	case e.GetKind() == wire.EntryKind_ENTRY_KIND_VOTE:
		out.Hash = fmt.Sprintf("%s%d", voteOn, e.GetTarget())
	case e.GetKind() == wire.EntryKind_ENTRY_KIND_PIN:
		out.Hash = fmt.Sprintf("%s%d", pinOf, e.GetTarget())
	case e.GetKind() == wire.EntryKind_ENTRY_KIND_STREAM:
		out.Hash = fmt.Sprintf("%s%d", partOf, e.GetTarget())
	case reply:
		out.Hash = fmt.Sprintf("%s%d", replyIn, e.GetTarget())
	case ev == nil && !out.Message:
		out.Hash = fmt.Sprintf("entry %d of %d", e.GetKind(), e.GetTarget())
		if e.GetKind() == wire.EntryKind_ENTRY_KIND_EDIT {
			out.Hash, out.edited = fmt.Sprintf("%s%d", editOf, e.GetTarget()), editedHash(e)
		}
	case ev == nil && e.GetRecalled():
		out.Hash = HashRecalled
	case ev == nil && e.GetContent().GetType() == streamedType:
		out.Hash = fmt.Sprintf("streamed as %x", e.GetId())
	case ev == nil && e.GetEdits() > 0:
		out.Hash = editedHash(e)
	case ev == nil:
		out.Hash = ContentHash(out.Conversation, out.Sender, e.GetContent(), e.GetReplyTo())
	default:
		out.Hash = fmt.Sprintf("event %d %v %s", ev.GetType(), ev.GetUsers(), ev.GetText())
		switch ev.GetType() {
		case wire.EventType_EVENT_TYPE_GROUP_CREATED, wire.EventType_EVENT_TYPE_MEMBER_ADDED:
			out.Joined = ev.GetUsers()
		case wire.EventType_EVENT_TYPE_MEMBER_LEFT, wire.EventType_EVENT_TYPE_MEMBER_REMOVED:
			out.Left = ev.GetUsers()
		}
	}
	return out
}

// Recorder writes the history of one device. Safe for concurrent use.
type Recorder struct {
	user, device string
	heard        *atomic.Int64 // counts what the server said; may be nil

	mu  sync.Mutex
	w   io.Writer
	buf []byte
	err error
}

// NewRecorder writes to w, one Write for each record, so that a record is out
// of the process when Add returns.
func NewRecorder(w io.Writer, user, device string) *Recorder {
	return &Recorder{w: w, user: user, device: device}
}

// Add stamps the record, unless it says itself when it was, and writes it. It
// returns the stamp. A failure is kept
// for Err: a history with a hole proves nothing.
func (r *Recorder) Add(rec Record) int64 { return r.addAs(r.user, rec) }

// addAs is Add for one of several users that a device is.
func (r *Recorder) addAs(user string, rec Record) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch rec.Kind {
	case OK, Received, Applied, Head, Mark:
		if r.heard != nil {
			r.heard.Add(1)
		}
	}
	rec.User, rec.Device = user, r.device
	rec.Wall = time.Now().UnixMilli()
	if rec.Mono == 0 {
		rec.Mono = Now()
	}
	line, err := json.Marshal(rec)
	if err == nil {
		r.buf = append(append(r.buf[:0], line...), '\n')
		_, err = r.w.Write(r.buf)
	}
	r.err = errors.Join(r.err, err)
	return rec.Mono
}

// Err tells whether every record was written.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// openHistory opens the file of a history that several processes write, one after
// the other. What a killed one has left of a line claims nothing and is removed;
// begun tells that there are lines.
func openHistory(path string) (f *os.File, begun bool, err error) {
	if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, false, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, false, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	return f, whole > 0, f.Truncate(int64(whole))
}

// ReadHistory reads what a Recorder wrote. A last line that was cut off by a
// kill is left out.
func ReadHistory(r io.Reader) ([]Record, error) {
	var out []Record
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		var rec Record
		if err := json.Unmarshal(line, &rec); err != nil {
			return out, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, rec)
	}
}

// ReadHistories reads all `*.jsonl` files of a directory.
func ReadHistories(dir string) ([][]Record, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var all [][]Record
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		h, err := ReadHistory(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, h)
	}
	return all, nil
}
