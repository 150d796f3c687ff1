//! A folder of the operating system that is removed at the end.

#![forbid(unsafe_code)]

use super::file_system::{How, Vfs, VfsFile};
use super::real::RealFs;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of folders that this process has made.
static MADE: AtomicU64 = AtomicU64::new(0);

/// The files of the operating system, and a folder among them that ends with this.
#[derive(Debug)]
pub struct TemporaryFs {
    folder: PathBuf,
    /// The process that has made it: a forked child removes nothing.
    process: u32,
}

impl TemporaryFs {
    /// Makes a folder for temporary files that nobody else may enter.
    ///
    /// # Errors
    /// The operating system's errors.
    pub fn new() -> io::Result<Self> {
        let process = process::id();
        loop {
            let number = MADE.fetch_add(1, Relaxed);
            let folder = RealFs.absolute(&std::env::temp_dir().join(format!("holm-{process}-{number}")));
            match DirBuilder::new().mode(0o700).create(&folder) {
                // Left by a process of the same number that was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                done => return done.map(|()| TemporaryFs { folder, process }),
            }
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for TemporaryFs {
    fn drop(&mut self) {
        if self.process == process::id() {
            // The destructor of the last handle has nobody to tell.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

impl Vfs for TemporaryFs {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        RealFs.create_dir(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        RealFs.exists(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        RealFs.list(dir)
    }

    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn VfsFile>> {
        RealFs.open(path, how)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealFs.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealFs.remove(path)
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealFs.rename_dir(from, to)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        RealFs.remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealFs.sync_dir(dir)
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        RealFs.absolute(path)
    }
}
