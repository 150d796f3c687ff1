//! Opening for reading, opening for writing, and closing whatever happened in between.

use std::path::Path;

use anyhow::Context;
use holm::Database;

use crate::args::Writing;
use crate::exit::{Exit, note};

/// A database that exists; to read a name that was misspelt must not leave an empty database behind.
pub(crate) fn existing(path: &Path) -> anyhow::Result<Database> {
    Database::builder().create(false).open(path).with_context(|| format!("cannot open {}", path.display()))
}

/// A database to write to, as the options say; created if `create` and it is absent.
pub(crate) fn writable(path: &Path, writing: &Writing, create: bool) -> anyhow::Result<Database> {
    let mut builder = Database::builder().create(create).memory(writing.memory);
    if let Some(durability) = writing.durability {
        builder = builder.durability(durability);
    }
    builder.open(path).with_context(|| format!("cannot open {}", path.display()))
}

/// Does `work`, then closes, also after an error: a database that was closed opens without recovery. Keyspaces and
/// iterators are dropped with the closure, before the close. Of two errors the first is told.
pub(crate) fn closing<T>(database: Database, work: impl FnOnce(&Database) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let worked = work(&database);
    let closed = database.close().context("cannot close the database");
    let value = worked?;
    closed?;
    Ok(value)
}

/// Says that there is no such keyspace, and which there are: an empty answer would hide a misspelt name.
pub(crate) fn no_keyspace(database: &Database, name: &str) -> anyhow::Result<Exit> {
    let names = database.keyspaces()?.join(", ");
    note(&format!("no keyspace named {name} (there are: {names})"));
    Ok(Exit::Absent)
}
