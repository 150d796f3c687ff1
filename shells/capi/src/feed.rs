//! Change feeds: what each epoch has changed, once it is durable. `changes` has what a feed gives.

use crate::changes::Changes;
use crate::code::{HOLM_ABSENT, HOLM_OK, Refusal};
use crate::database::Database;
use crate::door::door;
use crate::number::tell;
use crate::raw::{self, Out};
use crate::snapshot::Snapshot;
use std::ffi::c_int;
use std::time::Duration;

/// `timeout_ms`: no limit.
const HOLM_FOREVER: i64 = -1;

/// The type behind `holm_feed`.
pub struct Feed(holm::Feed);

/// Reads how many bytes a feed keeps.
fn limit(bytes: u64) -> usize {
    // More than the address space is no limit.
    bytes.try_into().unwrap_or(usize::MAX)
}

/// Reads how long a call waits.
fn timeout(timeout_ms: i64) -> Result<Duration, Refusal> {
    match u64::try_from(timeout_ms) {
        Ok(millis) => Ok(Duration::from_millis(millis)),
        // The end of this time lies beyond every clock.
        Err(_) if timeout_ms == HOLM_FOREVER => Ok(Duration::MAX),
        Err(_) => Err(Refusal::invalid(format!("a wait of {timeout_ms} ms: expected 0 or more, or -1"))),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open_feed(database: *const Database, bytes: u64, feed: *mut *mut Feed) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a handle, and an open handle.
        let (mut out, database) =
            unsafe { (Out::for_handle(feed, "the feed")?, raw::handle(database, "the database")?) };
        out.give(Feed(database.writable()?.feed(limit(bytes))?));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open_snapshot_and_feed(
    database: *const Database,
    bytes: u64,
    snapshot: *mut *mut Snapshot,
    feed: *mut *mut Feed,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: two places for handles, and an open handle.
        let (mut of_snapshot, mut of_feed, database) = unsafe {
            let places = (Out::for_handle(snapshot, "the snapshot"), Out::for_handle(feed, "the feed"));
            (places.0?, places.1?, raw::handle(database, "the database")?)
        };
        let (snapshot, feed) = database.writable()?.snapshot_and_feed(limit(bytes))?;
        of_snapshot.give(Snapshot(snapshot));
        of_feed.give(Feed(feed));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_feed_since(feed: *const Feed, epoch: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { tell((feed, "the feed"), (epoch, "the epoch"), |feed| Ok(Some(feed.0.since()))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_feed_next(feed: *mut Feed, timeout_ms: i64, changes: *mut *mut Changes) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a handle, an open handle, and no concurrent use of the feed.
        let (mut out, feed) = unsafe { (Out::for_handle(changes, "the changes")?, raw::handle_mut(feed, "the feed")?) };
        let Some(changes) = feed.0.next(timeout(timeout_ms)?)? else { return Ok(HOLM_ABSENT) };
        out.give(Changes::from(changes));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_close_feed(feed: *mut Feed) {
    door(|| {
        // SAFETY: by the header's contract: no thread uses the handle again.
        drop(unsafe { raw::take(feed) });
        Ok(HOLM_OK)
    });
}
