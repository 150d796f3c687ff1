//! Databases: open, close, sync, verify, and open or drop keyspaces.

use crate::code::{HOLM_CORRUPT, HOLM_OK, Refusal, found};
use crate::door::door;
use crate::growing;
use crate::keyspace::Keyspace;
use crate::options::Options;
use crate::raw::{self, Out};
use std::ffi::{OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The type behind `holm_database`.
pub struct Database(pub(crate) holm::Database);

/// Reads the name of a keyspace.
///
/// # Safety
/// As for [`raw::text`].
pub(crate) unsafe fn name<'a>(pointer: *const c_char) -> Result<&'a str, Refusal> {
    // SAFETY: by the caller's contract, which is the same.
    let name = unsafe { raw::text(pointer, "the keyspace's name")? };
    name.to_str().map_err(|error| Refusal::invalid(format!("the keyspace's name is not UTF-8: {error}")))
}

/// Reads the path of a database.
///
/// # Safety
/// As for [`raw::text`].
pub(crate) unsafe fn path<'a>(pointer: *const c_char) -> Result<&'a Path, Refusal> {
    // SAFETY: by the caller's contract, which is the same.
    let path = unsafe { raw::text(pointer, "the path")? };
    match path.is_empty() {
        true => Err(Refusal::invalid("the path is empty")),
        false => Ok(Path::new(OsStr::from_bytes(path.to_bytes()))),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open(
    path: *const c_char,
    options: *const Options,
    database: *mut *mut Database,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a handle, a terminated path, options of their stated size.
        let (mut out, path, builder) = unsafe {
            let out = Out::for_handle(database, "the database")?;
            (out, self::path(path)?, growing::read(options)?.builder()?)
        };
        out.give(Database(builder.open(path)?));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_close(database: *mut Database) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: no thread uses the handle again.
        match unsafe { raw::take(database) } {
            Some(Database(database)) => database.close().map(|()| HOLM_OK).map_err(Refusal::from),
            None => Ok(HOLM_OK),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_sync(database: *const Database) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle.
        unsafe { raw::handle(database, "the database")? }.0.sync()?;
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_check(database: *const Database, faults: *mut u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a number or NULL, and an open handle.
        let (mut out, database) = unsafe { (Out::maybe(faults, 0), raw::handle(database, "the database")?) };
        let report = database.0.check()?;
        out.set(report.faults.len() as u64);
        match report.faults.into_iter().next() {
            None => Ok(HOLM_OK),
            Some(fault) => Err(Refusal::new(HOLM_CORRUPT, fault)),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open_keyspace(
    database: *const Database,
    name: *const c_char,
    keyspace: *mut *mut Keyspace,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a handle, an open handle, a terminated name.
        let (mut out, database, name) = unsafe {
            let out = Out::for_handle(keyspace, "the keyspace")?;
            (out, raw::handle(database, "the database")?, self::name(name)?)
        };
        out.give(Keyspace::Present(database.0.keyspace(name)?));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_drop_keyspace(database: *const Database, name: *const c_char) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle and a terminated name.
        let (database, name) = unsafe { (raw::handle(database, "the database")?, self::name(name)?) };
        Ok(found(database.0.drop_keyspace(name)?))
    })
}
