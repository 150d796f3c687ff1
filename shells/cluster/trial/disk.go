package trial

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"
)

// disk is the file system of a node alone: an image through a loop device. So it can be full, wait and lose what was
// not synced. The program that makes it runs alone: its mounts end with it.
type disk struct{ image, folder string }

func newDisk(folder string, bytes int64) (*disk, error) {
	made := &disk{image: folder + ".image", folder: folder}
	if err := os.WriteFile(made.image, nil, 0o600); err != nil {
		return nil, err
	}
	if err := errors.Join(os.Truncate(made.image, bytes), os.Mkdir(folder, 0o750)); err != nil {
		return nil, err
	}
	// No part is reserved for privileged users, as nodes are here.
	return made, errors.Join(run("mkfs.ext4", "-q", "-m", "0", made.image), made.mount())
}

func run(words ...string) error {
	said, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", words, err, said)
	}
	return nil
}

// mount mounts the disk, and gives back the room of what was removed from it before. To give it back as it is removed
// loses data: a file system that is shut down does so although the removal is not in its journal.
func (d *disk) mount() error {
	return errors.Join(run("mount", "-o", "loop,nodiscard", d.image, d.folder), run("fstrim", d.folder))
}

// Numbers of ioctl for file systems: FIFREEZE, FITHAW, and FS_IOC_SHUTDOWN, which leaves the journal as it is.
const (
	freeze       = 0xc0045877
	thaw         = 0xc0045878
	shutDown     = 0x8004587d
	withoutFlush = 2
)

func (d *disk) control(number uintptr, value uint32) error {
	root, err := os.Open(d.folder)
	if err != nil {
		return err
	}
	defer root.Close()
	argument := uintptr(unsafe.Pointer(&value))
	if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, root.Fd(), number, argument); failed != 0 {
		return fmt.Errorf("ioctl %x of %s: %w", number, d.folder, failed)
	}
	return nil
}

func (d *disk) filler() string { return filepath.Join(d.folder, "filler") }

// fill takes all of the disk but a share in thousands.
func (d *disk) fill(left int64) error {
	file, err := os.Create(d.filler())
	if err != nil {
		return err
	}
	defer file.Close()
	var found syscall.Statfs_t
	if err := syscall.Statfs(d.folder, &found); err != nil {
		return err
	}
	block := found.Bsize
	blocks := int64(found.Bavail) - int64(found.Blocks)*left/1000
	at := int64(0)
	// The file system needs some blocks for what it notes of the file, and nodes take some meanwhile.
	for step := blocks; step > 0 && at < blocks; {
		err := syscall.Fallocate(int(file.Fd()), 0, at*block, step*block)
		switch {
		case err == nil:
			at += step
		case errors.Is(err, syscall.ENOSPC):
			step /= 2
		default:
			return fmt.Errorf("filling %s: %w", d.folder, err)
		}
		step = min(step, blocks-at)
	}
	return nil
}

// HasDisks returns whether each node has a file system of its own.
func (c *Cluster) HasDisks() bool { return c.disks != nil }

// Fill takes the disk of a node but for a share in thousands of it, and Empty gives it back.
func (c *Cluster) Fill(at int, left int64) error { return c.disks[at].fill(left) }

// Empty gives back what was taken of a node's disk.
func (c *Cluster) Empty(at int) error { return os.Remove(c.disks[at].filler()) }

// Freeze lets all writes to a node's disk wait until Thaw.
func (c *Cluster) Freeze(at int) error { return c.disks[at].control(freeze, 0) }

// Thaw lets writes to a node's disk go on.
func (c *Cluster) Thaw(at int) error { return c.disks[at].control(thaw, 0) }

// LosePower ends nodes, whose disks have then what was synced, and of the rest what the file system has written by
// chance. Nodes do nothing more before that: a sync that is under way when its file system is shut down may succeed,
// although what it was to write is lost.
func (c *Cluster) LosePower(nodes ...int) error {
	for _, at := range nodes {
		if err := c.halt(at); err != nil {
			return err
		}
	}
	for _, at := range nodes {
		if err := c.disks[at].control(shutDown, withoutFlush); err != nil {
			return err
		}
	}
	for _, at := range nodes {
		c.Kill(at)
		// The kernel may still be giving back what the process had.
		err := Until(10*time.Second, func() error { return run("umount", c.disks[at].folder) })
		if err = errors.Join(err, c.disks[at].mount()); err != nil {
			return err
		}
	}
	return nil
}
