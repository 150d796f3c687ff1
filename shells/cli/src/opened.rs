//! Opening for reading, opening for writing, and closing whatever happened in between.

use std::path::Path;

use anyhow::{Context, anyhow};
use holm::{Database, Error, ImageMode, ReadOnlyDatabase};

use crate::args::Writing;
use crate::exit::{Exit, chain, note};

/// A database to look at: many processes may at once, and in a folder that nobody may write to. Only one that was not
/// closed must be recovered first, which is writing; that is told.
pub(crate) fn readable(path: &Path) -> anyhow::Result<ReadOnlyDatabase> {
    if let Some(database) = clean(path)? {
        for damage in &database.recovery().damaged {
            note(&format!("{}: {damage}; what is left is shown", path.display()));
        }
        return Ok(database);
    }
    closing(existing(path)?, |_| Ok(()))?;
    Database::open_read_only(path).map_err(|error| cannot_open(path, error))
}

/// What a whole database has to tell: one to look at, or, if it was not closed, the one that has just been recovered
/// and knows of it.
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

/// A database that was closed; `None`, and a line on standard error, for one that was not.
fn clean(path: &Path) -> anyhow::Result<Option<ReadOnlyDatabase>> {
    match Database::open_read_only(path) {
        Err(Error::NotClean { .. }) => {
            note(&format!("{} was not closed: opening it for writing, to recover it", path.display()));
            Ok(None)
        }
        opened => opened.map(Some).map_err(|error| cannot_open(path, error)),
    }
}

/// Why not, in words that name the path once.
fn cannot_open(path: &Path, error: Error) -> anyhow::Error {
    match error {
        Error::NotFound { .. } => error.into(),
        _ if path.is_file() => anyhow!("cannot open {}: found a file, expected a folder", path.display()),
        _ => anyhow::Error::from(error).context(format!("cannot open {}", path.display())),
    }
}

/// A database that exists, to write to or to recover; to ask for a name that was misspelt must not leave an empty
/// database behind.
pub(crate) fn existing(path: &Path) -> anyhow::Result<Database> {
    Database::builder().create(false).open(path).map_err(|error| cannot_open(path, error))
}

/// A database to write to, as the options say; created if `create` and it is absent.
pub(crate) fn writable(path: &Path, writing: &Writing, create: bool) -> anyhow::Result<Database> {
    let image = if writing.memory { ImageMode::Private } else { ImageMode::Shared };
    let mut builder = Database::builder().create(create).image(image);
    if let Some(durability) = writing.durability {
        builder = builder.durability(durability);
    }
    builder.open(path).map_err(|error| cannot_open(path, error))
}

/// Does `work`, then closes, also after an error: a database that was closed opens without recovery. Keyspaces and
/// iterators are dropped with the closure, before the close.
pub(crate) fn closing<T>(database: Database, work: impl FnOnce(&Database) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let worked = work(&database);
    let closed = database.close().context("cannot close the database");
    if let (Err(_), Err(error)) = (&worked, &closed) {
        // It may take back what had been done.
        note(&chain(error));
    }
    let value = worked?;
    closed?;
    Ok(value)
}

/// Says that there is no such keyspace, and which there are: an empty answer would hide a misspelt name.
pub(crate) fn no_keyspace(name: &str, there: &[String]) -> anyhow::Result<Exit> {
    let there: Vec<_> = there.iter().map(|name| format!("{name:?}")).collect();
    note(&format!("no keyspace named {name:?} (there are: {})", there.join(", ")));
    Ok(Exit::Absent)
}
