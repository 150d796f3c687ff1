//! A medium that is accessed by loads and stores, and the thread that ends its epochs.
//!
//! It is new and empty, and lies in a folder of its own if it needs files. Dropping it deletes it: PiBench loads before
//! it measures.

use crate::settings::{Kind, Settings};
use anyhow::{Context, Result, bail};
use holm_medium::vfs::{How, RealFs, Vfs};
use holm_medium::{Backing, Counts, EpochTimer, FIRST_EPOCH, Latency, Mapped, MappedOptions, Pace, Storage, Writer};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// The medium.
pub(crate) struct MappedStorage {
    pub(crate) writer: Arc<Writer<Mapped>>,
    _epoch_timer: EpochTimer,
    /// Dropped after the medium that maps files in it.
    _folder: Option<TempDir>,
}

impl MappedStorage {
    pub(crate) fn open(path: &Path, settings: &Settings) -> Result<Self> {
        let options = MappedOptions {
            latency: Latency::per_line(settings.flush_ns),
            count: settings.stats,
            ..MappedOptions::default()
        };
        let backing = match settings.kind {
            Kind::Memory => None,
            Kind::Tmpfs => {
                Some((Backing::File, if path.as_os_str().is_empty() { Path::new("/dev/shm") } else { path }))
            }
            Kind::Dax => Some((Backing::Dax, path)),
            Kind::File => bail!("files are the store's"),
        };
        let folder = backing.map(|(_, path)| folder_in(path)).transpose()?;
        let medium = match (&folder, backing) {
            (Some(folder), Some((backing, _))) => {
                let open = |name: &str| {
                    let file = RealFs.open(&folder.path().join(name), How::CREATE)?;
                    // Only a mapping shows that a file system is not on persistent memory.
                    if backing == Backing::Dax {
                        file.allocate(0, PAGE)?;
                    }
                    std::io::Result::Ok(file)
                };
                let files = [open("leaves"), open("records")];
                let [leaves, records] =
                    files.map(|file| file.with_context(|| format!("in {}", folder.path().display())));
                let mapped = Mapped::files(folder.path(), [leaves?, records?], backing, options);
                mapped
                    .with_context(|| format!("HOLM_MEDIUM={} in {}", settings.kind.name(), folder.path().display()))?
            }
            _ => Mapped::anonymous(options)?,
        };
        let writer = Arc::new(Storage::open(medium, FIRST_EPOCH)?);
        let timer = EpochTimer::start(writer.clone(), Pace::every(settings.interval()), NonZero::<usize>::MIN)?;
        Ok(MappedStorage { writer, _epoch_timer: timer, _folder: folder })
    }

    pub(crate) fn counts(&self) -> Counts {
        self.writer.storage().medium.counts()
    }
}

/// Creates a folder in the given folder, or beside the given file.
pub(crate) fn folder_in(path: &Path) -> Result<TempDir> {
    let parent = match path.parent() {
        _ if path.is_dir() => path.to_owned(),
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let made = tempfile::Builder::new().prefix("holm-pibench-").tempdir_in(&parent);
    made.with_context(|| format!("making a folder in {}", parent.display()))
}
