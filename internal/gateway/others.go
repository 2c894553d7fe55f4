package gateway

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

// alone is a gateway without others.
type alone struct{}

func (alone) UserHere(im.UserID)          {}
func (alone) UserGone(im.UserID)          {}
func (alone) GroupHere(im.ConversationID) {}
func (alone) GroupGone(im.ConversationID) {}
func (alone) Announce(im.UserID, bool)    {}
func (alone) Watch([]im.UserID)           {}
func (alone) Unwatch([]im.UserID)         {}
