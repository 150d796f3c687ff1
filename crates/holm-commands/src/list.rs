//! The elements of a list.
//!
//! A small list lies whole in its key's record: the length and the bytes of each element. One that grows beyond 128
//! elements or 4 KiB becomes rows under positions, which begin in the middle of all numbers. The record then has
//!
//! ```text
//! version 8 | changes 8 | count 8 | position of the first 8
//! ```

use crate::context::Context;
use crate::entry::Entry;
use crate::record::{Kind, NewRecord};
use crate::refusal::{Outcome, Refusal};
use crate::rows;
use crate::store::Area;
use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};

const MOST_INLINE: usize = 128;
const MOST_BYTES: usize = 4 << 10;
const MIDDLE: u64 = 1 << 63;
const WRONG_ROWS: Refusal = Refusal::text("ERR the record of a large list is damaged");

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The elements of a key.
pub(crate) struct List<'c, 'k> {
    context: &'c Context<'c>,
    entry: Entry<'k>,
    form: Form,
    changed: bool,
}

enum Form {
    Inline(VecDeque<Vec<u8>>),
    Rows { version: u64, changes: u64, count: u64, first: u64 },
}

fn decode(mut body: &[u8]) -> VecDeque<Vec<u8>> {
    let mut elements = VecDeque::new();
    while let Some((length, rest)) = body.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        elements.push_back(rest[..length].to_vec());
        body = &rest[length..];
    }
    elements
}

impl<'c, 'k> List<'c, 'k> {
    /// Reads the list of a key. A key that is absent has no elements.
    ///
    /// # Errors
    /// The key is of another kind.
    pub(crate) fn open(context: &'c Context<'c>, key: &'k [u8]) -> Outcome<Self> {
        let entry = context.entry(key)?;
        let form = match entry.of(Kind::List)? {
            None => Form::Inline(VecDeque::new()),
            Some(record) if !record.in_rows => Form::Inline(decode(record.body())),
            Some(record) => {
                let word = |at: usize| record.body().get(at..).and_then(|rest| rest.first_chunk::<8>());
                let word = |at| word(at).map(|bytes| u64::from_be_bytes(*bytes)).ok_or(WRONG_ROWS);
                Form::Rows { version: word(0)?, changes: word(8)?, count: word(16)?, first: word(24)? }
            }
        };
        Ok(List { context, entry, form, changed: false })
    }

    pub(crate) fn len(&self) -> usize {
        match &self.form {
            Form::Inline(elements) => elements.len(),
            Form::Rows { count, .. } => *count as usize,
        }
    }

    fn row(&self, index: usize) -> Option<Vec<u8>> {
        let Form::Rows { version, first, .. } = &self.form else { return None };
        let position = first.wrapping_add(index as u64);
        Some(rows::key(rows::family(Kind::List), *version, &position.to_be_bytes()))
    }

    /// Returns the index that a client means; negative ones count from the end. `None` if there is no such element.
    pub(crate) fn index(&self, index: i64) -> Option<usize> {
        let index = if index < 0 { index + self.len() as i64 } else { index };
        usize::try_from(index).ok().filter(|index| *index < self.len())
    }

    pub(crate) fn get(&self, index: usize) -> Outcome<Option<Vec<u8>>> {
        if index >= self.len() {
            return Ok(None);
        }
        match (&self.form, self.row(index)) {
            (Form::Inline(elements), _) => Ok(elements.get(index).cloned()),
            (Form::Rows { .. }, Some(key)) => {
                Ok(self.context.store.get(self.entry.database, Area::Rows, &key)?.map(|value| value.to_vec()))
            }
            (Form::Rows { .. }, None) => Ok(None),
        }
    }

    pub(crate) fn set(&mut self, index: usize, element: &[u8]) -> Outcome<()> {
        self.changed = true;
        self.make_room(element)?;
        let key = self.row(index);
        match (&mut self.form, key) {
            (Form::Inline(elements), _) => elements[index] = element.to_vec(),
            (_, Some(key)) => self.context.store.insert(self.entry.database, Area::Rows, &key, element)?,
            (_, None) => {}
        }
        Ok(())
    }

    pub(crate) fn push(&mut self, side: Side, element: &[u8]) -> Outcome<()> {
        self.changed = true;
        self.make_room(element)?;
        match (&mut self.form, side) {
            (Form::Inline(elements), Side::Left) => elements.push_front(element.to_vec()),
            (Form::Inline(elements), Side::Right) => elements.push_back(element.to_vec()),
            (Form::Rows { count, first, .. }, side) => {
                *count += 1;
                if side == Side::Left {
                    *first = first.wrapping_sub(1);
                }
                let index = if side == Side::Left { 0 } else { self.len() - 1 };
                if let Some(key) = self.row(index) {
                    self.context.store.insert(self.entry.database, Area::Rows, &key, element)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn pop(&mut self, side: Side) -> Outcome<Option<Vec<u8>>> {
        let index = if side == Side::Left { 0 } else { self.len().saturating_sub(1) };
        let Some(element) = self.get(index)? else { return Ok(None) };
        self.changed = true;
        let key = self.row(index);
        match (&mut self.form, side) {
            (Form::Inline(elements), Side::Left) => drop(elements.pop_front()),
            (Form::Inline(elements), Side::Right) => drop(elements.pop_back()),
            (Form::Rows { count, first, .. }, side) => {
                *count -= 1;
                if side == Side::Left {
                    *first = first.wrapping_add(1);
                }
                if let Some(key) = key {
                    self.context.store.remove(self.entry.database, Area::Rows, &key)?;
                }
            }
        }
        Ok(Some(element))
    }

    /// Visits the elements from an index on, forward or back.
    pub(crate) fn visit(
        &self,
        from: usize,
        reverse: bool,
        visit: &mut dyn FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> Outcome<()> {
        match &self.form {
            Form::Inline(elements) => {
                let mut walk = |index: usize| visit(index, &elements[index]);
                let _ = if reverse {
                    (0..(from + 1).min(elements.len())).rev().try_for_each(&mut walk)
                } else {
                    (from..elements.len()).try_for_each(&mut walk)
                };
                Ok(())
            }
            Form::Rows { version, first, count, .. } => {
                let place = first.wrapping_add(from as u64).to_be_bytes();
                let low = if reverse { Bound::Included(first.to_be_bytes()) } else { Bound::Included(place) };
                let last = first.wrapping_add(count.saturating_sub(1)).to_be_bytes();
                let high = Bound::Included(if reverse { place.min(last) } else { last });
                let bounds = (low.as_ref().map(|bytes| &bytes[..]), high.as_ref().map(|bytes| &bytes[..]));
                let mut index = if reverse { from.min(self.len().saturating_sub(1)) } else { from };
                self.context.visit_rows((rows::family(Kind::List), *version), bounds, reverse, &mut |_, element| {
                    let done = visit(index, element);
                    index = if reverse { index.wrapping_sub(1) } else { index + 1 };
                    done
                })
            }
        }
    }

    /// Returns the elements from an index up to and with another.
    pub(crate) fn range(&self, from: usize, to: usize) -> Outcome<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        if from <= to && from < self.len() {
            self.visit(from, false, &mut |index, element| {
                found.push(element.to_vec());
                if index >= to { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        Ok(found)
    }

    /// Gives the list other elements; those that stay where they are are not written.
    pub(crate) fn assign(&mut self, elements: Vec<Vec<u8>>) -> Outcome<()> {
        let before = self.range(0, usize::MAX)?;
        while self.len() > elements.len() {
            self.pop(Side::Right)?;
        }
        for (index, element) in elements.iter().enumerate() {
            if index >= self.len() {
                self.push(Side::Right, element)?;
            } else if before.get(index) != Some(element) {
                self.set(index, element)?;
            }
        }
        Ok(())
    }

    /// Turns a small list into rows if it has no room for one more element.
    fn make_room(&mut self, element: &[u8]) -> Outcome<()> {
        let Form::Inline(elements) = &mut self.form else { return Ok(()) };
        let bytes: usize = elements.iter().map(|element| element.len() + 2).sum();
        if elements.len() < MOST_INLINE && bytes + element.len() + 2 <= MOST_BYTES {
            return Ok(());
        }
        let elements = std::mem::take(elements);
        let version = self.context.store.next_version();
        self.form = Form::Rows { version, changes: 0, count: elements.len() as u64, first: MIDDLE };
        for (index, element) in elements.iter().enumerate() {
            if let Some(key) = self.row(index) {
                self.context.store.insert(self.entry.database, Area::Rows, &key, element)?;
            }
        }
        Ok(())
    }

    /// Stores what has changed. A list without elements is no key.
    pub(crate) fn save(self) -> Outcome<()> {
        if !self.changed {
            return Ok(());
        }
        let (kind, expiry) = (Kind::List, self.entry.expiry());
        match &self.form {
            Form::Inline(elements) if elements.is_empty() => self.context.replace(&self.entry, None),
            Form::Rows { count: 0, .. } => self.context.replace(&self.entry, None),
            Form::Inline(elements) => {
                let of = |element: &Vec<u8>| [&(element.len() as u16).to_be_bytes()[..], element].concat();
                let body: Vec<u8> = elements.iter().flat_map(of).collect();
                self.context.replace(&self.entry, Some(NewRecord { kind, in_rows: false, expiry, body: &body }))
            }
            Form::Rows { version, changes, count, first } => {
                let body = [*version, changes + 1, *count, *first].map(u64::to_be_bytes).concat();
                self.context.replace(&self.entry, Some(NewRecord { kind, in_rows: true, expiry, body: &body }))
            }
        }
    }
}
