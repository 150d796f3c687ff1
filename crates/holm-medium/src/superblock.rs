//! The superblock: what must be known of a database before any of its other files can be believed.
//!
//! It has two slots of a page each, in the file `superblock`. Both have the same contents whenever no write is in
//! progress. A torn write spoils one of them, and so does damage at rest, and neither loses anything. The valid slot
//! with the greater sequence counts. The number of a slot is the lowest bit of its sequence. A write thus goes first to
//! the slot that is not in force, and a read detects a page that was written to the wrong slot.
//!
//! ```text
//!   0  magic "HolmPool"                    8 bytes     all numbers little-endian
//!   8  format version                      4
//!  12  CRC32C of the 12 bytes before       4           these 16 bytes never change their meaning
//!  16  CRC32C of the page, this field zero 4
//!  20  line bytes                          4
//!  24  sequence                            8
//!  32  uuid                               16
//!  48  leaf block bytes 4, keys kind 4, state 4, image kind 4
//!  64  design, zero-padded                32
//!  96  created by, zero-padded            32
//! 128  boot generation 8, epoch 8
//! 144  boot id                            16           zeros: unknown
//! 160  log start: segment 4, number of segments 4 (0: 2), pass 8, sequence 8
//! 184  identity of `leaves`, of `records`: device, inode, birth, file system, trusted, 8 each
//! 264  bytes of `leaves`, of `records`, 8 each: as long as the files are at least
//! 280  CRC32C of `leaves` as far as its length says  4   of a clean database; else zero
//! 284  zeros to the page's end
//! ```
//!
//! The version has a checksum of its own. A file of a later format is thus recognised although this program cannot
//! check the rest of it. A flipped bit in the version is not taken for a later format. [`Superblock::write`] has
//! made the new state durable when it returns. The journaled medium defines what the states mean, and in which order
//! other files are synced.

#![forbid(unsafe_code)]

mod contents;
mod page;

pub use contents::{Geometry, ImageKind, NAME_BYTES, State, Superblock, VERSION};

use crate::error::{MediumError, Result};
use crate::vfs::{FORMAT_PAGE, How, Vfs, VfsFile, read_exact_at, write_all_at};
use contents::{SLOT, SLOTS};
use page::{Fault, decode, encode, refuse_a_short_file};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest wait for a lock, in milliseconds.
const PATIENCE: u32 = 20;

/// The file of the superblock.
pub fn superblock_path(dir: &Path) -> PathBuf {
    dir.join("superblock")
}

/// Opens the file of the superblock and locks it: exclusively to write, shared with other readers to read only.
///
/// # Errors
///
/// [`MediumError::Locked`]; [`MediumError::ReadOnly`]; [`MediumError::Corrupt`] if there is data and no superblock;
/// [`MediumError::Io`], of kind `NotFound` if there is nothing.
pub fn open_superblock(vfs: &dyn Vfs, dir: &Path, how: How) -> Result<Box<dyn VfsFile>> {
    let path = superblock_path(dir);
    let opened = vfs.open(&path, how);
    if opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        refuse_orphans(vfs, dir)?;
    }
    let superblock_file = opened.map_err(|error| MediumError::opening(&path, how.write, error))?;
    if !lock(&*superblock_file, how.write).map_err(|error| MediumError::io("locking", &path, error))? {
        return Err(MediumError::Locked { path, holder: superblock_file.lock_holder() });
    }
    Ok(superblock_file)
}

/// Locks a file, and retries for a short time. A dying process holds its lock until it is gone, and so does a child
/// that it has just forked, until the child executes its own program.
fn lock(file: &dyn VfsFile, exclusive: bool) -> io::Result<bool> {
    for _ in 0..PATIENCE {
        if file.lock(exclusive)? {
            return Ok(true);
        }
        crate::sync::sleep(Duration::from_millis(1));
    }
    file.lock(exclusive)
}

/// Refuses data files without a superblock: such a database has lost its superblock, and must not be taken for absent
/// or new. A creation that died left its data files empty, since they grow after the superblock is written.
///
/// # Errors
///
/// [`MediumError::Corrupt`] for data without a superblock; [`MediumError::Io`].
pub fn refuse_orphans(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    for path in ["leaves", "records"].map(|name| dir.join(name)) {
        let io = |error| MediumError::io("measuring", &path, error);
        if !vfs.exists(&path).map_err(io)? {
            continue;
        }
        let len = vfs.open(&path, How::READ).and_then(|file| file.len()).map_err(io)?;
        if len > 0 {
            let (found, expected) = (format!("{len} bytes and no superblock"), "a superblock, or nothing".into());
            return Err(MediumError::Corrupt { path, offset: 0, what: "a data file", found, expected });
        }
    }
    Ok(())
}

/// Creates and locks the file that becomes `superblock`: the process that holds the lock may create a database in the
/// folder. `None` if there is a database by now.
///
/// # Errors
///
/// [`MediumError::Locked`] if another process is creating one; [`MediumError::NoSpace`], [`MediumError::ReadOnly`],
/// [`MediumError::Io`].
pub fn reserve(vfs: &dyn Vfs, dir: &Path) -> Result<Option<Box<dyn VfsFile>>> {
    let (path, fresh) = (superblock_path(dir), fresh_path(dir));
    let io = |e: io::Error| MediumError::io(CREATING, &fresh, e);
    let file = vfs.open(&fresh, How::CREATE).map_err(|e| MediumError::opening_to_write(CREATING, &fresh, e))?;
    if !lock(&*file, true).map_err(io)? {
        return Err(MediumError::Locked { path, holder: file.lock_holder() });
    }
    // Checked under the lock: a process that created one in the meantime held it.
    if vfs.exists(&path).map_err(io)? {
        // If this process waited for the lock during a creation, its file is the one that has since been renamed;
        // otherwise it is a fresh one.
        match vfs.remove(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            _ => return Ok(None),
        }
    }
    Ok(Some(file))
}

const CREATING: &str = "creating the superblock";

fn fresh_path(dir: &Path) -> PathBuf {
    dir.join("superblock.new")
}

impl Superblock {
    /// Turns a file that was [reserved](reserve) into the file `superblock` in `dir`, durable with its name. Its
    /// appearance makes the directory a database, so every other file must be durable before.
    ///
    /// # Errors
    ///
    /// [`MediumError::TooLarge`] for a name that is too long; [`MediumError::NoSpace`], [`MediumError::Io`].
    pub fn create(&mut self, vfs: &dyn Vfs, dir: &Path, reserved: &dyn VfsFile) -> Result<()> {
        let fresh = fresh_path(dir);
        let io = |e: io::Error| MediumError::io(CREATING, &fresh, e);
        self.sequence = 1;
        let older = encode(self)?;
        self.sequence = 2;
        let both = [encode(self)?, older].concat();
        reserved.set_len(0).map_err(io)?;
        write_all_at(reserved, &both, 0).map_err(io)?;
        // Before the renaming: otherwise a crash after it leaves a name that leads to an empty superblock.
        reserved.sync_all().map_err(io)?;
        vfs.rename(&fresh, &superblock_path(dir)).map_err(io)?;
        vfs.sync_dir(dir).map_err(|e| MediumError::io("syncing the directory", dir, e))
    }

    /// Reads both slots of `file` and returns the one in force. Also returns a description of what is wrong with the
    /// other one, if anything: a crash has torn its write, or it was damaged since. `path` is for messages.
    ///
    /// # Errors
    ///
    /// [`MediumError::Version`] if either slot is of another format; otherwise, if neither is valid,
    /// [`MediumError::Foreign`] or [`MediumError::Corrupt`], saying what was found; [`MediumError::Geometry`] for
    /// lines of another size; [`MediumError::Io`].
    pub fn read(file: &dyn VfsFile, path: &Path) -> Result<(Superblock, Option<String>)> {
        let io = |e: io::Error| MediumError::io("reading the superblock", path, e);
        let len = file.len().map_err(io)?;
        let mut bytes = vec![0; (SLOTS * FORMAT_PAGE).min(len) as usize];
        read_exact_at(file, &mut bytes, 0).map_err(io)?;
        if len < SLOTS * FORMAT_PAGE {
            return Err(refuse_a_short_file(path, &bytes));
        }
        let slots = [decode(&bytes[..SLOT], 0), decode(&bytes[SLOT..], 1)];
        if let Some(found) = slots.iter().find_map(|slot| slot.as_ref().err().and_then(Fault::version)) {
            return Err(MediumError::Version { found, supported: VERSION });
        }
        match slots {
            [Ok(one), Ok(two)] => {
                let (newer, older) = if one.sequence > two.sequence { (one, two) } else { (two, one) };
                // A crash leaves them one write apart.
                let far = (newer.sequence - older.sequence > 1).then(|| {
                    let slot = older.sequence & 1;
                    format!(
                        "slot {slot} of the superblock is damaged: sequence {} beside {}",
                        older.sequence, newer.sequence
                    )
                });
                Ok((newer, far))
            }
            [Ok(one), Err(fault)] | [Err(fault), Ok(one)] => match fault {
                // A valid checksum over an unknown meaning is no torn write: returning to the older state would lose
                // data.
                Fault::Meaning(..) | Fault::Line(_) => Err(fault.explain(path, &bytes)),
                Fault::Magic | Fault::Version(_) | Fault::Checksum { .. } | Fault::Misplaced { .. } => {
                    let number = 1 - (one.sequence & 1);
                    Ok((one, Some(format!("slot {number} of the superblock is damaged: {}", fault.describe()))))
                }
            },
            // The more specific fault: a slot without magic may be a torn one, a wrong checksum belongs to a file of
            // Holm.
            [Err(Fault::Magic), Err(fault)] | [Err(fault), Err(_)] => Err(fault.explain(path, &bytes)),
        }
    }

    /// Writes these contents to the slot that is not in force, then to the other one, with the next two sequences, and
    /// returns when both are durable. Only then may the caller release what the previous state named: while one slot
    /// still has that state, damage to the other makes it count again.
    ///
    /// # Errors
    ///
    /// [`MediumError::NoSpace`], [`MediumError::Io`]: either state may be in force then. The sequence here is that of
    /// the last slot that was written completely, so that what is written afterwards does not begin with that slot.
    pub fn write(&mut self, file: &dyn VfsFile, path: &Path) -> Result<()> {
        let io = |e: io::Error| MediumError::io("writing the superblock", path, e);
        for _ in 0..SLOTS {
            let mut next = self.clone();
            next.sequence += 1;
            write_all_at(file, &encode(&next)?, (next.sequence & 1) * FORMAT_PAGE).map_err(io)?;
            // A crash before this sync leaves the other slot untouched, and in force if this one is torn.
            file.sync_data().map_err(io)?;
            self.sequence = next.sequence;
        }
        Ok(())
    }

    /// Puts other contents in the place of these, as [`Superblock::write`] writes them. If that fails, the contents
    /// stay, and the sequence is that of the last slot that was written completely.
    ///
    /// # Errors
    /// As [`Superblock::write`].
    pub fn replace(&mut self, mut next: Superblock, file: &dyn VfsFile, path: &Path) -> Result<()> {
        let written = next.write(file, path);
        self.sequence = next.sequence;
        written?;
        *self = next;
        Ok(())
    }
}
