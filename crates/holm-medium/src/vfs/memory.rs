//! Files that have no name on any disk: memory of the kernel, mapped as other files are.
//!
//! Names exist in a table of this file system alone. The kernel frees a file when its last descriptor and its last
//! mapping are gone, so nothing is left behind, however the process ends.

#![forbid(unsafe_code)]

use super::file_system::{How, Vfs, VfsFile};
use super::real::RealFile;
use crate::sync::Mutex;
use crate::sys;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// A file system in memory, which ends with its last handle and its last file.
#[derive(Debug, Default)]
pub struct MemoryFs {
    /// The files; `None` is a directory.
    names: Mutex<BTreeMap<PathBuf, Option<File>>>,
}

impl MemoryFs {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<PathBuf, Option<File>>) -> T) -> T {
        work(&mut self.names.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns what a directory has.
fn children<'a>(names: &'a BTreeMap<PathBuf, Option<File>>, dir: &'a Path) -> impl Iterator<Item = &'a Path> {
    names.keys().map(PathBuf::as_path).filter(move |name| name.parent() == Some(dir))
}

impl Vfs for MemoryFs {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.with(|names| match names.entry(path.into()).or_insert(None) {
            None => Ok(()),
            Some(_) => Err(ErrorKind::AlreadyExists.into()),
        })
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.with(|names| names.contains_key(path)))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.with(|names| match names.get(dir) {
            Some(None) => {
                Ok(children(names, dir).filter_map(|name| Some(name.file_name()?.to_str()?.into())).collect())
            }
            Some(Some(_)) => Err(ErrorKind::NotADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        })
    }

    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn VfsFile>> {
        if how.direct {
            return Err(ErrorKind::Unsupported.into());
        }
        let file = self.with(|names| match names.get(path) {
            Some(Some(file)) => file.try_clone(),
            Some(None) => Err(io::Error::new(ErrorKind::InvalidData, "it is not a regular file")),
            None if how.create => {
                let file = sys::anonymous_file()?;
                let copy = file.try_clone()?;
                names.insert(path.into(), Some(file));
                Ok(copy)
            }
            None => Err(ErrorKind::NotFound.into()),
        })?;
        Ok(Box::new(RealFile::new(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.with(|names| {
            let file = names.remove(from).ok_or(ErrorKind::NotFound)?;
            names.insert(to.into(), file);
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.with(|names| names.remove(path)).map(drop).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.with(|names| {
            if children(names, to).next().is_some() {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            let moved: Vec<_> = names.extract_if(.., |name, _| name.starts_with(from)).collect();
            for (name, file) in moved {
                let rest = name.strip_prefix(from).unwrap_or(&name).to_owned();
                // Joining nothing would end the path with a slash.
                names.insert(if rest.as_os_str().is_empty() { to.into() } else { to.join(rest) }, file);
            }
            Ok(())
        })
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.with(|names| {
            if children(names, path).next().is_some() {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            names.remove(path).map(drop).ok_or_else(|| ErrorKind::NotFound.into())
        })
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::{read_exact_at, write_all_at};

    #[test]
    fn names_and_bytes() -> io::Result<()> {
        let (disk, dir) = (MemoryFs::default(), Path::new("/sea"));
        let (one, two) = (dir.join("one"), dir.join("two"));
        disk.create_dir(dir)?;
        disk.create_dir(dir)?;
        assert_eq!(disk.open(&one, How::WRITE).err().map(|error| error.kind()), Some(ErrorKind::NotFound));
        let file = disk.open(&one, How::CREATE)?;
        write_all_at(&*file, b"abcdef", 2)?;
        file.allocate(0, 20_000)?;
        let mut back = [0; 8];
        read_exact_at(&*disk.open(&one, How::READ)?, &mut back, 0)?;
        assert_eq!((&back, file.len()?), (b"\0\0abcdef", 20_000));
        assert!(disk.create_dir(&one).is_err(), "a file is no directory");
        disk.rename(&one, &two)?;
        assert_eq!(disk.list(dir)?, ["two"]);
        assert!(!disk.exists(&one)? && disk.exists(&two)?);
        assert_eq!(disk.remove_dir(dir).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
        disk.rename_dir(dir, Path::new("/reef"))?;
        assert_eq!((disk.list(Path::new("/reef"))?.len(), disk.exists(dir)?), (1, false));
        disk.remove(Path::new("/reef/two"))?;
        assert_eq!(file.len()?, 20_000, "an open file outlives its name");
        disk.remove_dir(Path::new("/reef"))
    }

    #[test]
    fn files_of_two_disks_are_apart() -> io::Result<()> {
        let (one, two) = (MemoryFs::default(), MemoryFs::default());
        let name = Path::new("/file");
        write_all_at(&*one.open(name, How::CREATE)?, b"one", 0)?;
        assert!(!two.exists(name)?);
        let (first, second) = (one.open(name, How::WRITE)?, two.open(name, How::CREATE)?);
        assert!(first.lock(true)? && second.lock(true)?);
        assert_ne!(first.identity()?, second.identity()?);
        Ok(())
    }
}
