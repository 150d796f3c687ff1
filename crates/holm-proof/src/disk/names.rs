//! The names on the simulated disk. The creation, change or removal of a name is durable after a sync of its directory.
//! Until then a loss of power decides each change separately, in the order in which they were made. Renaming is one
//! change: the old and the new name are never both gone. Directories are durable at once.

use super::content::Undecided;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The file to which a name leads.
pub(super) type Inode = u64;

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) current: BTreeMap<PathBuf, Inode>,
    pub(super) directories: BTreeSet<PathBuf>,
    durable: BTreeMap<PathBuf, Inode>,
    pending: Vec<(Change, bool)>,
}

#[derive(Clone, Debug)]
enum Change {
    Made(PathBuf, Inode),
    Renamed(PathBuf, PathBuf, Inode),
    Removed(PathBuf),
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<PathBuf, Inode>) {
        match self {
            Change::Made(path, inode) => {
                names.insert(path.clone(), *inode);
            }
            Change::Renamed(from, to, inode) => {
                if names.get(from) == Some(inode) {
                    names.remove(from);
                }
                names.insert(to.clone(), *inode);
            }
            Change::Removed(path) => {
                names.remove(path);
            }
        }
    }

    fn is_in(&self, dir: &Path) -> bool {
        let (Change::Made(path, _) | Change::Renamed(path, _, _) | Change::Removed(path)) = self;
        path.parent() == Some(dir)
    }
}

impl Names {
    pub(super) fn make(&mut self, path: &Path, inode: Inode) {
        self.change(Change::Made(path.to_path_buf(), inode));
    }

    /// Renames a file; returns whether there was such a name.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> bool {
        let Some(&inode) = self.current.get(from) else { return false };
        self.change(Change::Renamed(from.to_path_buf(), to.to_path_buf(), inode));
        true
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
        change.apply(&mut self.current);
        self.pending.push((change, true));
    }

    pub(super) fn sync(&mut self, dir: &Path) {
        let durable = &mut self.durable;
        self.pending.retain(|(change, dirty)| {
            let settled = *dirty && change.is_in(dir);
            if settled {
                change.apply(durable);
            }
            !settled
        });
    }

    pub(super) fn fail_sync(&mut self, dir: &Path) {
        self.pending.iter_mut().filter(|(change, _)| change.is_in(dir)).for_each(|(_, dirty)| *dirty = false);
    }

    pub(super) fn crash(&self, choose: &mut dyn FnMut(Undecided, usize) -> usize) -> Names {
        let mut names = self.durable.clone();
        for (change, _) in &self.pending {
            if choose(Undecided::Name, 2) % 2 == 1 {
                change.apply(&mut names);
            }
        }
        let directories = self.directories.clone();
        Names { current: names.clone(), durable: names, directories, pending: Vec::new() }
    }
}
