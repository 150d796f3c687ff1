//! The numbers that new keyspaces get. Each is given once in a session: feeds and snapshots tell keyspaces by number.
//!
//! A number is free if no name and no leaf had it when the database was opened. Nothing of an earlier keyspace comes
//! back under it: the opening has made durable what it found, and no crash restores a state from before. Numbers above
//! all that are in use come first, in order; then those in between, which dropped keyspaces have left.

use super::entry::MOST_KEYSPACES;
use super::number::CATALOG;
use std::collections::BTreeSet;
use std::ops::Range;

/// Numbers in the order in which they are given.
pub(super) struct FreeNumbers {
    /// Runs of free numbers, the next one last. None is empty.
    runs: Vec<Range<u32>>,
}

impl FreeNumbers {
    /// All numbers but these.
    pub(super) fn without(used: &BTreeSet<u32>) -> Self {
        let ends = used.iter().copied().filter(|number| *number > CATALOG).chain([MOST_KEYSPACES]);
        let mut from = CATALOG + 1;
        let mut runs: Vec<_> = ends.map(|end| std::mem::replace(&mut from, end + 1)..end).collect();
        let last = runs.pop();
        runs.reverse();
        runs.extend(last);
        runs.retain(|run| run.start < run.end);
        FreeNumbers { runs }
    }

    /// The number that is given next.
    pub(super) fn next(&self) -> Option<u32> {
        self.runs.last().map(|run| run.start)
    }

    /// Takes the number that is given next: a tree has it.
    pub(super) fn take(&mut self) {
        let Some(run) = self.runs.last_mut() else { return };
        run.start += 1;
        if run.start == run.end {
            self.runs.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::{Database, Durability};

    /// The numbers that are given, `count` at most.
    fn given(mut free: FreeNumbers, count: usize) -> Vec<u32> {
        let next = || {
            let number = free.next();
            free.take();
            number
        };
        std::iter::from_fn(next).take(count).collect()
    }

    #[test]
    fn the_greatest_numbers_come_first_and_then_those_in_between() {
        const LAST: u32 = MOST_KEYSPACES - 1;
        let without = |used: &[u32], count| given(FreeNumbers::without(&used.iter().copied().collect()), count);
        assert_eq!(without(&[], 3), [1, 2, 3]);
        assert_eq!(without(&[CATALOG], 3), [1, 2, 3]);
        assert_eq!(without(&[1, 2, 5], 3), [6, 7, 8]);
        assert_eq!(without(&[2, 3, 6, LAST - 1], 5), [LAST, 1, 4, 5, 7]);
        assert_eq!(without(&[LAST], 2), [1, 2]);
        let all = FreeNumbers { runs: vec![9..10, 3..5] };
        assert_eq!(given(all, 5), [3, 4, 9]);
    }

    /// Only 2^24 keyspaces can be created in one session: the next one is an error, which changes nothing. The next
    /// session gives the numbers of those that were dropped, although the greatest number is still in use.
    #[test]
    fn the_end_of_the_numbers_is_an_error_until_the_next_opening() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Database::builder().durability(Durability::OnSync).open(folder.path()).unwrap();
        let db = open();
        db.keyspace("reefs").unwrap().insert("north", "coral").unwrap();
        db.keyspace("gone").unwrap().insert("north", "old").unwrap();
        assert!(db.drop_keyspace("gone").unwrap());
        let end = MOST_KEYSPACES - 1..MOST_KEYSPACES;
        db.engine.catalog.lock().runs = vec![end];
        db.keyspace("last").unwrap().insert("north", "kelp").unwrap();
        for _ in 0..2 {
            let refused = db.keyspace("more").map(drop);
            assert!(matches!(refused, Err(Error::TooLarge { limit: 0x100_0000, .. })), "{refused:?}");
        }
        assert_eq!(db.keyspaces().unwrap(), ["default", "last", "reefs"]);
        // A name that exists needs no number.
        db.keyspace("reefs").unwrap().insert("south", "sand").unwrap();
        assert_eq!(db.check().unwrap().faults, Vec::<String>::new());
        db.close().unwrap();
        let db = open();
        for (name, value) in [("reefs", "coral"), ("last", "kelp")] {
            assert_eq!(db.keyspace(name).unwrap().get("north").unwrap().as_deref(), Some(value.as_bytes()));
        }
        let more = db.keyspace("more").unwrap();
        assert_eq!(more.tree().root.keyspace(), 3, "the number of the one that was dropped");
        assert_eq!(more.len().unwrap(), 0);
        more.insert("north", "new").unwrap();
        drop(more);
        db.close().unwrap();
        let db = open();
        assert_eq!(db.keyspace("more").unwrap().get("north").unwrap().as_deref(), Some(&b"new"[..]));
        assert_eq!(db.check().unwrap().faults, Vec::<String>::new());
    }
}
