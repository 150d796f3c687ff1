//! The collection that a command has changed in memory, for the next command of the same transaction.
//!
//! Commands that share a transaction are mostly about one collection. It is read and decoded once, and encoded and
//! written once. A command that reopens what an earlier one has left must save it, even if it changes nothing more;
//! otherwise the changes of the earlier ones would be lost, so the whole transaction is undone.

use crate::context::Context;
use crate::refusal::Outcome;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A collection that can be left unwritten.
pub(crate) trait Collection: Any {
    /// Writes it.
    fn write(self, context: &Context<'_>) -> Outcome<()>;
}

/// The place of a collection that commands of one transaction take and leave in turn: it is allocated once for all.
trait Place: Any {
    /// Returns the collection that is there.
    fn as_any(&mut self) -> &mut dyn Any;

    /// Writes the collection that is there, if there is one, and leaves the place empty.
    fn write(&mut self, context: &Context<'_>) -> Outcome<()>;

    /// Returns whether a collection is there.
    fn is_taken(&self) -> bool;
}

impl<C: Collection> Place for Option<C> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn write(&mut self, context: &Context<'_>) -> Outcome<()> {
        self.take().map_or(Ok(()), |collection| collection.write(context))
    }

    fn is_taken(&self) -> bool {
        self.is_some()
    }
}

/// Where a collection is left.
#[derive(Default)]
pub(crate) struct Unwritten {
    /// If commands share the transaction: whether the running one has written.
    has_written: RefCell<Option<Rc<Cell<bool>>>>,
    left: RefCell<Option<Box<dyn Place>>>,
    is_reopened: Cell<bool>,
}

impl Unwritten {
    /// States that several commands share the transaction. What is written for an earlier command does not count as
    /// written by the running one.
    pub(crate) fn share(&self, has_written: Rc<Cell<bool>>) {
        *self.has_written.borrow_mut() = Some(has_written);
    }

    /// Returns whether a collection was reopened and not saved again.
    pub(crate) fn is_reopened(&self) -> bool {
        self.is_reopened.get()
    }
}

impl Context<'_> {
    /// Takes what an earlier command has left, if it is of a type and is the one that is meant.
    pub(crate) fn reopen<C: Collection>(&self, is_meant: impl FnOnce(&C) -> bool) -> Option<C> {
        let mut left = self.unwritten.left.borrow_mut();
        let place: &mut Option<C> = left.as_mut()?.as_any().downcast_mut()?;
        let found = place.take_if(|left| is_meant(left))?;
        self.unwritten.is_reopened.set(true);
        Some(found)
    }

    /// Leaves a collection for the next command, or writes it.
    pub(crate) fn leave<C: Collection>(&self, collection: C) -> Outcome<()> {
        if self.unwritten.has_written.borrow().is_some() && self.wanted_events == 0 {
            self.settle()?;
            self.unwritten.is_reopened.set(false);
            let mut left = self.unwritten.left.borrow_mut();
            match left.as_mut().and_then(|place| place.as_any().downcast_mut::<Option<C>>()) {
                Some(place) => *place = Some(collection),
                None => *left = Some(Box::new(Some(collection))),
            }
            return Ok(());
        }
        self.write_now(collection)
    }

    /// Writes a collection that no command is to find in memory.
    pub(crate) fn write_now<C: Collection>(&self, collection: C) -> Outcome<()> {
        self.unwritten.is_reopened.set(false);
        collection.write(self)
    }

    /// Writes what an earlier command has left.
    pub(crate) fn settle(&self) -> Outcome<()> {
        // Mostly there is nothing. What writes may settle again, so the place is not borrowed meanwhile.
        let Some(mut left) = self.unwritten.left.borrow_mut().take_if(|place| place.is_taken()) else { return Ok(()) };
        let has_written = self.unwritten.has_written.borrow().clone();
        let before = has_written.as_ref().is_some_and(|flag| flag.get());
        left.write(self)?;
        has_written.iter().for_each(|flag| flag.set(before));
        Ok(())
    }
}
