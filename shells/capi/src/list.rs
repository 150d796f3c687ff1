//! Lists, as iterators that have keys and no values: the names of keyspaces, and the keys that have expired.

use crate::code::HOLM_OK;
use crate::database::Database;
use crate::door::door;
use crate::expiry::time;
use crate::iter::Iter;
use crate::keyspace::Keyspace;
use crate::raw::{self, Out};
use crate::scan::End;
use crate::snapshot::Snapshot;
use std::ffi::c_int;

/// What is left of a list.
pub(crate) struct List {
    items: std::vec::IntoIter<Vec<u8>>,
    /// The item that the caller has borrowed.
    lent: Vec<u8>,
    /// The bytes at each item's end that are not its own.
    suffix: usize,
}

impl List {
    /// Lists names. A zero byte follows each, so that it is a text of C, too.
    fn of_names(names: Vec<String>) -> Self {
        let items: Vec<_> = names.into_iter().map(|name| [name.as_bytes(), b"\0"].concat()).collect();
        List { items: items.into_iter(), lent: Vec::new(), suffix: 1 }
    }

    fn of_keys(keys: Vec<holm::Slice>) -> Self {
        let items: Vec<_> = keys.into_iter().map(|key| key.to_vec()).collect();
        List { items: items.into_iter(), lent: Vec::new(), suffix: 0 }
    }

    /// Returns an outermost item.
    pub(crate) fn next(&mut self, end: End) -> Option<&[u8]> {
        self.lent = match end {
            End::Front => self.items.next(),
            End::Back => self.items.next_back(),
        }?;
        Some(&self.lent[..self.lent.len() - self.suffix])
    }
}

/// Hands over an iterator of the names of the keyspaces of an object.
///
/// # Safety
/// By the header's contract: a place for a handle, and an open handle.
unsafe fn give_names<T>(
    (handle, what): (*const T, &str),
    iter: *mut *mut Iter,
    names: impl FnOnce(&T) -> holm::Result<Vec<String>>,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let (mut out, handle) = unsafe { (Out::for_handle(iter, "the iterator")?, raw::handle(handle, what)?) };
        out.give(Iter::of_list(List::of_names(names(handle)?)));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_keyspaces(database: *const Database, iter: *mut *mut Iter) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe {
        give_names((database, "the database"), iter, |database| match database {
            Database::Writable(database) => database.keyspaces(),
            Database::ReadOnly(database) => database.keyspaces(),
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_snapshot_keyspaces(snapshot: *const Snapshot, iter: *mut *mut Iter) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { give_names((snapshot, "the snapshot"), iter, |snapshot| Ok(snapshot.0.keyspaces())) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_expired(
    keyspace: *const Keyspace,
    time_ms: u64,
    limit: usize,
    iter: *mut *mut Iter,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a handle, and an open handle.
        let (mut out, keyspace) =
            unsafe { (Out::for_handle(iter, "the iterator")?, raw::handle(keyspace, "the keyspace")?) };
        let limit = if limit == 0 { usize::MAX } else { limit };
        out.give(Iter::of_list(List::of_keys(keyspace.present()?.expired(time(time_ms)?, limit)?)));
        Ok(HOLM_OK)
    })
}
