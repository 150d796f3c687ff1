//! Seeded random numbers, temporary folders, and the final checks of every test.

use holm::{Builder, Database, Durability, Result};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use tempfile::TempDir;

/// A seeded generator, the same on every platform.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// Returns a number less than `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Returns true once in `count` calls, on average.
    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// Stops other threads when it is dropped, also after a failed assertion; otherwise they and the test would run for
/// ever.
pub(crate) struct Stop<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder of our own")
}

/// Longer than any test takes.
pub(crate) const LONG: Duration = Duration::from_secs(3_600);

/// The design of a database for which none is chosen.
pub(crate) const DEFAULT: &str = "buffered";

/// The variable with the design that this process tests, in place of the default.
pub(crate) const DESIGN: &str = "HOLM_DESIGN";

/// Whether leaf blocks have the records of their pairs, in the design that this process tests.
pub(crate) fn leaves_have_records() -> bool {
    std::env::var(DESIGN).is_ok_and(|design| design == "clustered")
}

/// A builder over the design that this process tests.
pub(crate) fn builder() -> Builder {
    match std::env::var(DESIGN) {
        Ok(design) => Database::builder().design(&design),
        Err(_) => Database::builder(),
    }
}

/// As [`Database::open`], over the design that this process tests.
pub(crate) fn open(path: impl AsRef<Path>) -> Result<Database> {
    builder().open(path)
}

/// Opens a database that syncs only on demand, which makes tests fast.
pub(crate) fn relaxed(path: &Path) -> Database {
    builder().durability(Durability::OnSync).open(path).expect("a sound database")
}

/// Verifies everything.
#[track_caller]
pub(crate) fn assert_sound(db: &Database) {
    let faults = db.check().expect("a check tells, it does not fail").faults;
    assert!(faults.is_empty(), "{} faults, the first: {:#?}", faults.len(), &faults[..faults.len().min(3)]);
}

/// Bytes that a folder's files occupy on disk.
pub(crate) fn on_disk(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = std::fs::read_dir(path).expect("a folder");
    let blocks = |file: std::io::Result<std::fs::DirEntry>| match file.and_then(|file| file.metadata()) {
        // A segment of the log may go between the two calls.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        metadata => metadata.expect("a file").blocks(),
    };
    files.map(|file| blocks(file) * 512).sum()
}

/// Bytes of the two data files, without the log.
pub(crate) fn data_bytes(path: &Path) -> u64 {
    ["leaves", "records"].iter().map(|name| std::fs::metadata(path.join(name)).expect("there").len()).sum()
}

/// Bytes that the two data files occupy on disk, without the log.
pub(crate) fn data_on_disk(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let file = |name: &&str| std::fs::metadata(path.join(name)).expect("there").blocks() * 512;
    ["leaves", "records"].iter().map(file).sum()
}

/// Copies a folder's files, as a crash of the machine might leave them.
pub(crate) fn copy(from: &Path, to: &Path) {
    while let Err(error) = try_copy(from, to) {
        // A checkpoint beside it gives a file another name, or gives up one of the log. The folder stays.
        assert!(error.kind() == std::io::ErrorKind::NotFound && from.is_dir(), "room for a copy: {error}");
        std::fs::remove_dir_all(to).expect("a copy");
    }
}

fn try_copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for file in std::fs::read_dir(from)? {
        let file = file?;
        std::fs::copy(file.path(), to.join(file.file_name()))?;
    }
    Ok(())
}
