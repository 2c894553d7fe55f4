// Package remote makes several processes one server: it carries the two seams
// that may cross a process border, im.Logic (gateways and API → logic) and
// im.Dispatch (logic → gateways), over a bus that may lose, repeat and reorder
// anything.
//
// It owns: who is there (heartbeats), which logic node a conversation's requests
// go to (home), what is under way to whom, and what to do when something was
// lost. It must not know what is stored or how, codecs, sockets, or what a call
// means.
//
// # Subjects
//
//	hb         heartbeats of all nodes, every 250 ms
//	l.<node>   to a logic node: sends and requests (link.go → serve.go)
//	n.<node>   to any node: answers, who is online where, and what was forgotten
//	u.<user>   parcels for a user's connections; gateways subscribe while they have any
//	g.<group>  parcels for a group's members; likewise
//	add        entries that add members to a group once more, to all gateways: those
//	           who are added may be where nobody listens to the group yet
//	ctl        Controls, to all gateways
//	inv        pairs of users whose relation changed, to all logic nodes, which
//	           confirm it: a block that was answered counts everywhere (forget.go)
//	p.<user>   a user came or went; gateways subscribe while somebody here watches
//	pq         asks all gateways which of some users are online
//
// # Sends
//
// Sends to one logic node are numbered. The node takes them in the order of their
// numbers without a gap and says which number comes next; after a loss the
// gateway gives everything unanswered new numbers and sends it again, in order.
// The message's id makes that harmless. All unanswered sends of a conversation
// are with one node, so no change of homes can turn them around. When a node is
// gone, silent, or cannot reach its store, what is unanswered moves to another,
// in order.
//
// # Home
//
// The home of a conversation is the ready logic node with the greatest hash of
// both names. It makes batches bigger and caches warm; any node may append to any
// conversation at any time, and nothing is wrong when two think they are home.
//
// # Loss
//
// Heartbeats are numbered and carry a position of the journal. When some are
// missing, a node is gone, or the bus says that it lost something, the gateways
// ask for the heads of all conversations with entries after the last position
// that they heard of in good time, and treat them as beacons: what was lost is
// pulled. Groups are verified by their roster's revision as after any gap.
//
// # Versions
//
// Every message begins with the version of the bus. Nodes of another version are
// named to operators (log, Warnings, metrics), nothing else of theirs is read, and
// what they store is found by comparing, like a loss (versions.go).
//
// # Goroutines and locks
//
// The bus calls Node from one goroutine, which waits for nobody. A ticker beats
// and judges; a writer per logic node gathers what goes to it; shards of the
// serving side take sends, each conversation always the same one; requests have a
// goroutine each, bounded in number. router.mu guards what is under way and
// peers.mu who is there; asking.mu what goes back to one node; forgettings.mu
// whose word is waited for; strangers.mu
// who speaks another version. None is held while
// calling out, but that router.mu is held when a link's queue is filled; they
// are not held together, except peers.mu inside router.mu.
//
// # Invariants
//
//   - every Send gets one reply; a reply that says stored came from a logic node;
//   - replies of one conversation come in the order of its sends;
//   - what is behind a send that was refused for now is refused as well: by the node
//     that refused it, as long as the row of sends lasts (im.Order), and by the
//     router, which gives it to no other node;
//   - a send that a silent node may still store is not refused by another for good:
//     its sender is told to ask again when that is over;
//   - a request is not carried out twice, unless repeating it is harmless;
//   - a node that stood still (frozen, starved) judges nobody until it has read
//     what waited for it;
//   - everything that waits is bounded in number and in time.
package remote
