//! Databases: open, close, sync, verify, and open or drop keyspaces.

use crate::code::{HOLM_ABSENT, HOLM_CORRUPT, HOLM_OK, HOLM_READ_ONLY, Refusal, found};
use crate::door::door;
use crate::growing;
use crate::keyspace::Keyspace;
use crate::options::Options;
use crate::raw::{self, Out};
use std::ffi::{OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The type behind `holm_database`.
pub enum Database {
    Writable(holm::Database),
    /// One that was cleanly closed.
    ReadOnly(holm::ReadOnlyDatabase),
}

impl Database {
    /// Returns the database for what changes it, and for what only one that is open for writing has.
    pub(crate) fn writable(&self) -> Result<&holm::Database, Refusal> {
        match self {
            Database::Writable(database) => Ok(database),
            Database::ReadOnly(_) => Err(Refusal::new(HOLM_READ_ONLY, "the database is open for reading only")),
        }
    }

    fn existing_keyspace(&self, name: &str) -> holm::Result<Option<Keyspace>> {
        Ok(match self {
            Database::Writable(database) => database.existing_keyspace(name)?.map(Keyspace::Present),
            Database::ReadOnly(database) => database.existing_keyspace(name)?.map(Keyspace::ReadOnly),
        })
    }
}

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

/// Opens a database and hands it over.
///
/// # Safety
/// By the header's contract: a place for a handle, a terminated path, options of their stated size.
unsafe fn open_as(
    path: *const c_char,
    options: *const Options,
    database: *mut *mut Database,
    open: impl FnOnce(holm::Builder, &Path) -> holm::Result<Database>,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let (mut out, path, builder) = unsafe {
            let out = Out::for_handle(database, "the database")?;
            (out, self::path(path)?, growing::read(options)?.builder()?)
        };
        out.give(open(builder, path)?);
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open(
    path: *const c_char,
    options: *const Options,
    database: *mut *mut Database,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { open_as(path, options, database, |builder, path| builder.open(path).map(Database::Writable)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open_read_only(
    path: *const c_char,
    options: *const Options,
    database: *mut *mut Database,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { open_as(path, options, database, |builder, path| builder.open_read_only(path).map(Database::ReadOnly)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_close(database: *mut Database) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: no thread uses the handle again.
        match unsafe { raw::take(database) } {
            Some(Database::Writable(database)) => database.close().map(|()| HOLM_OK).map_err(Refusal::from),
            Some(Database::ReadOnly(_)) | None => Ok(HOLM_OK),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_sync(database: *const Database) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle.
        unsafe { raw::handle(database, "the database")? }.writable()?.sync()?;
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_check(database: *const Database, faults: *mut u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a number or NULL, and an open handle.
        let (mut out, database) = unsafe { (Out::maybe(faults, 0), raw::handle(database, "the database")?) };
        let report = match database {
            Database::Writable(database) => database.check()?,
            Database::ReadOnly(database) => database.check()?,
        };
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
        out.give(Keyspace::Present(database.writable()?.keyspace(name)?));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open_existing_keyspace(
    database: *const Database,
    name: *const c_char,
    keyspace: *mut *mut Keyspace,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_open_keyspace`.
        let (mut out, database, name) = unsafe {
            let out = Out::for_handle(keyspace, "the keyspace")?;
            (out, raw::handle(database, "the database")?, self::name(name)?)
        };
        let Some(keyspace) = database.existing_keyspace(name)? else { return Ok(HOLM_ABSENT) };
        out.give(keyspace);
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_drop_keyspace(database: *const Database, name: *const c_char) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle and a terminated name.
        let (database, name) = unsafe { (raw::handle(database, "the database")?, self::name(name)?) };
        Ok(found(database.writable()?.drop_keyspace(name)?))
    })
}
