//! What a front asks before a group carries a command out.

use crate::door::{Answer, OK, PROTOCOL, Refusal, door};
use crate::raw::{Bytes, place, slice};
use holm_commands::{Arguments, Protocol, Reply, RequestLimits, RequestParser};
use holm_node::{Router, check_entry, describe, slot_of};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::LazyLock;

static ROUTER: LazyLock<Router> = LazyLock::new(Router::default);

/// The longest argument that is read: what nodes send each other. Longer ones of clients are refused by their routes.
const MOST_BYTES: usize = 72 << 20;

#[repr(C)]
pub struct Route {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: u32,
    pub(crate) slot: u16,
    writes: u16,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_parse(
    input: *const u8,
    size: usize,
    open: c_int,
    level: u8,
    routes: *mut Route,
    capacity: usize,
    count: *mut usize,
    out: *mut Bytes,
) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let (input, count) = unsafe { (slice(input, size)?, place(count)?) };
        if routes.is_null() || capacity == 0 {
            return Err(Refusal::invalid("there is no place for routes"));
        }
        let limits = RequestLimits { argument: MOST_BYTES, ..RequestLimits::default() };
        let limits = if open == 0 { RequestLimits::UNAUTHENTICATED } else { limits };
        let found = ROUTER.routes(input, &limits, level, capacity);
        let found = found.map_err(|error| Refusal { code: PROTOCOL, words: error.0.into_owned() })?;
        // SAFETY: by the contract of the header, there is memory for as many routes; they need not have values.
        let places = unsafe { std::slice::from_raw_parts_mut(routes.cast::<MaybeUninit<Route>>(), capacity) };
        count.write(found.len());
        for (place, route) in places.iter_mut().zip(found) {
            let (kind, writes) = (route.kind as u32, u16::from(route.writes));
            place.write(Route { start: route.start, end: route.end, kind, slot: route.slot, writes });
        }
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

/// Gives the words of one request, of any length, to a function.
pub(crate) fn request<T>(given: &[u8], work: impl FnOnce(&Arguments<'_>) -> T) -> Result<T, Refusal> {
    let mut parser = RequestParser::default();
    match parser.parse(given, &RequestLimits::default()) {
        Ok(Some(_)) => Ok(work(&parser.arguments(given))),
        _ => Err(Refusal::invalid("no whole request")),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_refusal(given: *const u8, size: usize, level: u8, out: *mut Bytes) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let given = unsafe { slice(given, size) }?;
        let refusal = request(given, |arguments| ROUTER.refusal(arguments, size, level))?;
        Ok((OK, refusal.map_or_else(Vec::new, |refusal| encoded(&Reply::Error(refusal.into_text()), 2))))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

/// Returns a reply as bytes, in version 2 or 3 of the protocol.
pub(crate) fn encoded(reply: &Reply, protocol: c_int) -> Vec<u8> {
    let mut bytes = Vec::new();
    reply.encode(if protocol == 3 { Protocol::Resp3 } else { Protocol::Resp2 }, &mut bytes);
    bytes
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_entry_check(entry: *const u8, size: usize, level: u8, out: *mut Bytes) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        check_entry(unsafe { slice(entry, size) }?, level)?;
        Ok((OK, Vec::new()))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_slot(key: *const u8, size: usize) -> u16 {
    // SAFETY: by the contract of the header.
    unsafe { slice(key, size) }.map_or(0, slot_of)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_describe(given: *const u8, size: usize, protocol: c_int, out: *mut Bytes) -> c_int {
    let work = || -> Answer {
        // SAFETY: by the contract of the header.
        let given = unsafe { slice(given, size) }?;
        let reply = request(given, describe)?;
        Ok((OK, encoded(&reply, protocol)))
    };
    // SAFETY: by the contract of the header.
    unsafe { door(out, work) }
}
