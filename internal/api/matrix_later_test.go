package api

import (
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func inAnHour() int64 { return time.Now().Add(time.Hour).UnixMilli() }

// bobSchedules is a scheduled message of bob's.
func (s *scene) bobSchedules() []byte { return s.scheduledBy(s.bob) }

// schedules is a scheduled message of who calls, to the group; of who may not write there
// it is one that there never was.
func (s *scene) schedules() []byte {
	if s.me.session == "" {
		id := im.NewMessageID(time.Now(), [10]byte{1})
		return id[:]
	}
	return s.scheduledBy(s.me)
}

func (s *scene) scheduledBy(p person) []byte {
	s.t.Helper()
	id := im.NewMessageID(time.Now(), [10]byte{2})
	r := wire.ScheduleMessageResponse{Id: id[:]}
	s.call(p.token, "MessageService/ScheduleMessage", &wire.ScheduleMessageRequest{
		Message: &wire.SendMessageRequest{Conversation: s.group, Content: text("later")}, AtMs: inAnHour(),
	}, &r)
	return r.GetId()
}
