//! A limit on the memory of child processes, by a control group: pages of files count, so data that are larger must be
//! read from the disk. Needs the right to create a control group.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The memory of this process in bytes, if it is limited.
static LIMIT: OnceLock<u64> = OnceLock::new();

/// A control group, for as long as this lives.
pub(crate) struct Group(Confinement);

/// What a child needs to join a group.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Confinement {
    bytes: u64,
    folder: PathBuf,
}

impl Group {
    /// Creates a group with this much memory and no swap.
    ///
    /// # Errors
    /// There are no control groups, or this user may not create one.
    pub(crate) fn create(bytes: u64) -> Result<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let name = format!("holm-rivals-{}", std::process::id());
        let (parent, limit, swap) = match root.join("cgroup.controllers").exists() {
            true => (root.to_owned(), "memory.max", ("memory.swap.max", "0".to_owned())),
            false => (root.join("memory"), "memory.limit_in_bytes", ("memory.swappiness", "0".to_owned())),
        };
        if !parent.exists() {
            bail!("{} is not there: without control groups memory cannot be limited", parent.display());
        }
        let folder = parent.join(name);
        std::fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let group = Group(Confinement { bytes, folder });
        let file = group.0.folder.join(limit);
        std::fs::write(&file, bytes.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
        // A kernel without swap has no such file.
        let _ = std::fs::write(group.0.folder.join(swap.0), swap.1);
        Ok(group)
    }

    pub(crate) fn confinement(&self) -> Confinement {
        self.0.clone()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // All children have ended.
        let _ = std::fs::remove_dir(&self.0.folder);
    }
}

impl Confinement {
    /// Puts this process into the group.
    ///
    /// # Errors
    /// Those of the control group.
    pub(crate) fn enter(&self) -> Result<()> {
        let file = self.folder.join("cgroup.procs");
        std::fs::write(&file, std::process::id().to_string())
            .with_context(|| format!("cannot write {}", file.display()))?;
        let _ = LIMIT.set(self.bytes);
        Ok(())
    }
}

/// Returns the memory of this process in bytes, if it is limited.
pub(crate) fn limit() -> Option<u64> {
    LIMIT.get().copied()
}
