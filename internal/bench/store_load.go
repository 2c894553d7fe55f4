package bench

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// storeLoad makes the messages of the store scenario. Message n is a function of
// n and of when it was first made, so what was stored long ago can be sent again,
// and compared, without being kept.
type storeLoad struct {
	payload int
	users   []im.UserID
	convs   []im.ConversationID // conv i is the dm of users i and i+1
	skew    []int64             // of each user's clock, in ms
	body    []byte              // bodies are slices of it
	start   time.Time
	made    []uint32 // when message n was made, in ms after start
}

func newStoreLoad(conversations, payload int) *storeLoad {
	l := &storeLoad{payload: payload, body: make([]byte, 1<<20+payload), start: time.Now()}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range l.body {
		l.body[i] = byte(rng.Uint32()) // does not compress
	}
	for i := range conversations + 1 {
		l.users = append(l.users, im.UserID(fmt.Sprintf("u%012x", mix(uint64(i))>>16)))
		// Clocks are wrong by up to two seconds, one in 64 by up to ten minutes.
		wrong := int64(2000)
		if i%64 == 63 {
			wrong = 600_000
		}
		l.skew = append(l.skew, rng.Int64N(2*wrong)-wrong)
	}
	for i := range conversations {
		l.convs = append(l.convs, im.DM(l.users[i], l.users[i+1]))
	}
	return l
}

// mix is splitmix64: a number that looks random, from n.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// conversation returns which conversation message n is in.
func (l *storeLoad) conversation(n uint32) int {
	return int((mix(uint64(n)) >> 32 * uint64(len(l.convs))) >> 32)
}

// sender returns who sent message n: a member of its conversation.
func (l *storeLoad) sender(n uint32) int {
	return l.conversation(n) + int(mix(uint64(n))&1)
}

// receiver returns the other member.
func (l *storeLoad) receiver(n uint32) int {
	return l.conversation(n) + 1 - int(mix(uint64(n))&1)
}

// id is a UUIDv7 by the sender's clock; the ids of one sender ascend.
func (l *storeLoad) id(n uint32) im.MessageID {
	var random [10]byte
	binary.BigEndian.PutUint16(random[:], uint16(n>>20))
	binary.BigEndian.PutUint64(random[2:], uint64(n&(1<<20-1))<<42|mix(^uint64(n))>>22)
	at := l.start.Add(time.Duration(int64(l.made[n])+l.skew[l.sender(n)]) * time.Millisecond)
	return im.NewMessageID(at, random)
}

func (l *storeLoad) text(n uint32) []byte {
	at := int(mix(uint64(n)) >> 1 & (1<<20 - 1))
	return l.body[at : at+l.payload : at+l.payload]
}

// item fills it with message n, which is made now unless it was before.
func (l *storeLoad) item(n uint32, it *im.Append) {
	if int(n) == len(l.made) {
		l.made = append(l.made, uint32(time.Since(l.start).Milliseconds()))
	}
	*it = im.Append{
		Entry: im.Entry{
			Conversation: l.convs[l.conversation(n)], ID: l.id(n), Sender: l.users[l.sender(n)], Kind: im.EntryMessage,
			Body: l.text(n),
		},
		Hash: mix(uint64(n) << 1),
	}
}

// itemBytes is what has to be written of a message at the least: every field
// once, as plain bytes.
func (l *storeLoad) itemBytes() int {
	return len(l.convs[0]) + len(im.MessageID{}) + len(l.users[0]) + len("text") + l.payload + 8
}

// storeBook knows what the journal has to hold, and counts where its answers
// differ.
type storeBook struct {
	l      *storeLoad
	seqs   []uint32 // of message n, 0 if it was not stored
	heads  []uint32 // last seq of conversation i
	stored []uint32 // how often the journal said it stored in conversation i

	lost, duplicated, disordered uint64
}

// answered checks the answer about message n. resend tells that it was stored
// before.
func (b *storeBook) answered(n uint32, resend bool, o *im.Appended) {
	if resend {
		switch {
		case o.Status == im.Duplicate && o.Seq == uint64(b.seqs[n]):
		case o.Status == im.Duplicate:
			b.disordered++
		case o.Status == im.Stored:
			b.duplicated++
			b.heads[b.l.conversation(n)] = uint32(o.Seq)
			b.stored[b.l.conversation(n)]++
		default:
			b.lost++
		}
		return
	}
	b.seqs = append(b.seqs, 0)
	if o.Status != im.Stored {
		b.lost++
		return
	}
	c := b.l.conversation(n)
	if o.Seq != uint64(b.heads[c])+1 {
		b.disordered++
	}
	b.heads[c] = uint32(o.Seq)
	b.stored[c]++
	b.seqs[n] = uint32(o.Seq)
}

// head checks the head of a conversation after a reopening.
func (b *storeBook) head(c int, h im.Head) {
	switch want := uint64(b.stored[c]); {
	case h.Seq < want:
		b.lost += want - h.Seq
	case h.Seq > want:
		b.duplicated += h.Seq - want
	}
}

// entries checks a page read from seq `from` of conversation c; want holds the
// message at seq i+1 of it. A page that ends early is the caller's concern.
func (b *storeBook) entries(c int, want []uint32, from uint64, page []im.Entry) {
	next := from
	for i := range page {
		e := &page[i]
		switch {
		case e.Seq < next || e.Seq > uint64(len(want)):
			b.disordered++
			continue
		case e.Seq > next:
			b.lost += e.Seq - next
		}
		next = e.Seq + 1
		n := want[e.Seq-1]
		if e.Conversation != b.l.convs[c] || e.ID != b.l.id(n) || e.Sender != b.l.users[b.l.sender(n)] || string(e.Body) != string(b.l.text(n)) {
			b.disordered++
		}
	}
}

// wanted lists the messages of the given conversations by seq.
func (b *storeBook) wanted(convs []int) map[int][]uint32 {
	want := make(map[int][]uint32, len(convs))
	for _, c := range convs {
		want[c] = make([]uint32, b.heads[c])
	}
	for n, seq := range b.seqs {
		if list := want[b.l.conversation(uint32(n))]; seq > 0 && int(seq) <= len(list) {
			list[seq-1] = uint32(n)
		}
	}
	return want
}
