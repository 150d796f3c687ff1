//! A group: the keys that one log orders.

use crate::fault::Result;
use crate::marks::Marks;
use crate::node::Shared;
use crate::slots::{SLOTS_ROW, Slots};
use crate::space::{Space, generation_of};
use crate::state::{STATE, State};
use holm_commands::{CommandIndex, Cursors, Function, TABLE};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

/// A group of a node. Entries are applied by one caller at a time; reads and views run beside it.
#[derive(Debug)]
pub struct Group {
    pub(crate) shared: Arc<Shared>,
    pub(crate) number: u64,
    space: RwLock<Arc<Space>>,
    /// Held while entries are applied.
    state: Mutex<State>,
    /// The last state that was committed, for those who do not wait for entries that are being applied.
    committed: Mutex<State>,
    marks: Mutex<Marks>,
    /// Which slots the group answers for; all, without a record. See [`Group::publish_slots`].
    slots: RwLock<Option<Arc<Slots>>>,
    /// The time of the state, for reads that need no more.
    time: AtomicU64,
    /// The thread that drops the keyspaces which were exchanged last.
    dropping: Mutex<Option<JoinHandle<()>>>,
    pub(crate) cursors: Cursors,
    pub(crate) index: CommandIndex<Function>,
}

impl Drop for Group {
    fn drop(&mut self) {
        // The thread keeps the database open.
        self.await_drop();
    }
}

impl Group {
    pub(crate) fn open(shared: Arc<Shared>, number: u64) -> Result<Group> {
        let space = match generation_of(&shared.groups, number)? {
            Some(generation) => Space::open(&shared.db, number, generation)?,
            None => {
                let space = Space::fresh(&shared.db, number, 1)?;
                shared.groups.insert(number.to_be_bytes(), 1u64.to_be_bytes())?;
                space
            }
        };
        let state = State::read(space.rows.get(STATE)?.as_deref())?.within(shared.level)?;
        let slots = read_slots(&space)?;
        Ok(Group {
            shared,
            number,
            space: RwLock::new(Arc::new(space)),
            time: AtomicU64::new(state.time),
            state: Mutex::new(state),
            committed: Mutex::new(state),
            marks: Mutex::default(),
            slots: RwLock::new(slots),
            dropping: Mutex::default(),
            cursors: Cursors::default(),
            index: CommandIndex::new(TABLE),
        })
    }

    /// Returns the number of the group.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the index of the last entry that was applied; 0 if there is none. Waits for entries that are being
    /// applied: who applies entries next begins behind this one.
    pub fn applied(&self) -> u64 {
        self.lock().applied
    }

    /// Returns a hash over all changes of the group's records since it was empty, in their order. Replicas that have
    /// applied the same entries have the same one. Waits for entries that are being applied.
    pub fn hash(&self) -> u64 {
        self.lock().hash
    }

    /// Returns the index of the last entry whose effect was committed, and the hash after it. Waits for nothing:
    /// entries that are being applied are not among them.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let node = holm_node::Node::open(folder.path().join("node.holm"), holm_node::NodeOptions::default())?;
    /// assert_eq!(node.group(1)?.status(), (0, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn status(&self) -> (u64, u64) {
        let State { applied, hash, .. } = *self.committed();
        (applied, hash)
    }

    fn committed(&self) -> MutexGuard<'_, State> {
        self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last mark that the group has passed, and its hash, for an entry that compares; zeros if it has
    /// passed none since it was opened.
    pub fn mark(&self) -> (u64, u64) {
        self.marks().last()
    }

    pub(crate) fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of keys, those that have expired and are not removed yet included.
    ///
    /// # Errors
    /// Those of the store.
    pub fn key_count(&self) -> Result<u64> {
        Ok(self.space().keys.len()?)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn space(&self) -> Arc<Space> {
        self.space.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the time of the group, which reads compare expiries with.
    pub(crate) fn time(&self) -> u64 {
        self.time.load(Ordering::Acquire)
    }

    /// Returns whether the group answers for a slot, by its own record: a front may not have heard of a move yet. A
    /// group without a record says no.
    pub fn owns(&self, slot: u16) -> bool {
        self.slots().is_some_and(|slots| slots.refusal(slot).is_none())
    }

    /// Returns the record of slots.
    pub(crate) fn slots(&self) -> Option<Arc<Slots>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a record of slots in place. A slot that is lost is lost before the change is committed, and one that is
    /// gained after it: so a read that finds its slot here before and after it has read, has read what is here.
    pub(crate) fn publish_slots(&self, slots: Option<Arc<Slots>>) {
        *self.slots.write().unwrap_or_else(PoisonError::into_inner) = slots;
    }

    /// Notes a state that was committed.
    pub(crate) fn publish(&self, held: &mut State, state: State) {
        (*held, *self.committed()) = (state, state);
        self.time.store(state.time, Ordering::Release);
    }

    /// Puts a space in place of the present one, whose keyspaces are dropped beside the caller. The database names the
    /// new generation already.
    pub(crate) fn exchange(&self, space: Space) {
        let old = {
            let mut present = self.space.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *present, Arc::new(space)).generation
        };
        self.await_drop();
        let (shared, number) = (self.shared.clone(), self.number);
        // It takes time in proportion to the old keys. If it fails, the next opening of the node drops them.
        let drop_old = move || drop(Space::drop_of(&shared.db, number, old));
        let thread = std::thread::Builder::new().name("holm-drop".into()).spawn(drop_old);
        *self.dropping.lock().unwrap_or_else(PoisonError::into_inner) = thread.ok();
    }

    fn await_drop(&self) {
        let thread = self.dropping.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic there has left keyspaces that no generation names.
        thread.map(JoinHandle::join);
    }
}

/// Reads the record of slots of a space.
pub(crate) fn read_slots(space: &Space) -> Result<Option<Arc<Slots>>> {
    space.rows.get(SLOTS_ROW)?.map(|bytes| Slots::read(&bytes).map(Arc::new)).transpose()
}

#[cfg(test)]
mod tests {
    use crate::{Node, NodeOptions};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_status_waits_for_no_entry() {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::open(folder.path().join("node.holm"), NodeOptions::default()).unwrap();
        let group = node.group(1).unwrap();
        group.apply(&[(5, &[])]).unwrap();
        let expected = (group.applied(), group.hash());
        let (sender, receiver) = channel();
        // As while entries are applied.
        let held = group.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| sender.send(group.status()).unwrap());
            let found = receiver.recv_timeout(Duration::from_secs(60));
            drop(held);
            assert_eq!(found, Ok(expected));
        });
    }
}
