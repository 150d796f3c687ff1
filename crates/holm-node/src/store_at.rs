//! The stores of commands that only read: each read at an instant of its own, or all at one.

use crate::space::Space;
use crate::store_within::walk;
use holm::{ReadTransaction, Slice};
use holm_commands::{Area, Outcome, Range, Refusal, Store, Visitor};
use std::ops::ControlFlow;

pub(crate) const READ_ONLY: Refusal = Refusal::text("ERR a part that only reads has a command that writes");

/// Reads, each at an instant of its own: enough for commands that read one record.
pub(crate) struct Direct<'s>(pub(crate) &'s Space);

/// Reads of one instant.
pub(crate) struct AtOneInstant<'s> {
    pub(crate) space: &'s Space,
    pub(crate) transaction: &'s ReadTransaction,
}

impl Store for Direct<'_> {
    fn get(&self, _: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        Ok(self.0.area(area).get(key)?)
    }

    fn insert(&self, _: u32, _: Area, _: &[u8], _: &[u8]) -> Outcome<()> {
        Err(READ_ONLY)
    }

    fn remove(&self, _: u32, _: Area, _: &[u8]) -> Outcome<()> {
        Err(READ_ONLY)
    }

    fn scan(&self, _: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        let mut pairs = self.0.area(area).range::<&[u8]>((range.low, range.high));
        while let Some(pair) = if range.reverse { pairs.next_back_ref() } else { pairs.next_ref() } {
            let (key, value) = pair?;
            if visit(key, value) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }

    fn len(&self, _: u32) -> Outcome<u64> {
        Ok(self.0.keys.len()?)
    }

    fn next_version(&self) -> u64 {
        0
    }
}

impl Store for AtOneInstant<'_> {
    fn get(&self, _: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        Ok(self.transaction.get(self.space.area(area), key)?)
    }

    fn insert(&self, _: u32, _: Area, _: &[u8], _: &[u8]) -> Outcome<()> {
        Err(READ_ONLY)
    }

    fn remove(&self, _: u32, _: Area, _: &[u8]) -> Outcome<()> {
        Err(READ_ONLY)
    }

    fn scan(&self, _: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        walk(self.transaction.range::<&[u8]>(self.space.area(area), (range.low, range.high))?, range.reverse, visit)
    }

    fn len(&self, _: u32) -> Outcome<u64> {
        Ok(self.space.keys.len()?)
    }

    fn next_version(&self) -> u64 {
        0
    }
}
