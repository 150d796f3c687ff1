//! Rows that commands of one key are about to read or write: they are looked up together, before the commands begin.
//!
//! Commands of a pipeline that write members of one large collection run in one transaction, and those of several
//! threads one after the other. Each looks up a row somewhere in the collection, which is mostly a miss of the caches.
//! Here these misses overlap, and no other thread waits for them. The transaction then reads all these members in one
//! step, where they were found, and its commit writes rows by score where those were found.

use crate::arguments::Arguments;
use crate::command::Command;
use crate::execute::Function;
use crate::number::{parse_float, sortable};
use crate::over_holm::Databases;
use crate::record::{Kind, Record};
use crate::rows;
use holm::Ahead;

/// Returns the words of a command that are members of its collection: the first one, and how far they are apart.
fn members(command: &str, words: usize) -> Option<(usize, usize)> {
    match command {
        "hset" | "hmset" | "hsetnx" => Some((2, 2)),
        "hincrby" | "hincrbyfloat" => Some((2, words)),
        "hdel" | "sadd" | "srem" | "zrem" => Some((2, 1)),
        "zincrby" => Some((3, words)),
        // With options, the first member stands elsewhere.
        "zadd" if words == 4 => Some((3, words)),
        _ => None,
    }
}

/// Keys one behind the other.
#[derive(Default)]
struct RowKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl RowKeys {
    /// With memory for as many keys of usual lengths.
    fn with_capacity(keys: usize) -> Self {
        RowKeys { bytes: Vec::with_capacity(keys * 48), ends: Vec::with_capacity(keys) }
    }

    fn push(&mut self, family: u8, version: u64, parts: [&[u8]; 2]) {
        self.bytes.push(family);
        self.bytes.extend(version.to_be_bytes());
        parts.into_iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.ends.push(self.bytes.len());
    }

    fn keys(&self) -> Vec<&[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end]).collect()
    }
}

/// The most members of one lookup. Each may lie in a leaf of its own, and a transaction finds a leaf among few that it
/// has read faster than among many.
const MOST_MEMBERS: usize = 20;

/// Rows that were looked up.
pub(crate) struct RowsAhead {
    /// How many commands they are of.
    pub(crate) commands: usize,
    /// Those of members, which are read.
    pub(crate) members: Ahead,
    /// Those by score, which are written and not read.
    pub(crate) by_score: Option<Ahead>,
}

impl Databases {
    /// Looks up the rows that the first commands of some of one key name, if it is a large collection. A hint: it
    /// promises nothing, and what it cannot do is left out.
    pub(crate) fn look_ahead<'c, 'a>(
        &self,
        database: u32,
        commands: impl Iterator<Item = (&'c Command<Function>, Arguments<'a>)> + Clone,
    ) -> Option<RowsAhead> {
        let (command, first) = commands.clone().next()?;
        members(command.name, first.len())?;
        let space = self.existing(database).ok()??;
        let record = Record::decode(space.keys.get(first.at(1)).ok()??).ok()?;
        let version = record.version()?;
        let count = commands.size_hint().0.min(MOST_MEMBERS);
        let is_scored = record.kind == Kind::SortedSet && command.name == "zadd";
        let by_score = if is_scored { RowKeys::with_capacity(count) } else { RowKeys::default() };
        let (mut keys, mut by_score) = (RowKeys::with_capacity(count), by_score);
        let mut looked_at = 0;
        for (command, arguments) in commands {
            if keys.ends.len() >= MOST_MEMBERS {
                break;
            }
            looked_at += 1;
            let Some((first, step)) = members(command.name, arguments.len()) else { continue };
            for member in (first..arguments.len()).step_by(step).map(|at| arguments.at(at)) {
                keys.push(rows::family(record.kind), version, [&[], member]);
                let is_added = record.kind == Kind::SortedSet && command.name == "zadd";
                if let Some(score) = is_added.then(|| parse_float(arguments.at(2))).flatten() {
                    by_score.push(rows::BY_SCORE, version, [&sortable(score), member]);
                }
            }
        }
        // Without the keyspace there is nothing to look up, and the commands will say so.
        let by_score = (!by_score.ends.is_empty()).then(|| space.rows.look_ahead(&by_score.keys()).ok()).flatten();
        Some(RowsAhead { commands: looked_at, members: space.rows.look_ahead(&keys.keys()).ok()?, by_score })
    }
}

#[cfg(test)]
mod tests {
    use super::{RowKeys, members};

    #[test]
    fn members_stand_where_the_commands_have_them() {
        let of = |line: &str| {
            let words: Vec<_> = line.split(' ').collect();
            members(words[0], words.len()).map(|(first, step)| {
                (first..words.len()).step_by(step).map(|at| words[at]).collect::<Vec<_>>().join(" ")
            })
        };
        for (line, found) in [
            ("hset key a 1 b 2", "a b"),
            ("hincrby key a 1", "a"),
            ("hdel key a b", "a b"),
            ("sadd key a b", "a b"),
            ("zadd key 1 a", "a"),
            ("zincrby key 1 a", "a"),
        ] {
            assert_eq!(of(line).as_deref(), Some(found), "{line}");
        }
        assert_eq!((of("zadd key nx 1 a"), of("lpush key a")), (None, None));
    }

    #[test]
    fn keys_are_those_of_rows() {
        let mut keys = RowKeys::default();
        keys.push(2, 7, [b"", b"field"]);
        keys.push(5, 7, [b"12345678", b"member"]);
        let expected = [crate::rows::key(2, 7, b"field"), crate::rows::score_key(7, b"12345678", b"member")];
        assert_eq!(keys.keys(), expected.each_ref().map(|key| &key[..]));
    }
}
