package app

import (
	"context"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/im"
)

// guestUploads are the uploads of the directory, of which guests have a tenth of what users
// may have. On nodes that take uploads for others it is asked for them as well.
type guestUploads struct{ *directory.DB }

func (g guestUploads) CreateUpload(ctx context.Context, u im.Upload, q im.MediaQuota) error {
	if u.Owner.MayBeGuest() {
		users, err := g.Users(ctx, []im.UserID{u.Owner})
		if err != nil {
			return err
		}
		if len(users) == 1 && users[0].Guest {
			q = im.MediaQuota{Bytes: tenth(q.Bytes), Open: tenth(q.Open), PerHour: tenth(q.PerHour)}
		}
	}
	return g.DB.CreateUpload(ctx, u, q)
}

// tenth is at least 1 of what is limited; 0 is no limit.
func tenth[N int | int64](n N) N {
	if n == 0 {
		return 0
	}
	return max(n/10, 1)
}
