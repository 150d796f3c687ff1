//! The elements of a large list: rows beside the key's record.
//!
//! Elements have positions, which begin in the middle of all numbers. A row has those of 16 positions, as far as the
//! list reaches. Pushing and popping change the row at one end, so commands that follow each other change the same one.
//! An element of more than 256 bytes has a row of its own, so that the rows that change stay short.

use crate::context::Context;
use crate::packed::{Element, LONGEST, Packed, Side, elements};
use crate::refusal::{Outcome, Refusal};
use crate::rows;
use crate::store::Area;
use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};

const MIDDLE: u64 = 1 << 63;
const WRONG_ROWS: Refusal = Refusal::text("ERR the rows of a large list are damaged");

/// The positions of a row.
const ROW: u64 = 16;

/// The longest element that lies in a row with others.
const SHORT: usize = 256;

const _: () = assert!(SHORT < LONGEST);

/// A list whose elements are rows.
pub(crate) struct LongList {
    pub(crate) version: u64,
    pub(crate) changes: u64,
    pub(crate) count: u64,
    pub(crate) first: u64,
    /// The row that was used last.
    row: RefCell<Option<LoadedRow>>,
}

/// A row of a list.
struct LoadedRow {
    number: u64,
    elements: Packed,
    changed: bool,
}

fn row_key(family: u8, version: u64, number: u64) -> rows::RowKey {
    rows::key(family, version, &number.to_be_bytes())
}

impl LongList {
    /// Returns a list without elements.
    pub(crate) fn new(version: u64) -> Self {
        LongList::of(version, 0, 0, MIDDLE)
    }

    /// Returns the list that a record states.
    pub(crate) fn of(version: u64, changes: u64, count: u64, first: u64) -> Self {
        LongList { version, changes, count, first, row: RefCell::default() }
    }

    /// Returns the position of an element.
    pub(crate) fn position(&self, index: usize) -> u64 {
        self.first.wrapping_add(index as u64)
    }

    /// Returns the row of a position, and the index of its element there.
    fn place(&self, position: u64) -> (u64, usize) {
        let number = position / ROW;
        (number, position.wrapping_sub(self.first.max(number * ROW)) as usize)
    }

    /// Writes the row that was used last, if it has changed.
    pub(crate) fn flush(&self, context: &Context<'_>, database: u32) -> Outcome<()> {
        if let Some(row) = self.row.borrow_mut().as_mut().filter(|row| row.changed) {
            row.changed = false;
            let key = row_key(rows::LIST, self.version, row.number);
            match row.elements.len() {
                0 => context.store.remove(database, Area::Rows, &key)?,
                _ => context.store.insert(database, Area::Rows, &key, row.elements.bytes())?,
            }
        }
        Ok(())
    }

    /// Reads or changes the elements of a row.
    fn with_row<T>(
        &self,
        (context, database): (&Context<'_>, u32),
        number: u64,
        act: impl FnOnce(&mut LoadedRow) -> T,
    ) -> Outcome<T> {
        if self.row.borrow().as_ref().is_none_or(|row| row.number != number) {
            self.flush(context, database)?;
            let found = context.store.get(database, Area::Rows, &row_key(rows::LIST, self.version, number))?;
            let elements = found.map_or_else(Packed::default, |bytes| Packed::new(&bytes));
            *self.row.borrow_mut() = Some(LoadedRow { number, elements, changed: false });
        }
        self.row.borrow_mut().as_mut().map(act).ok_or(WRONG_ROWS)
    }

    /// Returns the element at a position.
    pub(crate) fn get(&self, at: (&Context<'_>, u32), position: u64) -> Outcome<Option<Vec<u8>>> {
        let (number, index) = self.place(position);
        let found = self.with_row(at, number, |row| match row.elements.get(index) {
            Some(Element::Here(bytes)) => Some(Some(bytes.to_vec())),
            Some(Element::Elsewhere) => Some(None),
            None => None,
        })?;
        match found {
            Some(Some(bytes)) => Ok(Some(bytes)),
            Some(None) => self.elsewhere(at, position).map(Some),
            None => Ok(None),
        }
    }

    /// Returns a long element.
    fn elsewhere(&self, (context, database): (&Context<'_>, u32), position: u64) -> Outcome<Vec<u8>> {
        let found = context.store.get(database, Area::Rows, &row_key(rows::ELEMENT, self.version, position))?;
        Ok(found.ok_or(WRONG_ROWS)?.to_vec())
    }

    /// Writes the row of a long element, and returns what stands for it among the others.
    fn placed<'e>(
        &self,
        (context, database): (&Context<'_>, u32),
        position: u64,
        element: &'e [u8],
    ) -> Outcome<Element<'e>> {
        if element.len() <= SHORT {
            return Ok(Element::Here(element));
        }
        let key = row_key(rows::ELEMENT, self.version, position);
        context.store.insert(database, Area::Rows, &key, element)?;
        Ok(Element::Elsewhere)
    }

    /// Removes the row of an element, if it is a long one.
    fn free(&self, (context, database): (&Context<'_>, u32), position: u64) -> Outcome<()> {
        let (number, index) = self.place(position);
        let is_long =
            self.with_row((context, database), number, |row| row.elements.get(index) == Some(Element::Elsewhere))?;
        if is_long {
            context.store.remove(database, Area::Rows, &row_key(rows::ELEMENT, self.version, position))?;
        }
        Ok(())
    }

    /// Replaces the element at a position.
    pub(crate) fn set(&self, at: (&Context<'_>, u32), position: u64, element: &[u8]) -> Outcome<()> {
        self.free(at, position)?;
        let placed = self.placed(at, position, element)?;
        let (number, index) = self.place(position);
        self.with_row(at, number, |row| {
            row.elements.set(index, placed);
            row.changed = true;
        })
    }

    pub(crate) fn push(&mut self, at: (&Context<'_>, u32), side: Side, element: &[u8]) -> Outcome<()> {
        let position = match side {
            Side::Left => self.first.wrapping_sub(1),
            Side::Right => self.position(self.count as usize),
        };
        let placed = self.placed(at, position, element)?;
        self.with_row(at, position / ROW, |row| {
            row.elements.make_room(ROW as usize, placed);
            row.elements.push(side, placed);
            row.changed = true;
        })?;
        self.count += 1;
        self.first = self.first.min(position);
        Ok(())
    }

    /// Removes the element at an end of a list that has some, and returns it.
    pub(crate) fn pop(&mut self, at: (&Context<'_>, u32), side: Side) -> Outcome<Vec<u8>> {
        let position = self.position(if side == Side::Left { 0 } else { self.count as usize - 1 });
        let popped = self.with_row(at, position / ROW, |row| {
            row.changed = true;
            row.elements.pop(side)
        })?;
        let element = match popped.ok_or(WRONG_ROWS)? {
            Some(bytes) => bytes,
            None => {
                let element = self.elsewhere(at, position)?;
                at.0.store.remove(at.1, Area::Rows, &row_key(rows::ELEMENT, self.version, position))?;
                element
            }
        };
        self.count -= 1;
        self.first = self.first.wrapping_add(u64::from(side == Side::Left));
        Ok(element)
    }

    /// Visits the elements from an index on, forward or back.
    pub(crate) fn visit(
        &self,
        at: (&Context<'_>, u32),
        from: usize,
        reverse: bool,
        visit: &mut ElementVisitor<'_>,
    ) -> Outcome<()> {
        if self.count == 0 {
            return Ok(());
        }
        self.flush(at.0, at.1)?;
        let (from, last) = (self.position(from.min(self.count as usize - 1)), self.position(self.count as usize - 1));
        let (low, high) = if reverse { (self.first, from) } else { (from, last) };
        let bounds = [low / ROW, high / ROW].map(u64::to_be_bytes);
        let mut failed = None;
        let mut visit_at = |position: u64, element: Element<'_>| {
            let index = (position - self.first) as usize;
            match element {
                Element::Here(bytes) => visit(index, bytes),
                Element::Elsewhere => match self.elsewhere(at, position) {
                    Ok(bytes) => visit(index, &bytes),
                    Err(refusal) => {
                        failed = Some(refusal);
                        ControlFlow::Break(())
                    }
                },
            }
        };
        let bounds = (Bound::Included(&bounds[0][..]), Bound::Included(&bounds[1][..]));
        at.0.visit_rows((rows::LIST, self.version), bounds, reverse, &mut |number, row| {
            let Some(number) = number.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)) else {
                return ControlFlow::Break(());
            };
            let begin = self.first.max(number * ROW);
            let within = elements(row).zip(begin..).map(|(element, position)| (position, element));
            let mut within = within.filter(|(position, _)| (low..=high).contains(position));
            at.0.spend(ROW - 1);
            match reverse {
                false => within.try_for_each(|(position, element)| visit_at(position, element)),
                true => {
                    let within: Vec<_> = within.collect();
                    within.into_iter().rev().try_for_each(|(position, element)| visit_at(position, element))
                }
            }
        })?;
        failed.map_or(Ok(()), Err)
    }
}

/// The visitor of elements: it gets the index and the element.
pub(crate) type ElementVisitor<'v> = dyn FnMut(usize, &[u8]) -> ControlFlow<()> + 'v;
