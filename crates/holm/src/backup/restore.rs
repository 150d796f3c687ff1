//! A new database of a whole backup. It is made under another name, and gets its own once it is complete.

use super::base::Base;
use super::pipe::pipe;
use super::reader::{Item, StreamReader};
use super::{BackupInfo, failed};
use crate::durability::Durability;
use crate::engine::{Engine, refuse_background_thread};
use crate::error::{Error, Result};
use crate::expiry::StoredValue;
use crate::keyspace_options::KeyspaceOptions;
use crate::keyspace_tree::KeyspaceTree;
use crate::mark::MARK;
use crate::operation::Operation;
use crate::options::Builder;
use crate::record_buffer::write_record;
use holm_medium::log::is_segment_name;
use holm_medium::vfs::{How, Vfs, VfsFile};
use holm_medium::{CREATED_FILES, INDEX_FILE, NEW_INDEX_FILE, UNFINISHED_FILE};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Restores a stream to a folder.
pub(super) fn restore(builder: &Builder, stream: &mut dyn Read, folder: &Path) -> Result<BackupInfo> {
    refuse_if_used(&*builder.vfs, folder)?;
    // Before anything is created: what is no whole backup leaves no trace.
    let stream = StreamReader::begin(stream)?;
    if stream.header().base != 0 {
        let found = "no database: the folder is new".into();
        let expected = format!("a copy at epoch {}: the backup is incremental", stream.header().base);
        return Err(Error::WrongBase { found, expected });
    }
    build(builder, folder, |engine| fill(engine, stream))
}

/// Makes a new database under another name, fills it, and gives it its own. The folder does not exist, or is empty.
///
/// # Errors
/// As [`Database::restore`](crate::Database::restore), and those of `fill`. The folder is as before.
pub(crate) fn build<T>(builder: &Builder, folder: &Path, fill: impl FnOnce(&Arc<Engine>) -> Result<T>) -> Result<T> {
    let vfs = builder.vfs.clone();
    refuse_if_used(&*vfs, folder)?;
    // Before the work: the new database is closed at its end.
    refuse_background_thread()?;
    let folder = &*replaceable(folder)?;
    let partial = partial_of(folder)?;
    remove_stale(&*vfs, &partial)?;
    // The mark is locked until the superblock is.
    let created = mark_unfinished(&*vfs, &partial)
        .and_then(|_mark| builder.clone().create(true).durability(Durability::OnSync).open(&partial));
    let db = created.inspect_err(|_| {
        // Only what no process has locked: another attempt may have begun at the same time.
        let _ = remove_stale(&*vfs, &partial);
    })?;
    let made = fill(&db.engine).and_then(|info| db.close().map(|()| info));
    let named = made.and_then(|info| give_name(&*vfs, &partial, folder).map(|()| info));
    if named.is_err() {
        // The error says more than a failure to clean up would; the next attempt removes what is left.
        let _ = remove_folder(&*vfs, &partial);
    }
    named
}

/// Restores to a folder what `write` writes to a stream.
pub(super) fn copy(
    builder: &Builder,
    folder: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<BackupInfo> + Send,
) -> Result<BackupInfo> {
    let (mut from, mut to) = pipe();
    holm_medium::sync::thread::scope(|scope| {
        let writer = scope.spawn(move || write(&mut to));
        let restored = restore(builder, &mut from, folder);
        // If the restoration has failed, this ends the writer.
        drop(from);
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (restored, written) {
            (Ok(info), _) => Ok(info),
            // A stream that ends early is the consequence of what the writer has met, unless that is the pipe's end.
            (Err(Error::Corrupt { .. } | Error::Foreign { .. }), Err(error)) if !is_broken_pipe(&error) => Err(error),
            (Err(error), _) => Err(error),
        }
    })
}

fn is_broken_pipe(error: &Error) -> bool {
    matches!(error, Error::Io { kind: io::ErrorKind::BrokenPipe, .. })
}

/// Refuses a folder that contains anything.
fn refuse_if_used(vfs: &dyn Vfs, folder: &Path) -> Result<()> {
    match vfs.list(folder).map(|names| names.is_empty()) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let what = "found a folder that has something in it, expected an empty one, or none";
            Err(failed("creating", folder)(io::Error::new(io::ErrorKind::AlreadyExists, what)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("creating", folder)(error)),
    }
}

/// The folder that a database can take the place of: the one that a link leads to.
///
/// # Errors
/// `Invalid`: a link that leads to nothing, or the root of a file system that is mounted there. The folder would be
/// found not to be replaceable once the database is complete.
fn replaceable(folder: &Path) -> Result<PathBuf> {
    let refused = |found: &str| {
        let what = format!("{}: found {found}, expected an empty folder, a link to one, or nothing", folder.display());
        Err(Error::Invalid { what })
    };
    // A slash behind the name of a link would be a path through it.
    let folder = folder.components().as_path();
    let is_link = folder.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let place = match is_link.then(|| folder.canonicalize()) {
        None => folder.to_path_buf(),
        Some(Ok(target)) => target,
        Some(Err(_)) => return refused("a link to nothing"),
    };
    let device = |path: &Path| path.metadata().map(|found| found.dev());
    match (device(&place), device(parent_of(&place))) {
        (Ok(own), Ok(around)) if own != around => refused("the root of another file system"),
        _ => Ok(place),
    }
}

/// The longest name of a file or folder, in bytes.
const LONGEST_NAME: usize = 255;

/// The name under which the database is made.
///
/// # Errors
/// `Invalid`: the path ends in no name, or in one that leaves no room for what is appended here.
fn partial_of(folder: &Path) -> Result<PathBuf> {
    let what = || Error::Invalid { what: format!("{} names no folder", folder.display()) };
    let mut name: OsString = folder.file_name().ok_or_else(what)?.into();
    let most = LONGEST_NAME - PARTIAL.len() - STALE.len();
    if name.len() > most {
        let found = name.len();
        return Err(Error::Invalid { what: format!("a folder's name of {found} bytes, expected at most {most}") });
    }
    name.push(PARTIAL);
    Ok(folder.with_file_name(name))
}

const PARTIAL: &str = ".partial";
const STALE: &str = ".stale";

/// The name that an earlier attempt gets while it is removed.
fn stale_of(partial: &Path) -> PathBuf {
    let mut stale = partial.as_os_str().to_owned();
    stale.push(STALE);
    stale.into()
}

/// Returns whether [`build`] of a database in `folder` would change the folder `kept`, or remove it as what an earlier
/// attempt has left.
pub(crate) fn would_change(kept: &Path, folder: &Path) -> Result<bool> {
    let resolved = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or(path.into());
    let folder = &*replaceable(folder)?;
    let (kept, partial) = (resolved(kept), partial_of(folder)?);
    let is_kept = |path: &Path| resolved(path) == kept;
    Ok(resolved(parent_of(folder)).starts_with(&kept) || is_kept(&partial) || is_kept(&stale_of(&partial)))
}

/// The files that carry the lock of a database, or of one that is being created.
const LOCKED: [&str; 3] = ["superblock", "superblock.new", UNFINISHED_FILE];

/// Creates the folder of an attempt with the mark that it is one, which alone allows a later attempt to remove it.
/// Returns the mark with its lock.
///
/// # Errors
/// `Locked`: another attempt has begun at the same time.
fn mark_unfinished(vfs: &dyn Vfs, partial: &Path) -> Result<Box<dyn VfsFile>> {
    let path = partial.join(UNFINISHED_FILE);
    vfs.create_dir(partial).map_err(failed("creating", partial))?;
    let mark = vfs.open(&path, How::CREATE).map_err(failed("creating", &path))?;
    if !mark.lock(true).map_err(failed("locking", &path))? {
        return Err(Error::Locked { holder: mark.lock_holder(), path });
    }
    // Before any other file is: a loss of power leaves no database without its mark.
    vfs.sync_dir(partial).map_err(failed("syncing", partial))?;
    Ok(mark)
}

/// Removes what attempts left that were cut short.
///
/// # Errors
/// `Locked`: the attempt is not over. `Foreign`: the folder holds something else.
fn remove_stale(vfs: &dyn Vfs, partial: &Path) -> Result<()> {
    let stale = &*stale_of(partial);
    // An attempt that was cut short while it removed an earlier one has left this.
    if leftovers(vfs, stale)?.is_some() {
        remove_folder(vfs, stale).map_err(failed("removing", stale))?;
    }
    let Some(names) = leftovers(vfs, partial)? else { return Ok(()) };
    let mut locks = Vec::new();
    for path in names.iter().filter(|name| LOCKED.contains(&&***name)).map(|name| partial.join(name)) {
        let file = vfs.open(&path, How::WRITE).map_err(failed("opening", &path))?;
        if !file.lock(true).map_err(failed("locking", &path))? {
            return Err(Error::Locked { holder: file.lock_holder(), path });
        }
        locks.push(file);
    }
    // Under another name first: another attempt meets all of it or nothing.
    vfs.rename_dir(partial, stale).map_err(failed("renaming", partial))?;
    // Durable before the name is used again: a crash must not give this name to the files of that one.
    sync_parent(vfs, partial)?;
    remove_folder(vfs, stale).map_err(failed("removing", stale))
}

/// Returns the names of the files that an attempt left in a folder; `None` if there is no such folder.
///
/// # Errors
/// `Foreign`: the folder holds something else.
fn leftovers(vfs: &dyn Vfs, folder: &Path) -> Result<Option<Vec<String>>> {
    if !vfs.exists(folder).map_err(failed("reading", folder))? {
        return Ok(None);
    }
    let names = vfs.list(folder).map_err(failed("reading", folder))?;
    // Checkpoints and closing write an index, and the log gets more segments, beside a superblock only.
    let created = names.iter().any(|name| name == "superblock");
    let is_later = |name: &str| [INDEX_FILE, NEW_INDEX_FILE].contains(&name) || is_segment_name(name);
    let is_own = |name: &str| CREATED_FILES.contains(&name) || created && is_later(name);
    let foreign = match names.iter().find(|name| !is_own(name)) {
        Some(foreign) => Some(format!("a file {foreign:?}")),
        // A folder without files is one that an attempt has created, or the last that is left of one.
        None if names.is_empty() || names.iter().any(|name| name == UNFINISHED_FILE) => None,
        None => Some(format!("files of a database, and none with the name {UNFINISHED_FILE:?}")),
    };
    match foreign {
        Some(found) => {
            let expected = "nothing, or what an interrupted copy, restoration or repair leaves".into();
            Err(Error::Foreign { path: folder.into(), found, expected })
        }
        None => Ok(Some(names)),
    }
}

/// Removes a folder and the files in it, the mark last: a removal that is cut short can go on.
fn remove_folder(vfs: &dyn Vfs, folder: &Path) -> io::Result<()> {
    let (marks, others): (Vec<_>, Vec<_>) = vfs.list(folder)?.into_iter().partition(|name| name == UNFINISHED_FILE);
    others.iter().chain(&marks).try_for_each(|name| vfs.remove(&folder.join(name)))?;
    vfs.remove_dir(folder)
}

/// Puts what a stream has into an empty database.
fn fill(engine: &Arc<Engine>, mut stream: StreamReader<'_>) -> Result<BackupInfo> {
    let mut tree: Option<Arc<KeyspaceTree>> = None;
    while let Some(item) = stream.next()? {
        match item {
            Item::Keyspace { name, options } => {
                tree = Some(keyspace_of(engine, name, options)?);
            }
            // The reader refuses pairs of no keyspace.
            Item::Pair { key, value } => tree.iter().try_for_each(|tree| put(engine, tree, key, value))?,
            Item::Mark(mark) => put(engine, engine.catalog.own(), MARK, &mark.to_le_bytes())?,
            // Not in a whole backup: the reader refuses it.
            Item::Keep { .. } => {}
        }
    }
    let end = stream.finish()?;
    Base::record(engine, &end)?;
    Ok(end.info)
}

/// Returns the keyspace of a name. One with other options goes first: the original was dropped and created anew.
pub(crate) fn keyspace_of(engine: &Engine, name: &str, options: KeyspaceOptions) -> Result<Arc<KeyspaceTree>> {
    let (store, catalog) = (&engine.store, &engine.catalog);
    if catalog.find_keyspace(store, name)?.is_some_and(|tree| tree.options != options) {
        catalog.drop_keyspace(store, name)?;
    }
    catalog.create_keyspace(store, name, Some(options))
}

/// Puts a pair as a stream has it. Waits for no durability: the caller ends with [`Base::record`].
pub(crate) fn put(engine: &Engine, tree: &KeyspaceTree, key: &[u8], value: &[u8]) -> Result<()> {
    let mut operation = Operation::begin_to_write(&engine.store, key, value)?;
    tree.check_not_dropped()?;
    let payload = write_record(&operation, key, StoredValue::verbatim(value))?;
    operation.put(tree, key, payload)?;
    operation.finish_later();
    Ok(())
}

/// Gives a complete database its name, durably.
fn give_name(vfs: &dyn Vfs, partial: &Path, folder: &Path) -> Result<()> {
    // Replaces an empty folder, and no other.
    vfs.rename_dir(partial, folder).map_err(failed("renaming", partial))?;
    sync_parent(vfs, folder)?;
    // Last: a crash before this leaves a database that is complete, and a mark that means nothing under this name.
    let mark = folder.join(UNFINISHED_FILE);
    vfs.remove(&mark).map_err(failed("removing", &mark))?;
    // Under another name, `<name>.partial`, the mark would mean something again.
    vfs.sync_dir(folder).map_err(failed("syncing", folder))
}

/// Makes the name of a folder durable.
fn sync_parent(vfs: &dyn Vfs, folder: &Path) -> Result<()> {
    let parent = parent_of(folder);
    vfs.sync_dir(parent).map_err(failed("syncing", parent))
}

fn parent_of(folder: &Path) -> &Path {
    folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_needs_a_name() {
        for path in ["/", "..", "a/..", &"n".repeat(242)] {
            assert!(matches!(partial_of(Path::new(path)), Err(Error::Invalid { .. })), "{path}");
        }
        partial_of(Path::new(&"n".repeat(241))).expect("the longest name");
        if cfg!(target_os = "linux") {
            assert!(matches!(replaceable(Path::new("/proc")), Err(Error::Invalid { .. })));
            // A link to a folder.
            assert_eq!(replaceable(Path::new("/proc/self/cwd/")).ok(), std::env::current_dir().ok());
        }
        assert_eq!(partial_of(Path::new("a/b/")).expect("a name"), Path::new("a/b.partial"));
    }
}
