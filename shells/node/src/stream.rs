//! Views and restores: a group as frames, and the way back.

use crate::door::{Answer, END, OK, close, door};
use crate::group::Handle;
use crate::raw::{Bytes, give, handle, place, slice, take};
use holm_node::{Restore, View};
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_group_view(group: *const Handle, view: *mut *mut Mutex<View>, out: *mut Bytes) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (group, view) = unsafe { (handle(group)?, place(view)?) };
        view.write(give(Mutex::new(group.view()?)));
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

/// What a view is of, as the header has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub(crate) applied: u64,
    pub(crate) keys: u64,
    pub(crate) backup: u64,
    pub(crate) settled: u32,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_view_describe(view: *const Mutex<View>, status: *mut Status, out: *mut Bytes) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (view, status) = unsafe { (handle(view)?, place(status)?) };
        let found = view.lock().unwrap_or_else(PoisonError::into_inner).status()?;
        let settled = u32::from(found.is_settled);
        status.write(Status { applied: found.applied, keys: found.keys, backup: found.backup, settled });
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_view_next(view: *const Mutex<View>, out: *mut Bytes) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let view = unsafe { handle(view) }?;
        let frame = view.lock().unwrap_or_else(PoisonError::into_inner).next_frame()?;
        Ok(frame.map_or((END, Vec::new()), |frame| (OK, frame)))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_view_close(view: *mut Mutex<View>) {
    // SAFETY: by the contract of the header, it is closed once.
    close(unsafe { take(view) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_restore_begin(
    group: *const Handle,
    restore: *mut *mut Mutex<Restore>,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (group, restore) = unsafe { (handle(group)?, place(restore)?) };
        restore.write(give(Mutex::new(group.restore()?)));
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_restore_frame(
    restore: *const Mutex<Restore>,
    frame: *const u8,
    size: usize,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (restore, frame) = unsafe { (handle(restore)?, slice(frame, size)?) };
        restore.lock().unwrap_or_else(PoisonError::into_inner).frame(frame)?;
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_restore_finish(
    restore: *mut Mutex<Restore>,
    applied: *mut u64,
    out: *mut Bytes,
) -> c_int {
    // SAFETY: by the contract of the header, this call ends the handle.
    let restore = unsafe { take(restore) };
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let applied = unsafe { place(applied) }?;
        let restore = restore.ok_or(crate::door::Refusal::invalid("a handle is NULL"))?;
        applied.write(restore.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?);
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_restore_drop(restore: *mut Mutex<Restore>) {
    // SAFETY: by the contract of the header, it is dropped once.
    close(unsafe { take(restore) });
}
