//! Nodes: open, sync, statistics.

use crate::door::{Answer, OK, Refusal, close, door};
use crate::raw::{Bytes, free, give, handle, place, take};
use holm_node::{LEVEL, Node, NodeOptions};
use std::ffi::{CStr, c_char, c_int};

#[repr(C)]
pub struct Options {
    capacity: u64,
    private_image: u32,
    index_apart: u32,
    level: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Statistics {
    records: u64,
    disk_bytes: u64,
    log_bytes: u64,
    longest_sync_ns: u64,
    durable_epoch: u64,
    active_epoch: u64,
    snapshots: u64,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_node_open(
    folder: *const c_char,
    options: *const Options,
    node: *mut *mut Node,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let place = unsafe { place(node) }?;
        if folder.is_null() {
            return Err(Refusal::invalid("the folder is NULL"));
        }
        // SAFETY: by the contract of the header, it is a text that ends with a zero.
        let folder =
            unsafe { CStr::from_ptr(folder) }.to_str().map_err(|_| Refusal::invalid("the folder is no text"))?;
        // SAFETY: NULL, or the caller's options.
        let options = unsafe { options.as_ref() }.map_or_else(NodeOptions::default, |options| NodeOptions {
            capacity: options.capacity,
            private_image: options.private_image != 0,
            index_apart: options.index_apart != 0,
            level: options.level,
        });
        place.write(give(Node::open(folder, options)?));
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub extern "C" fn holm_node_level() -> u8 {
    LEVEL
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_node_close(node: *mut Node) {
    // SAFETY: by the contract of the header, it is closed once.
    close(unsafe { take(node) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_node_sync(node: *const Node, out: *mut Bytes) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        unsafe { handle(node) }?.sync()?;
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_node_stats(
    node: *const Node,
    statistics: *mut Statistics,
    size: usize,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        if size < size_of::<Statistics>() {
            return Err(Refusal::invalid("the struct for statistics is too short"));
        }
        // SAFETY: by the contract of the header, the place has that size.
        let place = unsafe { place(statistics) }?;
        // SAFETY: by the contract of the header.
        let stats = unsafe { handle(node) }?.stats();
        place.write(Statistics {
            records: stats.records,
            disk_bytes: stats.space.disk_bytes,
            log_bytes: stats.log.bytes,
            longest_sync_ns: stats.log.longest_sync_ns,
            durable_epoch: stats.epochs.durable,
            active_epoch: stats.epochs.active,
            snapshots: stats.snapshots.open,
        });
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_node_free(bytes: Bytes) {
    // SAFETY: by the contract of the header, they were given by a call and are freed once.
    unsafe { free(bytes) };
}
