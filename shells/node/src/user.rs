//! Users: what a front asks when one signs in, sends a command or is changed.

use crate::door::{Answer, OK, REFUSED, Refusal, close, door};
use crate::front::{encoded, request};
use crate::raw::{Bytes, give, handle, place, slice, take};
use holm_accounts::User;
use holm_commands::{Protocol, Reply};
use holm_node::Accounts;
use std::ffi::c_int;
use std::sync::LazyLock;

pub(crate) static ACCOUNTS: LazyLock<Accounts> = LazyLock::new(Accounts::default);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserStatus {
    pub(crate) may_do_all: u32,
    pub(crate) open: u32,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_user_open(
    rules: *const u8,
    size: usize,
    user: *mut *mut User,
    status: *mut UserStatus,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (rules, user, status) = unsafe { (slice(rules, size)?, place(user)?, place(status)?) };
        let read = ACCOUNTS.read(rules).map_err(Refusal::malformed)?;
        status.write(UserStatus { may_do_all: ACCOUNTS.may_do_all(&read).into(), open: read.is_open().into() });
        user.write(give(read));
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_user_close(user: *mut User) {
    // SAFETY: by the contract of the header, it is closed once.
    close(unsafe { take(user) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_user_accepts(user: *const User, password: *const u8, size: usize) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (user, password) = unsafe { (handle(user)?, slice(password, size)?) };
        Ok((user.accepts(password).into(), Vec::new()))
    };
    // SAFETY: there is no place to write to.
    unsafe { door(std::ptr::null_mut(), work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_user_check(user: *const User, given: *const u8, size: usize, out: *mut Bytes) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (user, given) = unsafe { (handle(user)?, slice(given, size)?) };
        let denied = request(given, |arguments| ACCOUNTS.check(user, arguments))?.err();
        let Some(denied) = denied else { return Ok((OK, Vec::new())) };
        let mut line = Vec::new();
        Reply::Error(denied.refusal().into_text()).encode(Protocol::Resp2, &mut line);
        Ok((REFUSED, line))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_user_change(
    rules: *const u8,
    rules_size: usize,
    given: *const u8,
    size: usize,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (rules, given) = unsafe { (slice(rules, rules_size)?, slice(given, size)?) };
        Ok(match request(given, |arguments| ACCOUNTS.change(rules, arguments))? {
            Ok(rules) => (OK, rules),
            Err(refusal) => (REFUSED, refusal.into_text().into_owned().into_bytes()),
        })
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_acl(
    user: *const User,
    given: *const u8,
    size: usize,
    protocol: c_int,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header; NULL is nobody.
        let (user, given) = unsafe { (user.as_ref(), slice(given, size)?) };
        let fill = |bytes: &mut [u8]| getrandom::fill(bytes).is_ok();
        let reply = request(given, |arguments| ACCOUNTS.answer(user, arguments, fill))?;
        Ok((OK, encoded(&reply, protocol)))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}
