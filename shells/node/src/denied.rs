//! The log of what users were refused, which a front adds to and answers from.

use crate::door::{Answer, OK, Refusal, close, door};
use crate::front::{encoded, request};
use crate::raw::{Bytes, give, handle, slice, take};
use crate::user::ACCOUNTS;
use holm_accounts::{Denied, DeniedLog, User};
use holm_commands::{Arguments, Reply};
use std::ffi::c_int;

/// What is asked for with a password.
const SIGN_IN: [&str; 3] = ["AUTH", "HELLO", "HTTP"];

/// Who was refused, and where.
#[repr(C)]
#[derive(Debug)]
pub struct DeniedBy {
    pub(crate) name: *const u8,
    pub(crate) name_size: usize,
    pub(crate) client: *const u8,
    pub(crate) client_size: usize,
    pub(crate) in_transaction: u32,
}

/// Finds what a request was refused for: by a user, or, if there is none, for its password.
fn denied(user: Option<&User>, arguments: &Arguments<'_>) -> Result<Denied, Refusal> {
    let found = match user {
        Some(user) => ACCOUNTS.check(user, arguments).err(),
        None => SIGN_IN.into_iter().find(|name| arguments.is(0, name)).map(Denied::Password),
    };
    found.ok_or(Refusal::invalid("the request was not refused"))
}

#[unsafe(no_mangle)]
pub extern "C" fn holm_denied_open() -> *mut DeniedLog {
    give(DeniedLog::default())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_denied_close(log: *mut DeniedLog) {
    // SAFETY: by the contract of the header, it is closed once.
    close(unsafe { take(log) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_denied_most(log: *const DeniedLog) -> usize {
    // SAFETY: by the contract of the header, it is open.
    unsafe { log.as_ref() }.map_or(0, DeniedLog::most)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_denied_set_most(log: *const DeniedLog, most: usize) {
    // SAFETY: by the contract of the header, it is open.
    if let Some(log) = unsafe { log.as_ref() } {
        log.set_most(most);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_denied_add(
    log: *const DeniedLog,
    user: *const User,
    given: *const u8,
    size: usize,
    by: *const DeniedBy,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header; a user of NULL is none.
        let (log, user, given, by) = unsafe { (handle(log)?, user.as_ref(), slice(given, size)?, handle(by)?) };
        // SAFETY: the same, for what the struct points to.
        let (name, client) = unsafe { (slice(by.name, by.name_size)?, slice(by.client, by.client_size)?) };
        let denied = request(given, |arguments| denied(user, arguments))??;
        let context = if by.in_transaction == 0 { "toplevel" } else { "multi" };
        log.add(denied, context, name, String::from_utf8_lossy(client).into_owned());
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_denied_answer(
    log: *const DeniedLog,
    given: *const u8,
    size: usize,
    protocol: c_int,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (log, given) = unsafe { (handle(log)?, slice(given, size)?) };
        let reply = request(given, |arguments| log.answer(arguments))?;
        Ok((OK, encoded(&reply.unwrap_or_else(|refusal| Reply::Error(refusal.into_text())), protocol)))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}
