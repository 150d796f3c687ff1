//! Opens a database for reading or for writing, and closes it in every case.

use std::path::Path;

use anyhow::{Context, anyhow};
use holm::{Database, Error, ImageMode, ReadOnlyDatabase, ReadOnlyKeyspace, Sweep};

use crate::args::{Target, Writing};
use crate::exit::{Exit, chain, note};

/// Opens a database read-only. Many processes may do so at once, even in a folder without write permission. A database
/// that was not closed must first be recovered, which writes; a message on standard error says so.
pub(crate) fn readable(path: &Path) -> anyhow::Result<ReadOnlyDatabase> {
    if let Some(database) = clean(path)? {
        for damage in &database.recovery().damaged {
            let rest = if database.recovery().incomplete { "what is left is shown" } else { "nothing is lost" };
            note(&format!("{}: {damage}; {rest}", path.display()));
        }
        return Ok(database);
    }
    closing(existing(path)?, |_| Ok(()))?;
    Database::open_read_only(path).map_err(|error| cannot_open(path, error))
}

/// Runs `work` on a keyspace of a database that is opened read-only. What a damaged one answers may not be all.
pub(crate) fn reading(
    target: &Target,
    work: impl FnOnce(&ReadOnlyDatabase, &ReadOnlyKeyspace) -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    let database = readable(&target.database)?;
    let done = match database.existing_keyspace(&target.keyspace)? {
        Some(keyspace) => work(&database, &keyspace)?,
        None => no_keyspace(&target.keyspace, &database.keyspaces()?)?,
    };
    Ok(shown(&database, done))
}

/// Returns the exit of a command that has shown what a database has: that of a fault if it may not be all.
pub(crate) fn shown(database: &ReadOnlyDatabase, done: Exit) -> Exit {
    if database.recovery().incomplete { Exit::Faulty } else { done }
}

/// Runs a query on a whole database: a read-only one, or, if it was not closed, the one that has just been recovered
/// and has the results of the recovery.
pub(crate) fn told<T>(
    path: &Path,
    looked_at: impl FnOnce(&ReadOnlyDatabase) -> anyhow::Result<T>,
    recovered: impl FnOnce(&Database) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    match clean(path)? {
        Some(database) => looked_at(&database),
        None => closing(existing(path)?, recovered),
    }
}

/// Opens a database that was closed. Returns `None`, and prints a line on standard error, for one that was not.
fn clean(path: &Path) -> anyhow::Result<Option<ReadOnlyDatabase>> {
    match Database::open_read_only(path) {
        Err(Error::NotClean { .. }) => {
            note(&format!("{} was not closed: opening it for writing, to recover it", path.display()));
            Ok(None)
        }
        opened => opened.map(Some).map_err(|error| cannot_open(path, error)),
    }
}

/// Returns the reason for a failed open, in words that name the path once.
fn cannot_open(path: &Path, error: Error) -> anyhow::Error {
    match error {
        Error::NotFound { .. } => error.into(),
        _ if path.is_file() => anyhow!("cannot open {}: found a file, expected a folder", path.display()),
        _ => anyhow::Error::from(error).context(format!("cannot open {}", path.display())),
    }
}

/// Opens an existing database for writing or recovery. A misspelt name must not create an empty database.
pub(crate) fn existing(path: &Path) -> anyhow::Result<Database> {
    Database::builder().create(false).open(path).map_err(|error| cannot_open(path, error))
}

/// The same without the thread that removes expired records.
pub(crate) fn existing_unswept(path: &Path) -> anyhow::Result<Database> {
    Database::builder().create(false).sweep(Sweep::Manual).open(path).map_err(|error| cannot_open(path, error))
}

/// Opens a database for writing, with the given options. Creates it if `create` is set and it is absent.
pub(crate) fn writable(path: &Path, writing: &Writing, create: bool) -> anyhow::Result<Database> {
    let image = if writing.memory { ImageMode::Private } else { ImageMode::Shared };
    let mut builder = Database::builder().create(create).image(image);
    if let Some(durability) = writing.durability {
        builder = builder.durability(durability);
    }
    if let Some(design) = &writing.design {
        builder = builder.design(design);
    }
    builder.open(path).map_err(|error| cannot_open(path, error))
}

/// Runs `work`, and then closes the database, even after an error: a closed database opens without recovery. Keyspaces
/// and iterators are dropped with the closure, before the close.
pub(crate) fn closing<T>(database: Database, work: impl FnOnce(&Database) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let worked = work(&database);
    let closed = database.close().context("cannot close the database");
    if let (Err(_), Err(error)) = (&worked, &closed) {
        // The failed close may undo the finished work.
        note(&chain(error));
    }
    let value = worked?;
    closed?;
    Ok(value)
}

/// Reports that there is no such keyspace, and which ones exist. An empty answer would hide a misspelt name.
pub(crate) fn no_keyspace(name: &str, there: &[String]) -> anyhow::Result<Exit> {
    let there: Vec<_> = there.iter().map(|name| format!("{name:?}")).collect();
    note(&format!("no keyspace named {name:?} (there are: {})", there.join(", ")));
    Ok(Exit::Absent)
}
