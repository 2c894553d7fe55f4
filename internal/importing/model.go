package importing

import (
	"context"
	"io"
)

// User is somebody of another system.
type User struct {
	// Key names them there for ever, Name is what they log in by. Names that messages use
	// otherwise lead to the key by Collector.Alias.
	Key, Name string
	// Display is what others see, About what they say of themselves.
	Display, Email, About string
	// Picture is a file of the export, or an address; both may be empty.
	Picture File
	// Bot writes by itself; Gone: they may not come in there any more.
	Bot, Gone bool
}

// ConversationKind is what a conversation was.
type ConversationKind string

// The kinds.
const (
	Public  ConversationKind = "public"
	Private ConversationKind = "private"
	Direct  ConversationKind = "direct"
	// Several is a direct chat of more than two.
	Several ConversationKind = "several"
)

// Conversation is a channel, or a chat of two or more.
type Conversation struct {
	Key  string
	Kind ConversationKind
	// Name is what people see; of Direct and Several it may be empty.
	Name, Topic, Purpose string
	CreatedMs            int64
	// Creator is a user's key, empty if nobody knows.
	Creator  string
	Archived bool
	Members  []string // keys
	Admins   []string // of the members
	Where    string
}

// Message is what somebody said.
type Message struct {
	// Key names it within its conversation.
	Key          string
	Conversation string
	// Author is a user's key. AuthorName is what they are called where nobody knows the key.
	Author, AuthorName string
	// At is in microseconds since 1970: those of the same millisecond keep their order.
	At   int64
	Text string
	// Root is the key of the message in whose thread it is, InMain: it is said in the
	// conversation's own line as well.
	Root      string `json:",omitempty"`
	InMain    bool   `json:",omitempty"`
	EditedMs  int64  `json:",omitempty"`
	Pinned    bool   `json:",omitempty"`
	Reactions []Reaction
	Files     []File
	// Where is the file and line.
	Where string
}

// Reaction is who reacted with what: a short name without colons.
type Reaction struct {
	Name  string
	Users []string // keys, or names that an alias leads to
}

// File is something that a message has beside its text.
type File struct {
	Name string
	// Path is where it is in the export, "" if it is not there.
	Path string
	// URL is where it may be fetched.
	URL string `json:",omitempty"`
}

// Source is an export of one system.
type Source interface {
	// System is the system's name, as on the command line.
	System() string
	// Read tells all that the export says. Users may come after what they wrote.
	Read(ctx context.Context, to *Collector) error
	// Open opens a file that Read named.
	Open(path string) (r io.ReadCloser, size int64, err error)
	// Text is a text of the system in the form of Skein's.
	Text(text string, names Names) Said
	Close() error
}

// Names tells what the keys of an export came to.
type Names interface {
	// User returns whom a key or name of a user there leads to, and by what name one
	// mentions them here.
	User(key string) (id, name string, ok bool)
	// Conversation returns the name of a channel.
	Conversation(key string) (name string, ok bool)
}

// Said is a text in the form of Skein's, and whom it mentions.
type Said struct {
	Text      string
	Mentions  []string // ids
	All, Here bool
}
