//! Groups: open, apply, read, status.

use crate::door::{Answer, OK, Refusal, close, door};
use crate::raw::{Bytes, give, handle, place, slice, take};
use holm_node::{Group, Node};
use std::ffi::c_int;
use std::sync::Arc;

/// What a handle of a group points to.
pub type Handle = Arc<Group>;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_group_open(
    node: *const Node,
    number: u64,
    group: *mut *mut Handle,
    applied: *mut u64,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (node, group, applied) = unsafe { (handle(node)?, place(group)?, place(applied)?) };
        let opened = node.group(number)?;
        applied.write(opened.applied());
        group.write(give(opened));
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_group_close(group: *mut Handle) {
    // SAFETY: by the contract of the header, it is closed once.
    close(unsafe { take(group) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_group_remove(node: *const Node, number: u64, out: *mut Bytes) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        unsafe { handle(node) }?.drop_group(number)?;
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

/// Divides a buffer into entries.
fn entries(mut packed: &[u8]) -> Result<Vec<(u64, &[u8])>, Refusal> {
    let mut found = Vec::new();
    let short = || Refusal::invalid("the entries end within one");
    while !packed.is_empty() {
        let (index, rest) = packed.split_first_chunk().ok_or_else(short)?;
        let (length, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let (entry, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(short)?;
        found.push((u64::from_le_bytes(*index), entry));
        packed = rest;
    }
    Ok(found)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_group_apply(
    group: *const Handle,
    packed: *const u8,
    size: usize,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (group, packed) = unsafe { (handle(group)?, slice(packed, size)?) };
        let mut replies = Vec::new();
        for reply in group.apply(&entries(packed)?)? {
            replies.extend((reply.len() as u32).to_le_bytes());
            replies.extend(reply);
        }
        Ok((OK, replies))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_group_read(
    group: *const Handle,
    parts: *const u8,
    size: usize,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (group, parts) = unsafe { (handle(group)?, slice(parts, size)?) };
        Ok((OK, group.read(parts)?))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_group_status(
    group: *const Handle,
    applied: *mut u64,
    hash: *mut u64,
    keys: *mut u64,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (group, applied, hash, keys) = unsafe { (handle(group)?, place(applied)?, place(hash)?, place(keys)?) };
        let (index, changes) = group.status();
        applied.write(index);
        hash.write(changes);
        keys.write(group.key_count()?);
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_group_applied(group: *const Handle, applied: *mut u64, out: *mut Bytes) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (group, applied) = unsafe { (handle(group)?, place(applied)?) };
        applied.write(group.applied());
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_group_owns(group: *const Handle, slot: u16) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let is_owner = unsafe { handle(group) }?.owns(slot);
        Ok((c_int::from(is_owner), Vec::new()))
    };
    // SAFETY: there is no place for a result.
    unsafe { door(std::ptr::null_mut(), work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_group_mark(
    group: *const Handle,
    mark: *mut u64,
    hash: *mut u64,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (group, mark, hash) = unsafe { (handle(group)?, place(mark)?, place(hash)?) };
        let (last, at_it) = group.mark();
        mark.write(last);
        hash.write(at_it);
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}
