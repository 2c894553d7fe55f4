package here

import "github.com/skein-im/skein/internal/im"

// Peers are the other gateways, or rather the way to them. Calls never block;
// all but the first four may be lost on the way.
type Peers interface {
	// UserHere has parcels for a user come here from now on, UserGone no more. Calls
	// for one user come in the order of the changes.
	UserHere(u im.UserID)
	UserGone(u im.UserID)
	// GroupHere has parcels for a group come here, GroupGone no more, likewise.
	GroupHere(c im.ConversationID)
	GroupGone(c im.ConversationID)
	// Announce tells who watches a user that they came here, or went.
	Announce(u im.UserID, online bool)
	// Watch asks about users, now and from now on; the answers come to Elsewhere.
	Watch(users []im.UserID)
	// Unwatch ends it.
	Unwatch(users []im.UserID)
}

// Alone is a gateway without others.
type Alone struct{}

func (Alone) UserHere(im.UserID)          {}
func (Alone) UserGone(im.UserID)          {}
func (Alone) GroupHere(im.ConversationID) {}
func (Alone) GroupGone(im.ConversationID) {}
func (Alone) Announce(im.UserID, bool)    {}
func (Alone) Watch([]im.UserID)           {}
func (Alone) Unwatch([]im.UserID)         {}
