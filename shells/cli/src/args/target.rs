//! What several commands have in common: where their records are, and how they are written.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Args;
use holm::Durability;

use super::units::{Lifetime, durability};
use crate::escape::unescape;

/// The records that a command works on.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// Keyspace within the database
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) keyspace: String,
}

/// The record that a command works on.
#[derive(Debug, Args)]
pub(crate) struct Record {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Key of the record
    pub(crate) key: OsString,
    /// Use escapes such as \xHH in the key, and in a value given or printed; see `holm --help`
    #[arg(long)]
    pub(crate) escaped: bool,
}

impl Record {
    /// Returns the bytes of the key.
    pub(crate) fn key(&self) -> anyhow::Result<Vec<u8>> {
        bytes(&self.key, self.escaped)
    }
}

/// Returns the bytes that an argument denotes.
pub(crate) fn bytes(argument: &OsStr, escaped: bool) -> anyhow::Result<Vec<u8>> {
    let argument = argument.as_encoded_bytes();
    if !escaped {
        return Ok(argument.to_vec());
    }
    let mut bytes = Vec::new();
    unescape(argument, &mut bytes)?;
    Ok(bytes)
}

/// A whole database, and the form of the output.
#[derive(Debug, Args)]
pub(crate) struct Told {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The durability of writes.
#[derive(Debug, Default, Args)]
pub(crate) struct Writing {
    /// When a write survives a power failure: strict, buffered[:INTERVAL] or onsync [default: buffered:10ms]
    #[arg(long, value_name = "WHEN", value_parser = durability)]
    pub(crate) durability: Option<Durability>,
    /// Keep a private image: the data must fit in memory, and a killed process loses what a power failure would
    #[arg(long)]
    pub(crate) memory: bool,
    /// The leaf design of a database that is created: buffered, holm, or clustered for data larger than memory
    /// [default: buffered]
    #[arg(long, value_name = "NAME")]
    pub(crate) design: Option<String>,
}

/// The expiry of records that are stored.
#[derive(Debug, Default, Args)]
pub(crate) struct Expiring {
    /// Expire after this time, such as 500ms, 30s, 10m, 12h or 7d; `never`: stay, in a keyspace whose other keys expire
    #[arg(long, value_name = "DURATION")]
    pub(crate) expires_in: Option<Lifetime>,
}

/// A part of a keyspace.
#[derive(Debug, Args)]
pub(crate) struct Bounds {
    /// First key, inclusive
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) from: Option<OsString>,
    /// Last key, exclusive
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) to: Option<OsString>,
    /// Only keys with this prefix
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
    pub(crate) prefix: Option<OsString>,
}

impl Bounds {
    /// Returns whether every key is within: an unset variable in place of a prefix, in most cases.
    pub(crate) fn are_open(&self) -> bool {
        let is_empty = |key: &Option<OsString>| key.as_ref().is_none_or(|key| key.is_empty());
        self.to.is_none() && is_empty(&self.from) && is_empty(&self.prefix)
    }
}
