//! The state of a transaction, and the iterators in it.
//!
//! A scan of the store borrows its transaction. Here both lie in one `State`, which the handle of the transaction and
//! those of its iterators share. The state drops the scans before it gives the transaction away, so an iterator that
//! outlives its transaction finds nothing, and says so.

use crate::code::{HOLM_ENDED, Refusal};
use holm::{Slice, TransactionRange};
use std::cell::RefCell;
use std::rc::Rc;

/// A key and a value that an iterator has and the caller borrows.
pub(crate) type LentPair<'a> = (&'a [u8], &'a [u8]);

/// The end of a range from which a pair is taken.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Front,
    Back,
}

/// A transaction, and the scans that borrow it.
pub(crate) struct State {
    /// Dropped first.
    scans: Vec<Option<TransactionRange<'static>>>,
    /// `None` once it has ended.
    transaction: Option<Held>,
}

/// The transaction of the store. Its address does not change while the state has it.
pub(crate) enum Held {
    /// From `holm_transaction_begin`.
    Owned(Rc<holm::Transaction>),
    /// From `holm_transact`, which takes it away before it ends.
    Lent(*const holm::Transaction),
}

pub(crate) fn ended() -> Refusal {
    Refusal::new(HOLM_ENDED, "the transaction has ended")
}

impl State {
    pub(crate) fn of(transaction: Held) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(State { scans: Vec::new(), transaction: Some(transaction) }))
    }

    pub(crate) fn transaction(&self) -> Result<&holm::Transaction, Refusal> {
        match self.transaction.as_ref().ok_or_else(ended)? {
            Held::Owned(transaction) => Ok(transaction),
            // SAFETY: `holm_transact` ends the state before the transaction, which it borrows until then.
            Held::Lent(transaction) => Ok(unsafe { &**transaction }),
        }
    }

    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.transaction, Some(Held::Lent(_)))
    }

    /// End the scans, and then gives the transaction away.
    pub(crate) fn end(&mut self) -> Option<Held> {
        self.scans.clear();
        self.transaction.take()
    }

    /// Keeps a scan, and returns its number.
    fn add(
        &mut self,
        scan: impl for<'t> FnOnce(&'t holm::Transaction) -> holm::Result<TransactionRange<'t>>,
    ) -> Result<usize, Refusal> {
        let scan = scan(self.transaction()?)?;
        // SAFETY: the transaction lies where it is until `end` takes it, and `end` drops the scan before. A dropped
        // state drops `scans` before `transaction`. The scan leaves this file neither whole nor in part: what it
        // returns is owned.
        let scan = unsafe { std::mem::transmute::<TransactionRange<'_>, TransactionRange<'static>>(scan) };
        let number = self.scans.iter().position(Option::is_none).unwrap_or(self.scans.len());
        if number == self.scans.len() {
            self.scans.push(None);
        }
        self.scans[number] = Some(scan);
        Ok(number)
    }
}

/// An iterator in a transaction.
pub(crate) struct Scan {
    state: Rc<RefCell<State>>,
    number: usize,
    /// Pairs that it may still return.
    left: usize,
    /// The pair that the caller has borrowed.
    pair: Option<(Slice, Slice)>,
}

impl Scan {
    /// Creates an iterator of at most `limit` pairs.
    pub(crate) fn new(
        state: &Rc<RefCell<State>>,
        limit: usize,
        scan: impl for<'t> FnOnce(&'t holm::Transaction) -> holm::Result<TransactionRange<'t>>,
    ) -> Result<Self, Refusal> {
        let number = state.borrow_mut().add(scan)?;
        Ok(Scan { state: state.clone(), number, left: limit, pair: None })
    }

    pub(crate) fn next(&mut self, end: End) -> Result<Option<LentPair<'_>>, Refusal> {
        self.pair = None;
        let mut state = self.state.borrow_mut();
        let scan = state.scans.get_mut(self.number).and_then(Option::as_mut).ok_or_else(ended)?;
        if self.left > 0 {
            self.pair = match end {
                End::Front => scan.next(),
                End::Back => scan.next_back(),
            }
            .transpose()?;
            self.left -= 1;
        }
        Ok(self.pair.as_ref().map(|(key, value)| (&**key, &**value)))
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        if let Some(scan) = self.state.borrow_mut().scans.get_mut(self.number) {
            *scan = None;
        }
    }
}
