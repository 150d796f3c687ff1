//! One keyspace's tree, its name and its options, shared by all handles of the keyspace.

use crate::error::{Error, Result};
use crate::expiry::{ReadView, ValueFormat};
use crate::keyspace_options::KeyspaceOptions;
use crate::wall_clock::WallClock;
use holm_medium::MediumError;
use holm_medium::sync::atomic::{AtomicU64, Ordering};
use holm_tree::TreeRoot;
use std::sync::Arc;

/// One keyspace's tree.
pub(crate) struct KeyspaceTree {
    pub(crate) name: String,
    pub(crate) root: TreeRoot,
    pub(crate) options: KeyspaceOptions,
    /// How its records hold values.
    pub(crate) format: ValueFormat,
    /// The time in the catalog by which expired records may have been removed.
    pub(crate) swept_by: AtomicU64,
    /// The number of backups and snapshots that keep it.
    keepers: AtomicU64,
}

impl KeyspaceTree {
    pub(crate) fn new(name: &str, root: TreeRoot, options: KeyspaceOptions) -> Arc<Self> {
        let format = options.format();
        let (swept_by, keepers) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(KeyspaceTree { name: name.into(), root, options, format, swept_by, keepers })
    }

    /// Returns what a reader sees now.
    #[inline]
    pub(crate) fn view(&self, wall_clock: &WallClock) -> ReadView {
        self.format.view(|| wall_clock.now())
    }

    /// Refuses a keyspace whose keys cannot expire.
    pub(crate) fn check_expires(&self) -> Result<()> {
        if self.format == ValueFormat::Plain {
            let what = format!("the keyspace {:?} was created without expiry, expected one with", self.name);
            return Err(Error::Invalid { what });
        }
        Ok(())
    }

    /// Refuses a keyspace that was dropped, or that has a leaf which was found damaged. A writer checks after it has
    /// pinned its epoch. A drop sets the mark and then waits for the epoch to end, so each writer that the drop does
    /// not wait for sees the mark. A reader checks after it has copied its result: leaves of a dropped tree may belong
    /// to another keyspace by then.
    #[inline]
    pub(crate) fn check_not_dropped(&self) -> Result<()> {
        if self.root.is_given_up() { Err(self.given_up()) } else { Ok(()) }
    }

    #[cold]
    fn given_up(&self) -> Error {
        let dropped = || Error::Dropped { keyspace: self.name.clone() };
        self.root.damage().map_or_else(dropped, |damage| damage.clone().into())
    }

    /// Refuses a keyspace that has a leaf which was found damaged.
    pub(crate) fn check_sound(&self) -> Result<()> {
        self.root.damage().map_or(Ok(()), |damage| Err(damage.clone().into()))
    }

    /// Refuses a keyspace whose leaves may belong to another one by now. For a reader that keeps it.
    pub(crate) fn check_not_freed(&self) -> Result<()> {
        if self.root.is_freed() { Err(self.given_up()) } else { Ok(()) }
    }

    /// Keeps leaves and records, also if the keyspace is dropped, until as many calls of [`KeyspaceTree::let_go`]. The
    /// caller knows that it is not freed meanwhile.
    pub(crate) fn keep(&self) {
        self.keepers.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns whether the keyspace has been dropped meanwhile. The caller then frees it if nobody else does. Of this
    /// caller and the one that drops the keyspace, at least one sees what the other has done.
    pub(crate) fn let_go(&self) -> bool {
        self.keepers.fetch_sub(1, Ordering::SeqCst);
        self.root.is_dropped()
    }

    /// Returns whether a backup or a snapshot keeps the keyspace. Once its name is gone, no further one begins to,
    /// unless another one keeps it.
    pub(crate) fn is_kept(&self) -> bool {
        self.keepers.load(Ordering::SeqCst) > 0
    }

    /// Explains why a change was refused: `Dropped` if the keyspace was dropped, else the given error.
    pub(crate) fn explain(&self, error: MediumError) -> Error {
        self.check_not_dropped().err().unwrap_or_else(|| error.into())
    }
}
