//! Backups: the database at one instant, as a folder or as a stream of bytes, and databases made of streams.

use crate::code::{HOLM_OK, Refusal};
use crate::database::{Database, path};
use crate::door::door;
use crate::growing::{self, Growing, GrowingOut};
use crate::options::Options;
use crate::raw;
use crate::snapshot::Snapshot;
use crate::stream::{self, StreamRead, StreamWrite};
use std::ffi::{c_char, c_int, c_void};

/// The struct of the header.
#[repr(C)]
pub struct BackupInfo {
    size: usize,
    uuid: [u8; 16],
    base: u64,
    epoch: u64,
    keyspaces: u64,
    records: u64,
    kept: u64,
    bytes: u64,
}

const _: () = assert!(size_of::<BackupInfo>() == 72, "laid out as in the header");

// SAFETY: as in the header, and numbers alone, whose sizes add up to that of the struct.
unsafe impl Growing for BackupInfo {
    const NAME: &str = "HOLM_BACKUP_INFO";
}

impl From<holm::BackupInfo> for BackupInfo {
    fn from(info: holm::BackupInfo) -> Self {
        let holm::BackupInfo { uuid, base, epoch, keyspaces, records, kept, bytes, .. } = info;
        BackupInfo { size: size_of::<BackupInfo>(), uuid, base, epoch, keyspaces, records, kept, bytes }
    }
}

impl GrowingOut<BackupInfo> {
    /// Stores what a backup contains, if it is complete, and returns the code of the call.
    fn give(mut self, (code, info): (c_int, Option<holm::BackupInfo>)) -> Result<c_int, Refusal> {
        if let Some(info) = info {
            self.set(&info.into());
        }
        Ok(code)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_backup(database: *const Database, folder: *const c_char, info: *mut BackupInfo) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place of its stated size or NULL, an open handle, a terminated path.
        let (out, database, folder) =
            unsafe { (GrowingOut::maybe(info)?, raw::handle(database, "the database")?, path(folder)?) };
        out.give((HOLM_OK, Some(database.writable()?.backup(folder)?)))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_backup_to(
    database: *const Database,
    write: StreamWrite,
    context: *mut c_void,
    info: *mut BackupInfo,
) -> c_int {
    // SAFETY: by the caller's contract, which is the same.
    unsafe { holm_backup_since(database, 0, write, context, info) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_backup_since(
    database: *const Database,
    base: u64,
    write: StreamWrite,
    context: *mut c_void,
    info: *mut BackupInfo,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place of its stated size or NULL, and an open handle.
        let (out, database) = unsafe { (GrowingOut::maybe(info)?, raw::handle(database, "the database")?) };
        out.give(stream::written(write, context, |stream| match database {
            Database::Writable(database) => database.backup_since(base, stream),
            Database::ReadOnly(database) => database.backup_since(base, stream),
        })?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_snapshot_backup_since(
    snapshot: *const Snapshot,
    base: u64,
    write: StreamWrite,
    context: *mut c_void,
    info: *mut BackupInfo,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place of its stated size or NULL, and an open handle.
        let (out, snapshot) = unsafe { (GrowingOut::maybe(info)?, raw::handle(snapshot, "the snapshot")?) };
        out.give(stream::written(write, context, |stream| snapshot.0.write_since(base, stream))?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_restore(
    folder: *const c_char,
    options: *const Options,
    read: StreamRead,
    context: *mut c_void,
    info: *mut BackupInfo,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place of its stated size or NULL, a terminated path, options of their
        // stated size.
        let (out, folder, builder) =
            unsafe { (GrowingOut::maybe(info)?, path(folder)?, growing::read(options)?.builder()?) };
        out.give(stream::read(read, context, |stream| builder.restore(stream, folder))?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_apply(
    database: *const Database,
    read: StreamRead,
    context: *mut c_void,
    info: *mut BackupInfo,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place of its stated size or NULL, and an open handle.
        let (out, database) = unsafe { (GrowingOut::maybe(info)?, raw::handle(database, "the database")?.writable()?) };
        out.give(stream::read(read, context, |stream| database.apply(stream))?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_verify_backup(read: StreamRead, context: *mut c_void, info: *mut BackupInfo) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place of its stated size or NULL.
        let out = unsafe { GrowingOut::maybe(info)? };
        out.give(stream::read(read, context, holm::verify_backup)?)
    })
}
