//! A file system of its own, in an image file on a loop device, that can lose its power.
//!
//! ext4 and XFS shut down by a system call, which flushes neither journal nor cache. Other file systems have no such
//! call. There the writer is stopped, and the image file is cloned: the clone has what the device had at one instant.
//! Only what lies on XFS is cloned at one instant, so the image file lies on a file system of that kind.

use clap::ValueEnum;
use holm_proof::death::round::Round;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN, without flushing the log. A line of Python makes the system call, because
/// it has no safe form here.
const SHUT_DOWN: &str = "import fcntl,os,struct,sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

/// The length of the image of a file system, in bytes, but for what is loaded first. It is sparse.
const LENGTH: u64 = 512 << 20;

/// Bytes of the image for each byte of pairs that is loaded: some designs leave a part of each block free, and the log
/// is beside them.
const LOADED: u64 = 6;

/// The number of attempts at an unmount that a dying process delays.
const ATTEMPTS: u32 = 100;

/// Set in a process whose mounts nobody else has.
const OWN_MOUNTS: &str = "HOLM_OWN_MOUNTS";

/// Starts this program anew with a mount namespace of its own, where that is possible. Otherwise a program that takes a
/// namespace meanwhile would have the file systems, too: they would stay without power after the unmount, and the next
/// mount would find them so.
pub(crate) fn own_mounts() {
    let namespace = ["--mount", "--propagation", "private"];
    let is_possible =
        || Command::new("unshare").args(namespace).arg("true").output().is_ok_and(|of| of.status.success());
    if std::env::var_os(OWN_MOUNTS).is_none()
        && is_possible()
        && let Ok(program) = std::env::current_exe()
    {
        let mut anew = Command::new("unshare");
        anew.args(namespace).arg(program).args(std::env::args_os().skip(1)).env(OWN_MOUNTS, "1");
        // It returns if it fails; the program then goes on as it is.
        let _ = anew.exec();
    }
}

/// The kinds of file systems whose power can be cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FileSystem {
    Ext4,
    Xfs,
    Btrfs,
}

impl FileSystem {
    fn make(self, image: &Path) -> Result<(), String> {
        let image = image.to_string_lossy();
        match self {
            FileSystem::Ext4 => run("mkfs.ext4", &["-q", "-F", &image]),
            FileSystem::Xfs => run("mkfs.xfs", &["-q", "-f", &image]),
            FileSystem::Btrfs => run("mkfs.btrfs", &["-q", "-f", &image]),
        }
    }

    fn shuts_down(self) -> bool {
        self != FileSystem::Btrfs
    }
}

/// An image file and the folder where its file system is mounted, until this is dropped.
struct Mounted {
    image: PathBuf,
    folder: PathBuf,
}

impl Mounted {
    fn make(kind: FileSystem, image: PathBuf, length: u64, folder: PathBuf) -> Result<Mounted, String> {
        let told = |error: io::Error| error.to_string();
        fs::create_dir(&folder).map_err(told)?;
        File::create(&image).and_then(|file| file.set_len(length)).map_err(told)?;
        kind.make(&image)?;
        let mounted = Mounted { image, folder };
        mounted.mount()?;
        Ok(mounted)
    }

    fn mount(&self) -> Result<(), String> {
        run("mount", &["-o", "loop", &self.image.to_string_lossy(), &self.folder.to_string_lossy()])
    }

    fn unmount(&self) -> Result<(), String> {
        let mut last = Ok(());
        for _ in 0..ATTEMPTS {
            last = run("umount", &[&self.folder.to_string_lossy()]);
            if last.is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        last
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.unmount();
    }
}

/// A file system that can lose its power.
pub(crate) struct Disk {
    kind: FileSystem,
    // Unmounted before the file system that has its image.
    inner: Mounted,
    _outer: Option<Mounted>,
}

impl Disk {
    /// Makes a file system with room for as many bytes of pairs, in files of this folder, and mounts it.
    pub(crate) fn make(kind: FileSystem, root: &Path, pairs: u64) -> Result<Disk, String> {
        let length = LENGTH + LOADED * pairs;
        let outer = match kind.shuts_down() {
            true => None,
            false => Some(Mounted::make(FileSystem::Xfs, root.join("below"), 4 * length, root.join("images"))?),
        };
        let folder = outer.as_ref().map_or(root, |outer| &outer.folder);
        let inner = Mounted::make(kind, folder.join("image"), length, root.join("mount"))?;
        Ok(Disk { kind, inner, _outer: outer })
    }

    /// Where it is mounted.
    pub(crate) fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// Takes the power. The child is stopped first: in a file system that is being shut down, syncs under way succeed
    /// without their data.
    pub(crate) fn cut(&self, child: &Round) -> Result<(), String> {
        child.stop().map_err(|error| format!("stopping the child: {error}"))?;
        if self.kind.shuts_down() {
            return run("python3", &["-c", SHUT_DOWN, &self.inner.folder.to_string_lossy()]);
        }
        let (image, cut) = (self.inner.image.to_string_lossy().into_owned(), self.clone_of_image());
        run("cp", &["--reflink=always", &image, &cut.to_string_lossy()])
    }

    /// Gives the power back after the child's end: mounts what the device had at the cut.
    pub(crate) fn restart(&self) -> Result<(), String> {
        self.inner.unmount()?;
        if !self.kind.shuts_down() {
            fs::rename(self.clone_of_image(), &self.inner.image).map_err(|error| error.to_string())?;
        }
        self.inner.mount()
    }

    fn clone_of_image(&self) -> PathBuf {
        self.inner.image.with_extension("cut")
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
