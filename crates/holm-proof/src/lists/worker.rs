//! A thread that works on the lists.

use super::reading::Reading;
use super::{ALL, Board, LONG, NAME, OWN, SHARED_KEYS, encode, own_list};
use crate::cycles::{Lists, Outcome, Step, Transaction};
use holm::{Error, Result, SnapshotKeyspace};
use holm_medium::sync::yield_now;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// A thread's work, and the history of it.
#[derive(Debug)]
pub struct Worker<'b> {
    board: &'b Board,
    thread: u64,
    random: Pcg64,
    /// The thread's own lists.
    own: Lists,
    /// A snapshot, and what was read of it so far: a transaction that has ended when the snapshot was there.
    snapshot: Option<(SnapshotKeyspace, Transaction)>,
    history: Vec<Transaction>,
}

/// Is shown each transaction twice: before it may take effect, with an unknown outcome, and when it has ended.
pub type Observer<'o> = &'o mut dyn FnMut(&Transaction);

impl<'b> Worker<'b> {
    /// A thread of this number.
    pub fn new(board: &'b Board, thread: u64, seed: u64) -> Self {
        let random = Pcg64::seed_from_u64(seed << 8 | thread);
        Worker { board, thread, random, own: Lists::new(), snapshot: None, history: Vec::new() }
    }

    /// What the thread has done.
    pub fn into_history(mut self) -> Vec<Transaction> {
        self.history.extend(self.snapshot.map(|(_, read)| read));
        self.history
    }

    /// Executes one transaction, and changes a key beside the lists. A transaction that conflicts has been executed,
    /// too.
    ///
    /// # Errors
    /// Those of the database but `Conflict`.
    pub fn step(&mut self, observer: Observer<'_>) -> Result<()> {
        let most = self.board.long_batch;
        match self.random.random_range(0..if most > 0 { 32 } else { 16 }) {
            16.. => {
                let fillers = self.random.random_range(most / 2..=most);
                self.batch(OWN, fillers, observer)?;
            }
            0..6 => self.by_hand(observer)?,
            6..9 => self.by_transact(observer)?,
            9 => self.by_read(observer)?,
            10..12 => {
                let appends = self.random.random_range(1..=2 * OWN);
                let fillers = if self.board.fillers > 0 { self.random.random_range(0..=LONG) } else { 0 };
                self.batch(appends, fillers, observer)?;
            }
            12 => self.put(observer)?,
            13 => self.update(observer)?,
            _ => self.get(observer)?,
        }
        self.read_snapshot(observer)?;
        if self.random.random_ratio(1, 2) && self.board.fillers > 0 {
            let (name, puts) = self.filler();
            match puts {
                true => self.board.space.insert(name, "filler")?,
                false => self.board.space.remove(name).map(drop)?,
            }
        }
        Ok(())
    }

    /// Takes a snapshot now and then, reads it while others write, and lets go of it.
    fn read_snapshot(&mut self, observer: Observer<'_>) -> Result<()> {
        let Some((space, mut read)) = self.snapshot.take() else {
            if self.random.random_ratio(1, 16) {
                let mut taken = self.begun();
                let snapshot = self.board.db.snapshot()?;
                taken.outcome = Outcome::Committed(self.board.now());
                self.snapshot = snapshot.keyspace(NAME).map(|space| (space, taken));
            }
            return Ok(());
        };
        match self.random.random_range(0..8) {
            0 => self.ended(read, observer),
            1..4 => {
                self.look(&space, &mut read.steps)?;
                self.snapshot = Some((space, read));
            }
            _ => self.snapshot = Some((space, read)),
        }
        Ok(())
    }

    fn begun(&self) -> Transaction {
        Transaction { began: self.board.now(), outcome: Outcome::Unknown, label: None, steps: Vec::new() }
    }

    fn ended(&mut self, transaction: Transaction, observer: Observer<'_>) {
        observer(&transaction);
        self.history.push(transaction);
    }

    fn committed(&mut self, mut transaction: Transaction, observer: Observer<'_>) {
        transaction.outcome = Outcome::Committed(self.board.now());
        self.ended(transaction, observer);
    }

    fn aborted(&mut self, mut transaction: Transaction, observer: Observer<'_>) {
        transaction.outcome = Outcome::Aborted(self.board.now());
        self.ended(transaction, observer);
    }

    /// A key beside a list, and whether to put it. For a while most are put, and then most are removed.
    fn filler(&mut self) -> (Vec<u8>, bool) {
        let mut name = self.board.name(self.random.random_range(0..ALL));
        name.push(self.random.random_range(0..self.board.fillers));
        let puts_of_eight = if self.history.len() / 100 % 2 == 1 { 1 } else { 7 };
        (name, self.random.random_ratio(puts_of_eight, 8))
    }

    /// Appends to one of the thread's own lists, which nobody else changes, and returns the value to put.
    fn append_own(&mut self, number: u64, own: &mut Lists, steps: &mut Vec<Step>) -> (Vec<u8>, Vec<u8>) {
        let (key, element) = (own_list(self.thread, number), self.board.element());
        let list = own.entry(key).or_default();
        list.push(element);
        steps.push(Step::Append { key, element });
        (self.board.name(key), encode(list))
    }

    /// A few random steps of a transaction.
    fn script(&mut self, on: &holm::Transaction, own: &mut Lists, steps: &mut Vec<Step>) -> Result<()> {
        let (board, space) = (self.board, &self.board.space);
        for _ in 0..self.random.random_range(1..=5) {
            board.read_many(on, &mut self.random)?;
            match self.random.random_range(0..8) {
                0..3 => drop(board.read(on, self.random.random_range(0..ALL), steps)?),
                3 | 4 => {
                    let (key, element) = (self.random.random_range(SHARED_KEYS), board.element());
                    let mut list = board.read(on, key, steps)?;
                    list.push(element);
                    on.insert(space, board.name(key), encode(&list))?;
                    steps.push(Step::Append { key, element });
                }
                5 => {
                    let number = self.random.random_range(0..OWN);
                    let (name, value) = self.append_own(number, own, steps);
                    on.insert(space, name, value)?;
                }
                6 => board.scan(on, &mut self.random, steps)?,
                _ if board.fillers > 0 => match self.filler() {
                    (name, true) => on.insert(space, name, "filler")?,
                    (name, false) => on.remove(space, name)?,
                },
                _ => {}
            }
            if self.random.random_ratio(1, 4) {
                yield_now();
            }
        }
        Ok(())
    }

    fn by_hand(&mut self, observer: Observer<'_>) -> Result<()> {
        let (mut transaction, mut own) = (self.begun(), self.own.clone());
        let on = self.board.db.begin();
        match self.script(&on, &mut own, &mut transaction.steps) {
            Ok(()) if self.random.random_ratio(1, 16) => drop(on),
            Ok(()) => {
                observer(&transaction);
                match on.commit() {
                    Ok(receipt) => {
                        self.own = own;
                        transaction.label = Some(receipt.epoch());
                        self.committed(transaction, observer);
                        return Ok(());
                    }
                    Err(Error::Conflict) => {}
                    Err(error) => return Err(error),
                }
            }
            Err(Error::Conflict) => {}
            Err(error) => return Err(error),
        }
        self.aborted(transaction, observer);
        Ok(())
    }

    fn by_transact(&mut self, observer: Observer<'_>) -> Result<()> {
        let db = self.board.db.clone();
        let (mut last, mut own) = (None, Lists::new());
        let done = db.transact(|on| {
            last.take().into_iter().for_each(|before| self.aborted(before, observer));
            own = self.own.clone();
            let mut transaction = self.begun();
            let done = self.script(on, &mut own, &mut transaction.steps);
            observer(&transaction);
            last = Some(transaction);
            done
        });
        self.settle(last, done, own, observer)
    }

    fn by_read(&mut self, observer: Observer<'_>) -> Result<()> {
        let db = self.board.db.clone();
        let mut last = None;
        // An attempt that reads at a snapshot takes it before the closure runs.
        let mut began = self.board.now();
        let done = db.read(|on| {
            last.take().into_iter().for_each(|before| self.aborted(before, observer));
            let mut transaction = Transaction { began, ..self.begun() };
            let done = self.look(on, &mut transaction.steps);
            last = Some(transaction);
            began = self.board.now();
            done
        });
        let own = self.own.clone();
        self.settle(last, done, own, observer)
    }

    fn look(&mut self, on: &dyn Reading, steps: &mut Vec<Step>) -> Result<()> {
        for _ in 0..self.random.random_range(1..=5) {
            self.board.read_many(on, &mut self.random)?;
            if self.random.random_ratio(1, 4) {
                self.board.scan(on, &mut self.random, steps)?;
            } else {
                self.board.read(on, self.random.random_range(0..ALL), steps)?;
            }
        }
        Ok(())
    }

    fn settle(
        &mut self,
        last: Option<Transaction>,
        done: Result<()>,
        own: Lists,
        observer: Observer<'_>,
    ) -> Result<()> {
        let Some(transaction) = last else { return done };
        match done {
            Ok(()) => {
                self.own = own;
                self.committed(transaction, observer);
                Ok(())
            }
            Err(Error::Conflict) => {
                self.aborted(transaction, observer);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A batch of this many appends to the thread's own lists in turn, and of this many keys beside all lists.
    fn batch(&mut self, appends: u64, fillers: usize, observer: Observer<'_>) -> Result<()> {
        let (mut transaction, mut own) = (self.begun(), self.own.clone());
        let mut batch = self.board.db.batch();
        for number in 0..appends {
            let (name, value) = self.append_own(number % OWN, &mut own, &mut transaction.steps);
            batch = batch.insert(&self.board.space, name, value);
        }
        for _ in 0..fillers {
            batch = match self.filler() {
                (name, true) => batch.insert(&self.board.space, name, "filler"),
                (name, false) => batch.remove(&self.board.space, name),
            };
        }
        observer(&transaction);
        batch.commit()?;
        self.own = own;
        self.committed(transaction, observer);
        Ok(())
    }

    fn put(&mut self, observer: Observer<'_>) -> Result<()> {
        let (mut transaction, mut own) = (self.begun(), self.own.clone());
        let number = self.random.random_range(0..OWN);
        let (name, value) = self.append_own(number, &mut own, &mut transaction.steps);
        observer(&transaction);
        self.board.space.insert(name, value)?;
        self.own = own;
        self.committed(transaction, observer);
        Ok(())
    }

    /// An atomic update of a shared list, outside of transactions.
    fn update(&mut self, observer: Observer<'_>) -> Result<()> {
        let mut transaction = self.begun();
        let (key, element) = (self.random.random_range(SHARED_KEYS), self.board.element());
        transaction.steps.push(Step::Append { key, element });
        observer(&transaction);
        let append = |value: Option<&[u8]>| Some([value.unwrap_or_default(), &element.to_le_bytes()].concat());
        let after = self.board.space.update_fetch(self.board.name(key), append)?;
        let list = after.map_or_else(Vec::new, |value| super::decode(&value));
        transaction.steps.push(Step::Read { key, list });
        self.committed(transaction, observer);
        Ok(())
    }

    fn get(&mut self, observer: Observer<'_>) -> Result<()> {
        let mut transaction = self.begun();
        let key = self.random.random_range(0..ALL);
        let value = self.board.space.get(self.board.name(key))?;
        let list = value.map_or_else(Vec::new, |value| super::decode(&value));
        transaction.steps.push(Step::Read { key, list });
        self.committed(transaction, observer);
        Ok(())
    }
}
