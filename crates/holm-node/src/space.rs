//! The keyspaces of a group, and which of them it has now.
//!
//! A group's keyspaces have a *generation* in their names: `g7.3` and `g7.3.rows`. The keyspace `groups` has the
//! generation of each group. A group that is restored or flushed gets fresh keyspaces beside the old ones, and one
//! write of its generation puts them in place. A crash before that write leaves the old ones, a crash after it the new
//! ones. What no generation names is dropped when the node opens.

use crate::fault::{Fault, Result};
use holm::{Database, Keyspace};
use holm_commands::{Outcome, Refusal, Spaces};
use std::ops::Deref;

/// The keyspace with the generations.
pub(crate) const GROUPS: &str = "groups";

/// How a part that only reads refuses a command that writes.
pub(crate) const READ_ONLY: Refusal = Refusal::text("ERR a part that only reads has a command that writes");

/// The keyspaces of a generation of a group.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) generation: u64,
    keyspaces: holm_commands::Space,
}

impl Deref for Space {
    type Target = holm_commands::Space;

    fn deref(&self) -> &holm_commands::Space {
        &self.keyspaces
    }
}

/// A group has one database.
impl Spaces for Space {
    const READ_ONLY: Refusal = READ_ONLY;

    fn existing(&self, _: u32) -> Outcome<Option<&holm_commands::Space>> {
        Ok(Some(&self.keyspaces))
    }

    fn space(&self, _: u32) -> Outcome<&holm_commands::Space> {
        Ok(&self.keyspaces)
    }

    fn next_version(&self) -> u64 {
        // Only entries make collections, and their versions are in the group's state.
        0
    }
}

/// Returns the names of a group's keyspaces.
pub(crate) fn names(group: u64, generation: u64) -> [String; 2] {
    [format!("g{group}.{generation}"), format!("g{group}.{generation}.rows")]
}

/// Returns the group and the generation in the name of a keyspace.
fn parse_name(name: &str) -> Option<(u64, u64)> {
    let (group, generation) = name.strip_prefix('g')?.split_once('.')?;
    let generation = generation.strip_suffix(".rows").unwrap_or(generation);
    Some((group.parse().ok()?, generation.parse().ok()?))
}

/// Returns the generation of a group, if it has one.
pub(crate) fn generation_of(groups: &Keyspace, group: u64) -> Result<Option<u64>> {
    let Some(bytes) = groups.get(group.to_be_bytes())? else { return Ok(None) };
    let number = bytes.first_chunk::<8>().filter(|_| bytes.len() == 8);
    let malformed = || Fault::malformed("the 8 bytes of a generation", format!("{} bytes", bytes.len()));
    Ok(Some(u64::from_be_bytes(*number.ok_or_else(malformed)?)))
}

impl Space {
    /// Opens the keyspaces of a generation, and creates them.
    pub(crate) fn open(db: &Database, group: u64, generation: u64) -> Result<Self> {
        let [keys, rows] = names(group, generation);
        let keyspaces = holm_commands::Space { keys: db.keyspace(&keys)?, rows: db.keyspace(&rows)? };
        Ok(Space { generation, keyspaces })
    }

    /// Creates the keyspaces of a generation that the group never had, empty even if a crash left some.
    pub(crate) fn fresh(db: &Database, group: u64, generation: u64) -> Result<Self> {
        Space::drop_of(db, group, generation)?;
        Space::open(db, group, generation)
    }

    /// Drops the keyspaces of a generation.
    pub(crate) fn drop_of(db: &Database, group: u64, generation: u64) -> Result<()> {
        for name in names(group, generation) {
            db.drop_keyspace(&name)?;
        }
        Ok(())
    }
}

/// Drops the keyspaces that no generation names. For a node that opens.
pub(crate) fn drop_strays(db: &Database, groups: &Keyspace) -> Result<()> {
    for name in db.keyspaces()? {
        if let Some((group, generation)) = parse_name(&name)
            && generation_of(groups, group)? != Some(generation)
        {
            db.drop_keyspace(&name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_made() {
        for name in names(17, 4) {
            assert_eq!(parse_name(&name), Some((17, 4)));
        }
        for other in ["groups", "g", "g1", "g1.x", "default"] {
            assert_eq!(parse_name(other), None, "{other}");
        }
    }
}
