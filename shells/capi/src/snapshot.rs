//! Snapshots: the database as it was at one instant. Their keyspaces are handles as any other, which refuse to write.

use crate::code::{HOLM_ABSENT, HOLM_OK};
use crate::database::{Database, name};
use crate::door::door;
use crate::keyspace::Keyspace;
use crate::number::tell;
use crate::raw::{self, Out};
use std::ffi::{c_char, c_int};
use std::time::Duration;

/// The type behind `holm_snapshot`.
pub struct Snapshot(pub(crate) holm::Snapshot);

/// Hands over a snapshot of a database.
///
/// # Safety
/// By the header's contract: a place for a handle, and an open handle.
unsafe fn open(
    database: *const Database,
    snapshot: *mut *mut Snapshot,
    take: impl FnOnce(&holm::Database) -> holm::Result<holm::Snapshot>,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let (mut out, database) =
            unsafe { (Out::for_handle(snapshot, "the snapshot")?, raw::handle(database, "the database")?) };
        out.give(Snapshot(take(database.writable()?)?));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open_snapshot(database: *const Database, snapshot: *mut *mut Snapshot) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { open(database, snapshot, holm::Database::snapshot) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open_snapshot_within(
    database: *const Database,
    age_ms: u64,
    snapshot: *mut *mut Snapshot,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { open(database, snapshot, |database| database.snapshot_within(Duration::from_millis(age_ms))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open_snapshot_keyspace(
    snapshot: *const Snapshot,
    name: *const c_char,
    keyspace: *mut *mut Keyspace,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a handle, an open handle, a terminated name.
        let (mut out, snapshot, name) = unsafe {
            let out = Out::for_handle(keyspace, "the keyspace")?;
            (out, raw::handle(snapshot, "the snapshot")?, self::name(name)?)
        };
        let Some(keyspace) = snapshot.0.keyspace(name) else { return Ok(HOLM_ABSENT) };
        out.give(Keyspace::Past(keyspace));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_snapshot_epoch(snapshot: *const Snapshot, epoch: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { tell((snapshot, "the snapshot"), (epoch, "the epoch"), |snapshot| Ok(Some(snapshot.0.epoch()))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_close_snapshot(snapshot: *mut Snapshot) {
    door(|| {
        // SAFETY: by the header's contract: no thread uses the handle again.
        drop(unsafe { raw::take(snapshot) });
        Ok(HOLM_OK)
    });
}
