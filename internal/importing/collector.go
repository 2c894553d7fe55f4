package importing

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Collector takes what a Source tells.
type Collector struct {
	report *Report
	now    time.Time

	users   map[string]*User
	order   []string // of users, as they came
	aliases map[string]string
	convs   map[string]*Conversation
	convAt  map[string]uint32
	inOrder []*Conversation
	sorter  *sorter
	// threads has the messages that begin threads, by threadKey.
	threads map[uint64]*thread
	authors map[string]author
	has     func(path string) bool
}

// author is what a message tells of who wrote it.
type author struct{ name, where string }

// thread is what is known of a message in whose thread others are.
type thread struct {
	seq    uint64
	author im.UserID
	// root is the seq of the thread that the message is in itself; 0: it is in none.
	root uint64
}

func newCollector(r *Report, spool string, has func(string) bool, now time.Time) *Collector {
	return &Collector{
		report: r, now: now, users: map[string]*User{}, aliases: map[string]string{}, convs: map[string]*Conversation{}, convAt: map[string]uint32{},
		sorter: newSorter(spool), threads: map[uint64]*thread{}, authors: map[string]author{}, has: has,
	}
}

// threadKey is 64 bits of a message's name.
func threadKey(conversation, key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(conversation))
	h.Write([]byte{0})
	h.Write([]byte(key))
	return h.Sum64()
}

// Problem tells that something could not be read, or is odd.
func (c *Collector) Problem(where, what string) { c.report.problem(where, what) }

// Problemf is Problem with a format.
func (c *Collector) Problemf(where, format string, args ...any) {
	c.report.problem(where, fmt.Sprintf(format, args...))
}

// User takes a user. One that comes twice is told.
func (c *Collector) User(where string, u User) {
	if u.Key == "" {
		c.Problem(where, "a user without an id")
		return
	}
	if old := c.users[u.Key]; old != nil {
		c.Problemf(where, "the user %.80q is there twice; the first one counts", u.Key)
		return
	}
	c.users[u.Key] = &u
	c.order = append(c.order, u.Key)
	c.report.Read.Users++
	if u.Name != "" {
		c.Alias(u.Name, u.Key)
	}
}

// Alias makes a name lead to a user's key.
func (c *Collector) Alias(name, key string) {
	if name != key && c.aliases[name] == "" {
		c.aliases[name] = key
	}
}

// user is who a key or name leads to, nil if nobody knows.
func (c *Collector) user(key string) *User {
	if u := c.users[key]; u != nil {
		return u
	}
	return c.users[c.aliases[key]]
}

// Conversation takes a conversation. One that comes twice adds what it has to the first.
func (c *Collector) Conversation(v Conversation) *Conversation {
	if old := c.convs[v.Key]; old != nil {
		old.Members, old.Admins = append(old.Members, v.Members...), append(old.Admins, v.Admins...)
		return old
	}
	c.convs[v.Key] = &v
	c.convAt[v.Key] = uint32(len(c.inOrder))
	c.inOrder = append(c.inOrder, &v)
	c.report.Read.Conversations++
	return &v
}

// Member notes a member of a conversation that was told before.
func (c *Collector) Member(conversation, user string, admin bool) bool {
	v := c.convs[conversation]
	if v == nil {
		return false
	}
	v.Members = append(v.Members, user)
	if admin {
		v.Admins = append(v.Admins, user)
	}
	return true
}

// LeaveOut counts a message that is none for people here.
func (c *Collector) LeaveOut(m *Message, why string) {
	c.count(m)
	c.drop(m, why)
}

// count counts a message as read.
func (c *Collector) count(m *Message) {
	r := &c.report.Read
	r.Messages++
	if m.Root != "" {
		r.Replies++
	}
	r.Files += int64(len(m.Files))
	r.Reactions += reactions(m)
}

func reactions(m *Message) (n int64) {
	for i := range m.Reactions {
		n += int64(len(m.Reactions[i].Users))
	}
	return n
}

// drop leaves out a message that was counted, with what belongs to it.
func (c *Collector) drop(m *Message, why string) {
	c.report.leave("message", why, 1)
	c.report.leave("reaction", "its message was left out", reactions(m))
	c.report.leave("file", "its message was left out", int64(len(m.Files)))
}

// maxMicros is the end of the year 9999.
const maxMicros = 253402300799999999

// Message takes a message. Its conversation may come later.
func (c *Collector) Message(m Message) error {
	c.count(&m)
	switch {
	case m.Key == "":
		c.Problem(m.Where, "a message without an id")
		c.drop(&m, "it has no id")
		return nil
	case m.At <= 0 || m.At > maxMicros || m.At > c.now.Add(24*time.Hour).UnixMicro():
		c.Problemf(m.Where, "the message has no time that can be: %s", time.UnixMicro(m.At).UTC().Format(time.RFC3339))
		c.drop(&m, "its time cannot be")
		return nil
	}
	if m.Author == "" {
		c.Problem(m.Where, "a message that nobody said")
		c.drop(&m, "nobody said it")
		return nil
	}
	if _, known := c.authors[m.Author]; !known {
		c.authors[m.Author] = author{m.AuthorName, m.Where}
	}
	for i := range m.Files {
		if f := &m.Files[i]; f.Path != "" && !c.has(f.Path) {
			c.Problemf(m.Where, "the file %.200q is not in the export", f.Path)
			f.Path = ""
		}
	}
	if m.Root == m.Key {
		m.Root = ""
	}
	if m.Root != "" {
		if k := threadKey(m.Conversation, m.Root); c.threads[k] == nil {
			c.threads[k] = &thread{}
		}
	}
	return c.sorter.add(m.Conversation, m.At, &m)
}

// settle makes the lists of members what they may be: each once, of users that there are. Who
// wrote something and is unknown becomes a user as well.
func (c *Collector) settle() {
	for _, key := range slices.Sorted(maps.Keys(c.authors)) {
		if c.user(key) == nil {
			a := c.authors[key]
			c.stranger(a.where, key, a.name)
		}
	}
	clear(c.authors)
	for _, v := range c.inOrder {
		v.Members, v.Admins = c.known(v, v.Members), c.known(v, v.Admins)
		if v.Creator != "" {
			if u := c.user(v.Creator); u != nil {
				v.Creator = u.Key
			} else {
				v.Creator = ""
			}
		}
	}
}

// known are the keys of those of users that there are. Others become users that only are what
// they said, so that nothing they said is lost.
func (c *Collector) known(v *Conversation, users []string) []string {
	var keys []string
	for _, k := range users {
		u := c.user(k)
		if u == nil {
			u = c.stranger(v.Where, k, "")
		}
		keys = append(keys, u.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// stranger makes a user of a key that the export says nothing of.
func (c *Collector) stranger(where, key, name string) *User {
	u := &User{Key: key, Display: cmp.Or(name, key), Gone: true}
	c.users[key] = u
	c.order = append(c.order, key)
	c.report.Read.Users++
	c.Problemf(where, "the export does not say who %.80q is; an account is made that nobody can log in to", cmp.Or(name, key))
	return u
}
