//! Entries about slots: the steps of a move, each applied at its place in the group's log.
//!
//! ```text
//! operation 1 | attempt 8 | peer 8 | sequence 8 | slots | rest       slots as in `slots.rs`
//! answer:   0 | what the operation gives;    1 | why it did nothing, as a text
//! ```

use crate::apply::{Attempt, Stop};
use crate::entry::Input;
use crate::fault::{Fault, Result};
use crate::slot::slot_of;
use crate::slots::{JOURNAL, Phase, SLOTS_ROW, SlotRange, Slots, contains, read_ranges};
use holm_commands::{Area, Chunk, Context, Outcome, Range, Store};
use std::ops::{Bound, ControlFlow};

/// How many keys an entry removes of slots that are not owned, and how many it looks at for that.
const CLEANED: (usize, usize) = (500, 20_000);

/// What an entry about slots does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// The first one of a group: the slots that it owns.
    Assign,
    /// The group is to get slots.
    Import,
    /// It stores keys of them.
    Store,
    /// It answers for them from now on.
    Own,
    /// The group is to give slots: it notes which of their keys change.
    Send,
    /// It does not answer for them any more.
    Freeze,
    /// They are another group's.
    Give,
    /// It gives a move up, and answers for the slots that it owns.
    Rest,
    /// It removes what it has of slots that are not its own.
    Clean,
    /// It forgets changes that were carried.
    Forget,
}

/// An entry about slots.
pub(crate) struct SlotEntry<'a> {
    operation: Operation,
    attempt: u64,
    peer: u64,
    sequence: u64,
    ranges: Vec<SlotRange>,
    rest: &'a [u8],
}

impl<'a> SlotEntry<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self> {
        use Operation::*;
        const ALL: [Operation; 10] = [Assign, Import, Store, Own, Send, Freeze, Give, Rest, Clean, Forget];
        let mut input = Input(bytes);
        let number = input.byte()?;
        let operation = ALL.get(usize::from(number)).copied();
        let operation = operation.ok_or_else(|| Fault::malformed("an operation on slots", number.to_string()))?;
        let (attempt, peer, sequence) = (input.number()?, input.number()?, input.number()?);
        let (ranges, rest) = (read_ranges(&mut input)?, input.0);
        match operation {
            // What is applied reads the chunk again: items that are kept may take more memory than their chunk. Without
            // this look at all of it, a refusal of the store would hide the damage behind it.
            Store => Chunk::check(rest).map_err(|refusal| Fault::malformed("keys of a slot", refusal.into_text()))?,
            Forget => notes(rest).try_for_each(|note| note.map(drop))?,
            _ => {}
        }
        Ok(SlotEntry { operation, attempt, peer, sequence, ranges, rest })
    }
}

/// Reads notes of changes: each has a key and the index of its last change.
fn notes(list: &[u8]) -> impl Iterator<Item = Result<(&[u8], &[u8])>> {
    let mut input = Input(list);
    std::iter::from_fn(move || (!input.0.is_empty()).then(|| Ok((input.bytes()?, input.take(8)?))))
}

/// The row that notes a key that has changed.
pub(crate) fn journal_row(attempt: u64, key: &[u8]) -> Vec<u8> {
    [&[JOURNAL], &attempt.to_be_bytes()[..], key].concat()
}

/// Why an entry about slots did nothing.
type Refused = &'static str;

impl Attempt<'_> {
    /// Applies an entry about slots, and returns its answer.
    pub(crate) fn slots(&self, context: &Context<'_>, bytes: &[u8]) -> std::result::Result<Vec<u8>, Stop> {
        let entry = SlotEntry::read(bytes)?;
        let number = self.count.replace(self.count.get() + 1);
        if let Some(words) = self.left_out.get(&number) {
            return Ok(refused(words));
        }
        let before = self.store.slots.borrow().clone();
        let mut slots = before.as_deref().cloned().unwrap_or_default();
        if before.is_none() && entry.operation != Operation::Assign {
            return Ok(refused("the group has no record of its slots"));
        }
        if slots.phase == Phase::Loading {
            return Ok(refused("a backup is being loaded"));
        }
        if entry.attempt < slots.attempt {
            return Ok(refused("a later attempt was heard of"));
        }
        let is_later = entry.attempt > slots.attempt;
        let answer = match self.change(context, &entry, &mut slots, is_later) {
            Ok(Ok(answer)) => answer,
            Ok(Err(words)) => return Ok(refused(words)),
            Err(stop) => return Err(stop),
        };
        if before.as_deref() != Some(&slots) {
            self.done(self.store.insert(0, Area::Rows, SLOTS_ROW, &slots.to_bytes()))?;
            *self.store.slots.borrow_mut() = Some(slots.into());
        }
        Ok([&[0], &answer[..]].concat())
    }

    /// Returns what a step has done. One that the store refuses is left out: its bytes can be read, so all replicas
    /// have the same, and each would end at it, whenever it begins.
    fn done<T>(&self, outcome: Outcome<T>) -> std::result::Result<T, Stop> {
        self.known(outcome)?.map_err(|words| Stop::LeaveOut(self.count.get() - 1, words))
    }

    fn change(
        &self,
        context: &Context<'_>,
        entry: &SlotEntry<'_>,
        slots: &mut Slots,
        is_later: bool,
    ) -> std::result::Result<std::result::Result<Vec<u8>, Refused>, Stop> {
        let SlotEntry { operation, attempt, peer, ref ranges, .. } = *entry;
        let same = |phase: Phase| !is_later && slots.phase == phase;
        match operation {
            Operation::Assign if self.store.slots.borrow().is_none() => slots.owned = ranges.clone(),
            Operation::Assign => {}
            Operation::Import if is_later && !slots.gives() && slots.owns_none(ranges) => {
                slots.begin(Phase::Importing, peer, ranges)
            }
            Operation::Import if same(Phase::Importing) && slots.sequence == 0 => {}
            Operation::Send if is_later && slots.phase == Phase::None && slots.owns(ranges) => {
                slots.begin(Phase::Sending, peer, ranges)
            }
            Operation::Send if same(Phase::Sending) => {}
            Operation::Store if same(Phase::Importing) => {
                // The same chunk again was stored before.
                if entry.sequence == slots.sequence + 1 {
                    self.done(context.carry_in(entry.rest))?;
                    slots.sequence += 1;
                } else if entry.sequence != slots.sequence {
                    return Ok(Err("a chunk out of turn"));
                }
            }
            Operation::Own if same(Phase::Importing) => slots.take(),
            Operation::Own if slots.phase == Phase::None && slots.owns(ranges) => {}
            Operation::Freeze if same(Phase::Sending) => slots.phase = Phase::Frozen,
            Operation::Freeze if same(Phase::Frozen) => {}
            // A later attempt has found that the other group owns them.
            Operation::Give if slots.phase == Phase::Frozen && slots.moving == *ranges => slots.give(),
            Operation::Give if slots.phase == Phase::None && slots.owns_none(ranges) => {}
            Operation::Rest if is_later || slots.phase == Phase::None => slots.rest(),
            Operation::Clean if !is_later && slots.owns_none(ranges) && slots.sequence == 0 => {
                return self.clean(context, entry, slots).map(Ok);
            }
            Operation::Forget if same(Phase::Sending) || same(Phase::Frozen) => self.forget(attempt, entry.rest)?,
            _ => return Ok(Err("the group is not where the move thinks")),
        }
        slots.attempt = attempt;
        Ok(Ok(Vec::new()))
    }

    /// Removes some keys of slots that are not owned, and notes of earlier attempts. Answers where to go on.
    fn clean(&self, context: &Context<'_>, entry: &SlotEntry<'_>, slots: &Slots) -> std::result::Result<Vec<u8>, Stop> {
        let current = if slots.phase == Phase::None { entry.attempt + 1 } else { entry.attempt };
        let (most, what) = (self.portion(CLEANED.0), "keys of a slot that can be removed");
        let old = self.done(self.rows(&[JOURNAL], &journal_row(current, &[]), most))?;
        for row in &old {
            self.fits(self.store.remove(0, Area::Rows, row), what)?;
        }
        if old.len() == most {
            // The same place again.
            return Ok([&[1], entry.rest].concat());
        }
        if entry.ranges.is_empty() {
            return Ok(vec![0]);
        }
        let wants = |key: &[u8]| contains(&entry.ranges, slot_of(key));
        let next = self.fits(context.carry_away(entry.rest, &wants, (most, CLEANED.1)), what)?;
        Ok(next.map_or_else(|| vec![0], |key| [&[1], &key[..]].concat()))
    }

    /// Removes notes of changes: key and index, if the key has not changed since.
    fn forget(&self, attempt: u64, list: &[u8]) -> std::result::Result<(), Stop> {
        for note in notes(list) {
            let (key, index) = note?;
            let row = journal_row(attempt, key);
            let found = self.done(self.store.get(0, Area::Rows, &row))?;
            if found.as_deref() == Some(index) {
                self.done(self.store.remove(0, Area::Rows, &row))?;
            }
        }
        Ok(())
    }

    /// Collects the keys of some rows.
    fn rows(&self, low: &[u8], high: &[u8], most: usize) -> Outcome<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        let range = Range { low: Bound::Included(low), high: Bound::Excluded(high), reverse: false };
        self.store.scan(0, Area::Rows, range, &mut |row, _| {
            found.push(row.to_vec());
            if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(found)
    }
}

fn refused(words: &str) -> Vec<u8> {
    [&[1], words.as_bytes()].concat()
}
