//! The elements of a list.
//!
//! A small list lies whole in its key's record. One that grows beyond 128 elements or 4 KiB becomes rows: see
//! `long_list.rs`. The record then has
//!
//! ```text
//! version 8 | changes 8 | count 8 | position of the first 8
//! ```

use crate::context::Context;
use crate::entry::Entry;
use crate::long_list::{ElementVisitor, LongList};
pub(crate) use crate::packed::Side;
use crate::packed::{Element, LONGEST, Packed};
use crate::record::{Kind, NewRecord};
use crate::refusal::{Outcome, Refusal};
use crate::unwritten::Collection;
use std::ops::ControlFlow;

const MOST_INLINE: usize = 128;
const MOST_BYTES: usize = 4 << 10;
const WRONG_ROWS: Refusal = Refusal::text("ERR the record of a large list is damaged");

const _: () = assert!(MOST_BYTES < LONGEST);

/// The elements of a key.
pub(crate) struct List<'c, 'k> {
    context: &'c Context<'c>,
    entry: Entry<'k>,
    form: Form,
    /// It differs from what is stored.
    changed: bool,
}

/// A list that is changed and not written.
struct Unwritten {
    entry: Entry<'static>,
    form: Form,
}

enum Form {
    Inline(Packed),
    Rows(LongList),
}

impl<'c, 'k> List<'c, 'k> {
    /// Reads the list of a key. A key that is absent has no elements.
    ///
    /// # Errors
    /// The key is of another kind.
    pub(crate) fn open(context: &'c Context<'c>, key: &'k [u8]) -> Outcome<Self> {
        let database = context.database.get();
        let is_meant = |left: &Unwritten| left.entry.key == key && left.entry.database == database;
        if let Some(left) = context.reopen(is_meant) {
            let Unwritten { entry, form } = left;
            return Ok(List { context, entry, form, changed: true });
        }
        let entry = context.entry(key)?;
        let form = match entry.of(Kind::List)? {
            None => Form::Inline(Packed::default()),
            Some(record) if !record.in_rows => Form::Inline(Packed::new(record.body())),
            Some(record) => {
                let word = |at: usize| record.body().get(at..).and_then(|rest| rest.first_chunk::<8>());
                let word = |at| word(at).map(|bytes| u64::from_be_bytes(*bytes)).ok_or(WRONG_ROWS);
                let (version, changes, count, first) = (word(0)?, word(8)?, word(16)?, word(24)?);
                Form::Rows(LongList::of(version, changes, count, first))
            }
        };
        Ok(List { context, entry, form, changed: false })
    }

    fn at(&self) -> (&'c Context<'c>, u32) {
        (self.context, self.entry.database)
    }

    pub(crate) fn len(&self) -> usize {
        match &self.form {
            Form::Inline(elements) => elements.len(),
            Form::Rows(rows) => rows.count as usize,
        }
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
        match &self.form {
            Form::Inline(elements) => match elements.get(index) {
                Some(Element::Here(bytes)) => Ok(Some(bytes.to_vec())),
                _ => Err(WRONG_ROWS),
            },
            Form::Rows(rows) => rows.get(self.at(), rows.position(index)),
        }
    }

    pub(crate) fn set(&mut self, index: usize, element: &[u8]) -> Outcome<()> {
        self.changed = true;
        self.make_room(element)?;
        let at = self.at();
        match &mut self.form {
            Form::Inline(elements) => elements.set(index, Element::Here(element)),
            Form::Rows(rows) => rows.set(at, rows.position(index), element)?,
        }
        Ok(())
    }

    pub(crate) fn push(&mut self, side: Side, element: &[u8]) -> Outcome<()> {
        self.changed = true;
        self.make_room(element)?;
        let at = self.at();
        match &mut self.form {
            Form::Inline(elements) => elements.push(side, Element::Here(element)),
            Form::Rows(rows) => rows.push(at, side, element)?,
        }
        Ok(())
    }

    pub(crate) fn pop(&mut self, side: Side) -> Outcome<Option<Vec<u8>>> {
        if self.len() == 0 {
            return Ok(None);
        }
        self.changed = true;
        let at = self.at();
        match &mut self.form {
            Form::Inline(elements) => elements.pop(side).flatten().ok_or(WRONG_ROWS).map(Some),
            Form::Rows(rows) => rows.pop(at, side).map(Some),
        }
    }

    /// Visits the elements from an index on, forward or back.
    pub(crate) fn visit(&self, from: usize, reverse: bool, visit: &mut ElementVisitor<'_>) -> Outcome<()> {
        match &self.form {
            Form::Inline(elements) => {
                let all = elements.elements().enumerate();
                let here = all.filter_map(|(index, element)| match element {
                    Element::Here(bytes) => Some((index, bytes)),
                    Element::Elsewhere => None,
                });
                let _ = if reverse {
                    let here: Vec<_> = here.take_while(|(index, _)| *index <= from).collect();
                    here.into_iter().rev().try_for_each(|(index, bytes)| visit(index, bytes))
                } else {
                    here.skip_while(|(index, _)| *index < from).try_for_each(|(index, bytes)| visit(index, bytes))
                };
                Ok(())
            }
            Form::Rows(rows) => rows.visit(self.at(), from, reverse, visit),
        }
    }

    /// Visits the elements from an index up to and with another.
    pub(crate) fn visit_range(&self, from: usize, to: usize, mut visit: impl FnMut(&[u8])) -> Outcome<()> {
        if from > to || from >= self.len() {
            return Ok(());
        }
        self.visit(from, false, &mut |index, element| {
            visit(element);
            if index >= to { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    /// Returns the elements from an index up to and with another.
    pub(crate) fn range(&self, from: usize, to: usize) -> Outcome<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        self.visit_range(from, to, |element| found.push(element.to_vec()))?;
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
        let Form::Inline(elements) = &self.form else { return Ok(()) };
        if elements.len() < MOST_INLINE && elements.bytes().len() + element.len() + 2 <= MOST_BYTES {
            return Ok(());
        }
        let mut rows = LongList::new(self.context.store.next_version());
        for element in elements.elements() {
            let Element::Here(element) = element else { return Err(WRONG_ROWS) };
            rows.push(self.at(), Side::Right, element)?;
        }
        self.form = Form::Rows(rows);
        Ok(())
    }

    /// Stores what has changed. A list without elements is no key.
    pub(crate) fn save(self) -> Outcome<()> {
        if !self.changed {
            return Ok(());
        }
        let (context, is_empty) = (self.context, self.len() == 0);
        let unwritten = Unwritten { entry: self.entry.into_owned(), form: self.form };
        // So that the next command finds it absent.
        if is_empty { context.write_now(unwritten) } else { context.leave(unwritten) }
    }
}

impl Collection for Unwritten {
    fn write(self, context: &Context<'_>) -> Outcome<()> {
        let Unwritten { entry, form } = self;
        let (kind, expiry) = (Kind::List, entry.expiry());
        match &form {
            Form::Inline(elements) if elements.len() == 0 => context.replace(&entry, None),
            Form::Inline(elements) => {
                let body = elements.bytes();
                context.replace(&entry, Some(NewRecord { kind, in_rows: false, expiry, body }))
            }
            Form::Rows(rows) => {
                rows.flush(context, entry.database)?;
                if rows.count == 0 {
                    return context.replace(&entry, None);
                }
                let LongList { version, changes, count, first, .. } = rows;
                let body = [*version, changes + 1, *count, *first].map(u64::to_be_bytes);
                let body = body.as_flattened();
                context.replace(&entry, Some(NewRecord { kind, in_rows: true, expiry, body }))
            }
        }
    }
}
