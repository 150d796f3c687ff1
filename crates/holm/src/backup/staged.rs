//! An incremental backup that is stored in the folder of the database that it is applied to.
//!
//! It is first stored under one name, verified, and then durably renamed. From then on it is a redo log: to apply it
//! once more has the same result as to apply it once. An opening that finds it applies it, and removes it once its
//! effects are durable. So it must not come to lie in another database's folder.

use super::failed;
use super::format::STREAM;
use crate::engine::Engine;
use crate::error::{Error, Result};
use holm_medium::vfs::{How, Vfs, VfsFile, write_all_at};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The file's name once it is complete.
const STAGED: &str = "increment";

/// Its name before.
const PARTIAL: &str = "increment.new";

/// A database's folder, in which streams are staged.
pub(super) struct Staging<'a> {
    engine: &'a Engine,
    vfs: &'a dyn Vfs,
    folder: &'a Path,
}

impl<'a> Staging<'a> {
    pub(super) fn new(engine: &'a Engine, vfs: &'a dyn Vfs) -> Self {
        Staging { engine, vfs, folder: &engine.store.path }
    }

    /// Returns where a file is. Refuses if the folder was moved, and another database may have its place.
    fn place(&self, name: &str) -> Result<PathBuf> {
        self.engine.refuse_moved()?;
        Ok(self.folder.join(name))
    }

    /// Creates the file for a stream.
    pub(super) fn begin(&self) -> Result<StoredStream> {
        self.remove(PARTIAL)?;
        let path = self.place(PARTIAL)?;
        let file = self.vfs.open(&path, How::CREATE).map_err(failed("creating", &path))?;
        Ok(StoredStream { file, path })
    }

    /// Makes a stream complete: from here on, every opening applies it.
    pub(super) fn complete(&self, stream: StoredStream) -> Result<StoredStream> {
        let StoredStream { file, path } = stream;
        file.sync_all().map_err(failed("syncing", &path))?;
        let staged = self.place(STAGED)?;
        self.vfs.rename(&path, &staged).map_err(failed("renaming", &path))?;
        self.vfs.sync_dir(self.folder).map_err(failed("syncing", self.folder))?;
        Ok(StoredStream { file, path: staged })
    }

    /// Returns the stream that is complete, if there is one.
    pub(super) fn staged(&self) -> Result<Option<StoredStream>> {
        let path = self.place(STAGED)?;
        if !is_staged(self.vfs, self.folder)? {
            return Ok(None);
        }
        let file = self.vfs.open(&path, How::READ).map_err(failed("opening", &path))?;
        Ok(Some(StoredStream { file, path }))
    }

    /// Removes the complete stream: its effects are durable.
    pub(super) fn finish(&self) -> Result<()> {
        self.remove(STAGED)
    }

    /// Removes the stream that has not become complete.
    pub(super) fn discard(&self) -> Result<()> {
        self.remove(PARTIAL)
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.place(name)?;
        if self.vfs.exists(&path).map_err(failed("removing", &path))? {
            self.vfs.remove(&path).map_err(failed("removing", &path))?;
            self.vfs.sync_dir(self.folder).map_err(failed("syncing", self.folder))?;
        }
        Ok(())
    }
}

/// Returns whether a database's folder has a complete stream that is still to be applied.
pub(crate) fn is_staged(vfs: &dyn Vfs, folder: &Path) -> Result<bool> {
    let path = folder.join(STAGED);
    vfs.exists(&path).map_err(failed("opening", &path))
}

/// A stream in a file.
pub(super) struct StoredStream {
    file: Box<dyn VfsFile>,
    path: PathBuf,
}

impl StoredStream {
    /// Returns a reader of `input` that stores in this file what it reads.
    pub(super) fn store<'a>(&'a self, input: &'a mut dyn Read) -> Tee<'a> {
        Tee { input, into: self, at: 0, refused: None }
    }

    /// Names the file in an error about the stream: an opening that fails must say what to look at.
    pub(super) fn named_in(&self, mut error: Error) -> Error {
        if let Error::Corrupt { path, .. } | Error::Foreign { path, .. } = &mut error
            && path == Path::new(STREAM)
        {
            path.clone_from(&self.path);
        }
        error
    }

    /// Returns a reader from the start.
    pub(super) fn reader(&self) -> FileReader<'_> {
        FileReader { file: &*self.file, at: 0 }
    }
}

/// Reads an input and stores what it reads.
pub(super) struct Tee<'a> {
    input: &'a mut dyn Read,
    into: &'a StoredStream,
    at: u64,
    /// Why the file could not be written.
    refused: Option<Error>,
}

impl Tee<'_> {
    /// Returns why the file could not be written, or else the given error.
    pub(super) fn explain(&mut self, error: Error) -> Error {
        self.refused.take().unwrap_or(error)
    }
}

impl Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        if let Err(error) = write_all_at(&*self.into.file, &buffer[..read], self.at) {
            let kind = error.kind();
            self.refused = Some(failed("writing", &self.into.path)(error));
            return Err(kind.into());
        }
        self.at += read as u64;
        Ok(read)
    }
}

/// Reads a file from its start.
pub(super) struct FileReader<'a> {
    file: &'a dyn VfsFile,
    at: u64,
}

impl Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
