//! How much of the last writes a power cut may lose. Tests check the table row by row.

use holm_medium::Pace;
use std::time::Duration;

/// What an acknowledged operation survives: [`Builder::durability`](crate::Builder::durability).
///
/// In every mode, the death of the *process* loses nothing (with the default [`ImageMode::Shared`]), and a power cut
/// leaves a prefix of the writes. The modes differ in how long that prefix is. Each open may choose another mode.
///
/// ```
/// use holm::{Database, Durability};
/// use std::time::Duration;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sea.holm");
/// // About 100 ms and one sync are lost.
/// let durability = Durability::Buffered { interval: Duration::from_millis(100) };
/// let db = Database::builder().durability(durability).open(&path)?;
/// db.keyspace("reefs")?.insert("north", "coral")?;
/// db.sync()?; // nothing up to here is lost, in any mode
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// A write returns when it is synced: a power cut loses nothing. All threads share one sync, so throughput grows
    /// with the number of threads. A single thread waits for one sync per write and is faster with a
    /// [`Batch`](crate::Batch). A read returns only data that a power cut can no longer take back.
    Strict,
    /// A write returns at once. A power cut loses at most the writes of the last max(interval, one sync) plus one sync.
    /// Growth of the log and suspension of the process extend this.
    Buffered {
        /// The time between two syncs: 10 ms by default; less than 1 ms counts as 1 ms.
        interval: Duration,
    },
    /// A write returns at once. A power cut loses at most the writes after the last completed
    /// [`sync`](crate::Database::sync).
    OnSync,
}

impl Default for Durability {
    fn default() -> Self {
        Durability::Buffered { interval: Duration::from_millis(10) }
    }
}

/// The interval of modes without a time promise. Epochs still end now and then, which bounds the size of an epoch
/// record.
const UNPROMISED: Duration = Duration::from_millis(100);

impl Durability {
    pub(crate) fn pace(self) -> Pace {
        match self {
            Durability::Strict => Pace::every(UNPROMISED),
            Durability::Buffered { interval } => Pace::every(interval.max(Duration::from_millis(1))),
            Durability::OnSync => Pace::every(UNPROMISED),
        }
    }
}

/// Where an open database keeps its data: [`Builder::image`](crate::Builder::image). Both modes use the same files.
///
/// | | [`Shared`](ImageMode::Shared) | [`Private`](ImageMode::Private) |
/// |---|---|---|
/// | data | may exceed memory: the kernel pages it in and out | must fit in memory, as a copy of its own |
/// | open | maps the files | reads the files |
/// | the process dies | no write is lost | as after a power cut: see [`Durability`] |
/// | a damaged sector | ends the process when it is read | is an error of open |
///
/// ```
/// use holm::{Database, ImageMode};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sea.holm");
/// let db = Database::builder().image(ImageMode::Private).open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageMode {
    /// A shared mapping of the data files. When the process dies, its writes stay in the kernel's page cache.
    #[default]
    Shared,
    /// Private memory of this process, filled from the data files at open. Reads and writes never wait for the kernel's
    /// paging. The log and the checkpoints carry data to the files.
    Private,
}
