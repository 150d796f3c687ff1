//! The catalog: the tree that maps the names of keyspaces to their numbers. It is the first tree of the database.
//!
//! A keyspace exists while the catalog has its name. Leaves may carry a number that no name has: a crash cut off the
//! keyspace's creation or its removal. Open frees these leaves. `entry` has what the catalog says of a keyspace,
//! `trees` the trees by name, now and at the ends of epochs, `followed` the latter for a snapshot, `free_numbers` the
//! numbers of new ones, and `dropped` frees keyspaces.

mod dropped;
mod entry;
mod followed;
mod free_numbers;
mod number;
mod trees;

use crate::error::{Error, Result};
use crate::expiry::{Millis, StoredValue, ValueFormat};
use crate::feed::{NamedKeyspace, Names};
use crate::keyspace_options::KeyspaceOptions;
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::record;
use crate::store::{Store, WritableStore};
use dropped::DroppedTrees;
use entry::{Entry, MOST_KEYSPACES};
pub(crate) use followed::FollowedNames;
use free_numbers::FreeNumbers;
use holm_medium::Epoch;
use holm_medium::sync::atomic::Ordering;
use holm_medium::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use holm_tree::TreeRoot;
pub(crate) use number::CATALOG;
use std::collections::BTreeMap;
use std::sync::Arc;
use trees::Trees;

/// The keyspace that every database has.
pub(crate) const DEFAULT: &str = "default";

/// The longest name, in bytes.
const MAX_NAME: usize = 255;

/// Returns whether a key of the catalog is none of a keyspace's names, but a record of the store's own.
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    name.first() == Some(&0)
}

/// Returns whether a keyspace can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && !is_reserved(name.as_bytes())
}

/// Reads a record of the catalog: the number of a keyspace, and what the catalog says of it. `None` if it is about
/// something else.
pub(crate) fn keyspace_of(name: &[u8], value: &[u8]) -> Option<(u32, NamedKeyspace)> {
    let text = std::str::from_utf8(name).ok().filter(|_| !is_reserved(name))?;
    let entry = Entry::read(name, value).ok()??;
    Some((entry.number, NamedKeyspace::new(text, entry.options)))
}

/// What a record of the catalog is about.
pub(crate) enum Named {
    /// A keyspace: its number, its name and its options.
    Keyspace(u32, String, KeyspaceOptions),
    /// Something of the store's own.
    Reserved,
    /// Nothing that this version knows.
    Unknown,
}

/// Reads a record of the catalog.
///
/// # Errors
/// `Geometry`: the keyspace has a flag that this version does not know.
pub(crate) fn read_record(name: &[u8], value: &[u8]) -> Result<Named> {
    if is_reserved(name) {
        return Ok(Named::Reserved);
    }
    let entry = Entry::read(name, value)?;
    let name = std::str::from_utf8(name).ok().filter(|name| (1..=MAX_NAME).contains(&name.len()));
    Ok(match name.zip(entry) {
        Some((name, entry)) => Named::Keyspace(entry.number, name.into(), entry.options),
        None => Named::Unknown,
    })
}

/// The catalog's tree, and the trees by name and number.
pub(crate) struct Catalog {
    names: Arc<KeyspaceTree>,
    trees: RwLock<Trees>,
    /// The numbers of keyspaces to come. The lock serialises creation and dropping.
    numbers: Mutex<FreeNumbers>,
    dropped: DroppedTrees,
    /// Held by the one that follows the names.
    following: Mutex<()>,
}

/// An entry of the catalog that cannot be read.
pub(crate) struct DamagedName {
    pub(crate) payload: u64,
    pub(crate) what: String,
}

impl Catalog {
    fn read(&self) -> RwLockReadGuard<'_, Trees> {
        self.trees.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Trees> {
        self.trees.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn trees(&self) -> Vec<Arc<KeyspaceTree>> {
        self.read().by_name.values().cloned().collect()
    }

    /// Calls `look` with the tops of all trees, the catalog's own among them.
    pub(crate) fn with_roots<T>(&self, look: impl FnOnce(&[&TreeRoot]) -> T) -> T {
        let trees = self.trees();
        let roots: Vec<_> = trees.iter().chain([self.own()]).map(|tree| &tree.root).collect();
        look(&roots)
    }

    /// Calls `look` with all trees, in the order of their names, while no keyspace is created or dropped.
    pub(crate) fn with_trees<T>(&self, look: impl FnOnce(Vec<Arc<KeyspaceTree>>) -> T) -> T {
        // Not the lock of the trees: `look` may wait for operations, and these take that one while they are pinned.
        let _numbers = self.lock();
        look(self.trees())
    }

    /// Returns the keyspaces that the catalog named at the end of an epoch, except those that were dropped since. The
    /// caller keeps the epoch after that one active, and no keyspace is created or dropped meanwhile.
    pub(crate) fn names_at_end_of(&self, epoch: Epoch) -> Names {
        self.read().names_at_end_of(epoch)
    }

    /// Returns the tree of a number; the catalog's own has one, too.
    pub(crate) fn numbered(&self, number: u32) -> Option<Arc<KeyspaceTree>> {
        if number == CATALOG {
            return Some(self.names.clone());
        }
        self.read().by_number.get(&number).cloned()
    }

    /// Returns the tree of a name, and the epoch that the answer belongs to.
    fn find(&self, name: &str) -> (Option<Arc<KeyspaceTree>>, Epoch) {
        let trees = self.read();
        (trees.by_name.get(name).cloned(), trees.changed)
    }

    /// Returns the catalog's own tree.
    pub(crate) fn own(&self) -> &Arc<KeyspaceTree> {
        &self.names
    }

    fn lock(&self) -> MutexGuard<'_, FreeNumbers> {
        self.numbers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Returns an existing keyspace, if it has the options asked for.
fn with_options(tree: Arc<KeyspaceTree>, wanted: Option<KeyspaceOptions>) -> Result<Arc<KeyspaceTree>> {
    match wanted {
        Some(wanted) if wanted != tree.options => {
            let what = format!("the keyspace {:?} has {:?}, expected {wanted:?}", tree.name, tree.options);
            Err(Error::Invalid { what })
        }
        Some(_) | None => Ok(tree),
    }
}

fn create_tree(store: &WritableStore, number: u32) -> Result<TreeRoot> {
    Operation::begin(store)?.create_tree(number)
}

impl Catalog {
    /// Returns the keyspace of a name, if there is one. The answer is as durable as the mode promises.
    pub(crate) fn find_keyspace(&self, store: &Store, name: &str) -> Result<Option<Arc<KeyspaceTree>>> {
        let (tree, changed) = self.find(name);
        store.wait_stable(changed)?;
        Ok(tree)
    }

    /// Returns all names, in order. The answer is as durable as the mode promises.
    pub(crate) fn keyspace_names(&self, store: &Store) -> Result<Vec<String>> {
        let trees = self.read();
        let (names, changed) = (trees.by_name.keys().cloned().collect(), trees.changed);
        drop(trees);
        store.wait_stable(changed)?;
        Ok(names)
    }

    /// At open: reads the names from the catalog and gives each the root that the rebuild found, or a new one. Calls
    /// `damaged` for each entry that cannot be read; an error of `damaged` ends the reading. Also returns the roots
    /// that no name has.
    pub(crate) fn read_from(
        store: &WritableStore,
        roots: Vec<TreeRoot>,
        damaged: &mut dyn FnMut(DamagedName) -> Result<()>,
    ) -> Result<(Catalog, Vec<TreeRoot>)> {
        let mut roots: BTreeMap<u32, TreeRoot> = roots.into_iter().map(|root| (root.keyspace(), root)).collect();
        let own = match roots.remove(&CATALOG) {
            Some(root) => root,
            None => create_tree(store, CATALOG)?,
        };
        let mut trees = Trees::default();
        for payload in store.index.audit(&own).payloads {
            let (name, bytes) = match record::read(store.storage.image(), payload) {
                Ok(entry) => entry,
                Err(what) => {
                    damaged(DamagedName { payload, what })?;
                    continue;
                }
            };
            if is_reserved(&name) {
                continue;
            }
            let entry = Entry::read(&name, &bytes)?;
            let twice = entry.as_ref().is_some_and(|entry| trees.by_number.contains_key(&entry.number));
            let (Ok(name), Some(Entry { number, options, swept_by }), false) =
                (std::str::from_utf8(&name), entry, twice)
            else {
                return Err(Error::Corrupt {
                    path: store.path.join("records"),
                    offset: 0,
                    what: "an entry of the catalog",
                    found: format!("\"{}\", \"{}\"", name.escape_ascii(), bytes.escape_ascii()),
                    expected: "a name, and a number below 2^24 that no other has".into(),
                });
            };
            store.wall_clock.advance_to(swept_by);
            let root = match roots.remove(&number) {
                Some(root) => root,
                None => create_tree(store, number)?,
            };
            let tree = KeyspaceTree::new(name, root, options);
            tree.swept_by.store(swept_by, Ordering::Relaxed);
            trees.add(tree);
        }
        let used = trees.by_number.keys().chain(roots.keys()).copied().collect();
        let catalog = Catalog {
            names: KeyspaceTree::new("", own, KeyspaceOptions::new()),
            trees: RwLock::new(trees),
            numbers: Mutex::new(FreeNumbers::without(&used)),
            dropped: DroppedTrees::default(),
            following: Mutex::new(()),
        };
        Ok((catalog, roots.into_values().collect()))
    }

    /// Frees the trees that no name has, and creates the default keyspace. Runs once all recovered data is durable.
    pub(crate) fn tidy(&self, store: &WritableStore, orphans: &[TreeRoot]) -> Result<()> {
        orphans.iter().try_for_each(|root| Operation::begin(store)?.drop_tree(root))?;
        self.create_keyspace(store, DEFAULT, None).map(drop)
    }

    /// Returns the keyspace of that name, and creates it if it is absent. Refuses an existing one whose options are not
    /// those asked for, if any are.
    pub(crate) fn create_keyspace(
        &self,
        store: &WritableStore,
        name: &str,
        options: Option<KeyspaceOptions>,
    ) -> Result<Arc<KeyspaceTree>> {
        if let Some(tree) = self.find_keyspace(store, name)? {
            return with_options(tree, options);
        }
        if name.is_empty() || name.len() > MAX_NAME {
            let what = format!("a keyspace's name has 1 to {MAX_NAME} bytes, this one has {}", name.len());
            return Err(Error::Invalid { what });
        }
        if is_reserved(name.as_bytes()) {
            return Err(Error::Invalid {
                what: format!("a keyspace's name does not begin with a zero byte: {name:?}"),
            });
        }
        let mut numbers = self.lock();
        if let (Some(tree), changed) = self.find(name) {
            drop(numbers);
            store.wait_stable(changed)?;
            return with_options(tree, options);
        }
        let Some(number) = numbers.next() else {
            let limit = MOST_KEYSPACES.into();
            return Err(Error::TooLarge { what: "a keyspace's number", found: limit, limit });
        };
        let tree = KeyspaceTree::new(name, create_tree(store, number)?, options.unwrap_or_default());
        // Also if it gets no name: no two trees may have one number.
        numbers.take();
        let operation =
            self.name_tree(store, &tree).inspect_err(|_| self.dropped.add(&tree, store.clock().active()))?;
        // While the operation is pinned: once its epoch has ended, the name is there.
        self.write().add_in(operation.epoch(), tree.clone());
        drop(numbers);
        operation.finish()?;
        Ok(tree)
    }

    /// Writes the entry of a tree that has no name yet.
    fn name_tree<'a>(&self, store: &'a WritableStore, tree: &KeyspaceTree) -> Result<Operation<'a>> {
        let mut operation = Operation::begin(store)?;
        self.write_entry(&mut operation, tree, 0)?;
        Ok(operation)
    }

    fn write_entry(&self, operation: &mut Operation<'_>, tree: &KeyspaceTree, swept_by: Millis) -> Result<()> {
        let entry = Entry { number: tree.root.keyspace(), options: tree.options, swept_by };
        let (name, bytes) = (tree.name.as_bytes(), entry.to_bytes());
        let payload = operation.write_record(name, StoredValue::verbatim(&bytes), &mut Vec::new())?;
        operation.put(&self.names, name, payload)
    }

    /// Returns the keyspaces whose keys may expire.
    pub(crate) fn expiring_trees(&self) -> Vec<Arc<KeyspaceTree>> {
        let trees = self.read();
        trees.by_name.values().filter(|tree| tree.format == ValueFormat::Expiring).cloned().collect()
    }

    /// Notes a time in the catalog before records that have expired by then are removed. Labels rise along the order of
    /// writes, so every crash that keeps such a removal keeps the note as well. The next open continues from that time
    /// at least, and sees no record that has the same deadline as a removed one.
    pub(crate) fn note_sweep(&self, store: &WritableStore, tree: &KeyspaceTree, by: Millis) -> Result<()> {
        // With the lock, the keyspace is not dropped meanwhile: the entry would bring back its name.
        let _numbers = self.lock();
        tree.check_not_dropped()?;
        if tree.swept_by.load(Ordering::Relaxed) < by {
            let mut operation = Operation::begin(store)?;
            self.write_entry(&mut operation, tree, by)?;
            tree.swept_by.store(by, Ordering::Relaxed);
            operation.finish_later();
        }
        Ok(())
    }

    /// Drops a keyspace with all its pairs, and frees dropped trees that an earlier call could not free. Returns when
    /// the removal is durable: space of the tree must not be reused before. A tree that a backup or a snapshot keeps is
    /// freed later.
    pub(crate) fn drop_keyspace(&self, store: &WritableStore, name: &str) -> Result<bool> {
        let numbers = self.lock();
        let (found, changed) = self.find(name);
        if let Some(tree) = &found {
            let mut operation = Operation::begin(store)?;
            operation.remove(&self.names, name.as_bytes())?;
            tree.root.mark_dropped();
            // While the operation is pinned: once its epoch has ended, the name is gone.
            self.write().take_away(operation.epoch(), tree);
            drop(operation);
            // The code reads the active epoch after the mark is set, and does not use the removal's own label. The
            // clock may have advanced in between, and a writer of the next epoch may have missed the mark.
            let label = store.clock().active();
            self.dropped.add(tree, label);
        }
        drop(numbers);
        self.free_dropped(store)?;
        // Another call may have removed the name, and its removal may not be durable yet.
        store.wait_stable(changed)?;
        Ok(found.is_some())
    }

    /// Lets go of trees that were kept, and frees those of them that were dropped meanwhile.
    pub(crate) fn let_go(&self, store: &WritableStore, trees: impl IntoIterator<Item = Arc<KeyspaceTree>>) {
        let dropped = trees.into_iter().fold(false, |dropped, tree| tree.let_go() | dropped);
        if dropped && let Err(error) = self.free_dropped(store) {
            // The next drop frees it, or the next open.
            log::warn!("holm: {}: freeing a dropped keyspace: {error}", store.path.display());
        }
    }

    /// Frees the dropped trees that nothing keeps: see [`Catalog::drop_keyspace`].
    fn free_dropped(&self, store: &WritableStore) -> Result<()> {
        self.dropped.free(store)
    }
}
