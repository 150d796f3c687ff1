//! The names on the simulated disk. The creation, change or removal of a name is durable after a sync of its directory.
//! Until then a loss of power decides each change separately, in the order in which they were made. Renaming is one
//! change, also of a directory: the old and the new name are never both gone. That a directory was removed is durable
//! at once.

use super::content::Undecided;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The file to which a name leads.
pub(super) type Inode = u64;

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) current: BTreeMap<PathBuf, Inode>,
    directories: BTreeSet<PathBuf>,
    durable: (BTreeMap<PathBuf, Inode>, BTreeSet<PathBuf>),
    pending: Vec<(Change, bool)>,
}

#[derive(Clone, Debug)]
enum Change {
    Made(PathBuf, Inode),
    MadeDirectory(PathBuf),
    Renamed(PathBuf, PathBuf, Inode),
    RenamedDirectory(PathBuf, PathBuf),
    Removed(PathBuf),
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<PathBuf, Inode>, directories: &mut BTreeSet<PathBuf>) {
        match self {
            Change::Made(path, inode) => {
                names.insert(path.clone(), *inode);
            }
            Change::MadeDirectory(path) => {
                directories.insert(path.clone());
            }
            Change::Renamed(from, to, inode) => {
                if names.get(from) == Some(inode) {
                    names.remove(from);
                }
                names.insert(to.clone(), *inode);
            }
            Change::RenamedDirectory(from, to) => {
                *names =
                    std::mem::take(names).into_iter().map(|(path, inode)| (moved(path, from, to), inode)).collect();
                *directories = std::mem::take(directories).into_iter().map(|path| moved(path, from, to)).collect();
            }
            Change::Removed(path) => {
                names.remove(path);
            }
        }
    }

    fn is_in(&self, dir: &Path) -> bool {
        let (Change::Made(path, _)
        | Change::MadeDirectory(path)
        | Change::Renamed(path, _, _)
        | Change::RenamedDirectory(path, _)
        | Change::Removed(path)) = self;
        path.parent() == Some(dir)
    }

    /// The same change after a directory above it has another name.
    fn moved(self, from: &Path, to: &Path) -> Self {
        let moved = |path| moved(path, from, to);
        match self {
            Change::Made(path, inode) => Change::Made(moved(path), inode),
            Change::MadeDirectory(path) => Change::MadeDirectory(moved(path)),
            Change::Renamed(old, new, inode) => Change::Renamed(moved(old), moved(new), inode),
            Change::RenamedDirectory(old, new) => Change::RenamedDirectory(moved(old), moved(new)),
            Change::Removed(path) => Change::Removed(moved(path)),
        }
    }
}

/// Returns a path after a directory has another name.
fn moved(path: PathBuf, from: &Path, to: &Path) -> PathBuf {
    match path.strip_prefix(from) {
        // `join` of an empty path would add a separator.
        Ok(rest) if rest.as_os_str().is_empty() => to.into(),
        Ok(rest) => to.join(rest),
        Err(_) => path,
    }
}

impl Names {
    pub(super) fn directories(&self) -> &BTreeSet<PathBuf> {
        &self.directories
    }

    /// Makes the directory of a new disk.
    pub(super) fn make_root(&mut self, path: &Path) {
        self.directories.insert(path.into());
        self.durable.1.insert(path.into());
    }

    /// Makes a directory, if it is not there.
    pub(super) fn make_dir(&mut self, path: &Path) {
        if !self.directories.contains(path) {
            self.change(Change::MadeDirectory(path.to_path_buf()));
        }
    }

    pub(super) fn make(&mut self, path: &Path, inode: Inode) {
        self.change(Change::Made(path.to_path_buf(), inode));
    }

    /// Renames a file; returns whether there was such a name.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> bool {
        let Some(&inode) = self.current.get(from) else { return false };
        self.change(Change::Renamed(from.to_path_buf(), to.to_path_buf(), inode));
        true
    }

    /// Whether no file and no directory lies in a directory, or there is none.
    pub(super) fn is_empty_dir(&self, dir: &Path) -> bool {
        !self.current.keys().chain(&self.directories).any(|path| path.parent() == Some(dir))
    }

    /// Renames a directory; returns whether there was such a name.
    pub(super) fn rename_dir(&mut self, from: &Path, to: &Path) -> bool {
        let there = self.directories.contains(from);
        if there {
            self.change(Change::RenamedDirectory(from.to_path_buf(), to.to_path_buf()));
        }
        there
    }

    /// Removes a directory; returns whether there was one.
    pub(super) fn remove_dir(&mut self, path: &Path) -> bool {
        self.durable.1.remove(path);
        self.pending.retain(|(change, _)| !matches!(change, Change::MadeDirectory(made) if made == path));
        self.directories.remove(path)
    }

    /// Removes a name; returns whether it existed.
    pub(super) fn remove(&mut self, path: &Path) -> bool {
        let there = self.current.contains_key(path);
        if there {
            self.change(Change::Removed(path.to_path_buf()));
        }
        there
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.current, &mut self.directories);
        self.pending.push((change, true));
    }

    pub(super) fn sync(&mut self, dir: &Path) {
        let mut left: Vec<(Change, bool)> = Vec::new();
        for (change, dirty) in std::mem::take(&mut self.pending) {
            if !dirty || !change.is_in(dir) {
                left.push((change, dirty));
                continue;
            }
            change.apply(&mut self.durable.0, &mut self.durable.1);
            if let Change::RenamedDirectory(from, to) = &change {
                // What was changed in it before is still undecided, under its new name.
                left = left.into_iter().map(|(change, dirty)| (change.moved(from, to), dirty)).collect();
            }
        }
        self.pending = left;
    }

    pub(super) fn fail_sync(&mut self, dir: &Path) {
        self.pending.iter_mut().filter(|(change, _)| change.is_in(dir)).for_each(|(_, dirty)| *dirty = false);
    }

    pub(super) fn crash(&self, choose: &mut dyn FnMut(Undecided, usize) -> usize) -> Names {
        let (mut names, mut directories) = self.durable.clone();
        for (change, _) in &self.pending {
            if choose(Undecided::Name, 2) % 2 == 1 {
                change.apply(&mut names, &mut directories);
            }
        }
        // A file that was made in a directory under a name that the directory has lost again is gone with it.
        names.retain(|path, _| path.parent().is_some_and(|parent| directories.contains(parent)));
        Names {
            current: names.clone(),
            directories: directories.clone(),
            durable: (names, directories),
            pending: vec![],
        }
    }
}
