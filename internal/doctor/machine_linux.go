package doctor

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// fsys is a file system.
type fsys struct {
	kind        string
	free, total uint64
}

func fileSystem(dir string) (fsys, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fsys{}, err
	}
	names := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", 0x2fc12fc1: "zfs", unix.F2FS_SUPER_MAGIC: "f2fs",
		unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.NFS_SUPER_MAGIC: "nfs",
		unix.SMB_SUPER_MAGIC: "smb", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb", unix.FUSE_SUPER_MAGIC: "fuse", unix.V9FS_MAGIC: "9p",
	}
	kind := names[int64(uint32(s.Type))]
	if kind == "" {
		kind = fmt.Sprintf("of type %#x", uint32(s.Type))
	}
	return fsys{kind, s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize)}, nil
}

// clock tells whether the kernel's clock follows another one, and by how much it
// may be wrong.
func clock() (synchronised bool, off time.Duration, err error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, 0, err
	}
	return state != unix.TIME_ERROR, time.Duration(t.Maxerror) * time.Microsecond, nil
}
