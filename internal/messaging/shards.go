package messaging

import "github.com/skein-im/skein/internal/im"

// shard is where a conversation's entries are, userShard where a user's marks are.
func (s *Service) shard(c im.ConversationID) im.Shard {
	if s.shards == nil {
		return 0
	}
	return s.shards.Shard(c)
}

func (s *Service) userShard(u im.UserID) im.Shard {
	if s.shards == nil {
		return 0
	}
	return s.shards.UserShard(u)
}

// isNew tells that a conversation has entries after since.
func (s *Service) isNew(c im.ConversationID, head *im.Head, since im.Position) bool {
	return !since.Covers(s.shard(c), head.Pos)
}

// isMoved tells that a mark moved after since. Where there is none, it did not.
func (s *Service) isMoved(m *im.Mark, since im.Position) bool {
	return m.Pos > 0 && !since.Covers(s.userShard(m.User), m.Pos)
}

// activity is what the list is ordered by: the position of the last entry, or where
// there are several shards, whose positions do not compare, its time.
func (s *Service) activity(head *im.Head) uint64 {
	if s.shards == nil {
		return head.Pos
	}
	return uint64(max(head.Time.UnixMilli(), 0))
}
