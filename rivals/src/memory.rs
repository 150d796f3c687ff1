//! The space that a run occupies: memory of this process, by kind, and disk blocks of a folder.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// The sampling interval. Reading the figures takes some 20 microseconds, so a sample costs 0.04 percent of the
/// interval.
const EVERY: Duration = Duration::from_millis(50);

/// Resident bytes of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Memory {
    /// Heap, stacks, private images.
    pub(crate) anonymous: u64,
    /// Mapped files, including the program's own code (some 10 MB), and shared memory.
    pub(crate) file: u64,
}

impl Memory {
    /// # Errors
    /// The process file system is not mounted.
    pub(crate) fn now() -> std::io::Result<Self> {
        Ok(Self::parse(&std::fs::read_to_string("/proc/self/status")?))
    }

    /// Returns the sum.
    pub(crate) fn bytes(self) -> u64 {
        self.anonymous + self.file
    }

    fn parse(status: &str) -> Self {
        let bytes = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kibibytes = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
            kibibytes.unwrap_or(0) * 1024
        };
        Self { anonymous: bytes("RssAnon:"), file: bytes("RssFile:") + bytes("RssShmem:") }
    }
}

/// The space that a run occupies at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Space {
    pub(crate) disk_bytes: u64,
    pub(crate) memory: Memory,
}

impl Space {
    /// Returns the memory of this process, and the disk space of the folder.
    ///
    /// # Errors
    /// The process file system is not mounted, or the folder cannot be read.
    pub(crate) fn now(folder: &Path) -> std::io::Result<Self> {
        Ok(Self { disk_bytes: disk_bytes(folder)?, memory: Memory::now()? })
    }
}

/// Samples memory, and records the maximum of each kind.
pub(crate) struct MemorySampler {
    peaks: Arc<Peaks>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Peaks {
    anonymous: AtomicU64,
    file: AtomicU64,
    done: AtomicBool,
}

impl Peaks {
    fn look(&self) {
        // If the figures cannot be read they stay 0, which the table shows as absent.
        let now = Memory::now().unwrap_or_default();
        self.anonymous.fetch_max(now.anonymous, Relaxed);
        self.file.fetch_max(now.file, Relaxed);
    }
}

impl MemorySampler {
    pub(crate) fn start() -> Self {
        let peaks = Arc::new(Peaks::default());
        let watched = peaks.clone();
        let thread = std::thread::spawn(move || {
            while !watched.done.load(Relaxed) {
                watched.look();
                std::thread::sleep(EVERY);
            }
        });
        Self { peaks, thread }
    }

    /// Returns the maxima since the start.
    pub(crate) fn peak(self) -> Memory {
        self.peaks.look();
        self.peaks.done.store(true, Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Memory { anonymous: self.peaks.anonymous.load(Relaxed), file: self.peaks.file.load(Relaxed) }
    }
}

/// Returns the bytes of the blocks of all files below the folder. Holes do not count. Files that vanish meanwhile, as a
/// compaction's do, do not count either.
pub(crate) fn disk_bytes(folder: &Path) -> std::io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut total = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Ok(metadata) = path.symlink_metadata() else { continue };
        total += if metadata.is_dir() { disk_bytes(&path)? } else { metadata.blocks() * 512 };
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_parsed_by_kind() {
        let status = "Name:\tx\nRssAnon:\t     100 kB\nRssFile:\t      20 kB\nRssShmem:\t       3 kB\n";
        assert_eq!(Memory::parse(status), Memory { anonymous: 100 << 10, file: 23 << 10 });
    }

    #[test]
    fn the_watch_sees_memory_that_was_given_back() {
        let before = Memory::now().unwrap();
        let watch = MemorySampler::start();
        let block = vec![1_u8; 256 << 20];
        // Until the sampler has seen it, however long that takes.
        while watch.peaks.anonymous.load(Relaxed) < before.anonymous + (200 << 20) {
            std::thread::yield_now();
        }
        drop(std::hint::black_box(block));
        assert!(watch.peak().anonymous >= before.anonymous + (200 << 20));
    }

    #[test]
    fn disk_counts_blocks_in_all_folders_and_no_holes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        std::fs::write(folder.path().join("below/full"), vec![1; 100_000]).unwrap();
        std::fs::File::create(folder.path().join("sparse")).unwrap().set_len(1 << 30).unwrap();
        rustix::fs::sync();
        let bytes = disk_bytes(folder.path()).unwrap();
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
    }
}
