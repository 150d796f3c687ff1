//! A limit on the memory of processes, by a control group of Linux. Pages of files count, so data that are larger must
//! be read from the disk. The kernel ends a process of the group that needs more memory of its own. Control groups of
//! both versions serve; the right to create one is needed, which root has.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Where Linux mounts control groups.
const ROOT: &str = "/sys/fs/cgroup";

/// The file of a group that has its processes, and takes the number of one that enters.
const PROCESSES: &str = "cgroup.procs";

/// Attempts to remove a group. The kernel takes a moment to notice that its last process has ended.
const ATTEMPTS: u32 = 100;

/// The memory of this process in bytes, if it is limited.
static LIMIT: OnceLock<u64> = OnceLock::new();

/// The number of the next group of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A control group, for as long as this lives. When it is dropped, this process leaves the group for the one above it,
/// and the group is removed if its other processes have ended.
///
/// ```
/// use holm_bench::confine::Group;
/// // Needs the right to create control groups.
/// if let Ok(group) = Group::create(256 << 20) {
///     group.confinement().enter()?;
///     assert_eq!(holm_bench::confine::limit(), Some(256 << 20));
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Group(Confinement);

/// What a process needs to enter a group. A parent sends it to its children; children of a process that has entered
/// are in the group without it.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Confinement {
    bytes: u64,
    folder: PathBuf,
}

impl Group {
    /// Creates a group whose processes have this many bytes of memory together and no swap.
    ///
    /// # Errors
    /// There are no control groups, or this user may not create one: the message names the file.
    pub fn create(bytes: u64) -> io::Result<Self> {
        let root = Path::new(ROOT);
        let (parent, limit, swap) = match root.join("cgroup.controllers").exists() {
            true => (root.to_owned(), "memory.max", ("memory.swap.max", "0")),
            false => (root.join("memory"), "memory.limit_in_bytes", ("memory.swappiness", "0")),
        };
        let folder = parent.join(format!("holm-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed)));
        fs::create_dir(&folder).map_err(|error| named(&error, "cannot create", &folder))?;
        let group = Group(Confinement { bytes, folder });
        write(&group.0.folder.join(limit), &bytes.to_string())?;
        // A kernel without swap has no such file.
        let _ = write(&group.0.folder.join(swap.0), swap.1);
        Ok(group)
    }

    /// Returns what a process needs to enter.
    #[must_use]
    pub fn confinement(&self) -> Confinement {
        self.0.clone()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Confinement { folder, .. } = &self.0;
        let own = std::process::id().to_string();
        let has_entered = fs::read_to_string(folder.join(PROCESSES)).is_ok_and(|all| all.lines().any(|id| id == own));
        if has_entered && let Some(parent) = folder.parent() {
            let _ = write(&parent.join(PROCESSES), &own);
        }
        for _ in 0..ATTEMPTS {
            match fs::remove_dir(folder) {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => thread::sleep(Duration::from_millis(10)),
                _ => break,
            }
        }
    }
}

impl Confinement {
    /// Returns the memory of the group in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Puts this process into the group. Memory that it has already stays with its former group.
    ///
    /// # Errors
    /// Those of the control group: the message names the file.
    pub fn enter(&self) -> io::Result<()> {
        write(&self.folder.join(PROCESSES), &std::process::id().to_string())?;
        let _ = LIMIT.set(self.bytes);
        Ok(())
    }
}

/// Returns the memory of this process in bytes, if it has entered a group.
#[must_use]
pub fn limit() -> Option<u64> {
    LIMIT.get().copied()
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    fs::write(file, text).map_err(|error| named(&error, "cannot write", file))
}

fn named(error: &io::Error, what: &str, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, ExitStatus};

    /// Runs a program in the group that takes this many mebibytes for one buffer.
    fn take(group: &Group, mebibytes: u64) -> ExitStatus {
        let processes = group.confinement().folder.join(PROCESSES);
        let script = "echo $$ > \"$0\" && exec dd if=/dev/zero of=/dev/null count=1 status=none bs=\"$1\"";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(processes).arg(format!("{mebibytes}M"));
        command.status().expect("there is a shell")
    }

    #[test]
    #[ignore = "needs the right to create control groups"]
    fn a_process_that_needs_more_is_ended_and_another_is_not() {
        let group = Group::create(32 << 20).expect("the right to create control groups");
        assert!(take(&group, 8).success());
        assert!(!take(&group, 256).success());
        let folder = group.confinement().folder;
        drop(group);
        assert!(!folder.exists());
    }
}
