//! The trees that have a name, now and at the ends of epochs.
//!
//! A creation or removal of a name is noted with the label of its operation, and while that is pinned. So the names at
//! the end of an epoch are known once the epoch has ended: no lock needs to be held until then.

use crate::feed::{NamedKeyspace, Names};
use crate::keyspace_tree::KeyspaceTree;
use holm_medium::Epoch;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The trees that have a name.
#[derive(Default)]
pub(super) struct Trees {
    pub(super) by_name: BTreeMap<String, Arc<KeyspaceTree>>,
    pub(super) by_number: BTreeMap<u32, Arc<KeyspaceTree>>,
    /// The epochs in which trees of this session were created, by number.
    created: BTreeMap<u32, Epoch>,
    /// The epoch of the last creation or removal. An answer about names is durable once this epoch is.
    pub(super) changed: Epoch,
    /// While the names are followed: the trees that have lost them since. Each is kept.
    former: Option<Vec<Former>>,
}

/// A tree that has lost its name.
struct Former {
    tree: Arc<KeyspaceTree>,
    /// The epoch of its creation; 0 before this session.
    created: Epoch,
    removed: Epoch,
}

impl Trees {
    pub(super) fn add(&mut self, tree: Arc<KeyspaceTree>) {
        self.by_number.insert(tree.root.keyspace(), tree.clone());
        self.by_name.insert(tree.name.clone(), tree);
    }

    /// Adds a tree that gets its name in an epoch, which the caller has pinned.
    pub(super) fn add_in(&mut self, epoch: Epoch, tree: Arc<KeyspaceTree>) {
        self.created.insert(tree.root.keyspace(), epoch);
        self.add(tree);
        self.changed = self.changed.max(epoch);
    }

    /// Takes a tree away that loses its name in an epoch, which the caller has pinned. The caller frees it later, if
    /// nothing keeps it then.
    pub(super) fn take_away(&mut self, epoch: Epoch, tree: &Arc<KeyspaceTree>) {
        self.by_number.remove(&tree.root.keyspace());
        self.by_name.remove(&tree.name);
        let created = self.created.remove(&tree.root.keyspace()).unwrap_or_default();
        if let Some(former) = &mut self.former {
            tree.keep();
            former.push(Former { tree: tree.clone(), created, removed: epoch });
        }
        self.changed = self.changed.max(epoch);
    }

    /// Notes the removals of names from now on.
    pub(super) fn follow(&mut self) {
        self.former = Some(Vec::new());
    }

    /// Ends what [`Trees::follow`] has begun. Returns the trees that have lost their names since; the caller lets go of
    /// each.
    pub(super) fn follow_no_more(&mut self) -> impl Iterator<Item = Arc<KeyspaceTree>> + use<> {
        self.former.take().into_iter().flatten().map(|former| former.tree)
    }

    /// The trees of the present names that were there at the end of an epoch.
    fn older(&self, epoch: Epoch) -> impl Iterator<Item = &Arc<KeyspaceTree>> {
        let is_older = move |number: &u32| self.created.get(number).is_none_or(|created| *created <= epoch);
        self.by_number.iter().filter(move |(number, _)| is_older(number)).map(|(_, tree)| tree)
    }

    /// Returns the keyspaces that had names at the end of an epoch, except those that have lost them since.
    pub(super) fn names_at_end_of(&self, epoch: Epoch) -> Names {
        let named = |tree: &Arc<KeyspaceTree>| (tree.root.keyspace(), NamedKeyspace::new(&tree.name, tree.options));
        self.older(epoch).map(named).collect()
    }

    /// Returns the keyspaces that had names at the end of an epoch, in the order of their names. The names are followed
    /// since before the epoch ended. Each tree is kept: one that has its name is freed after [`Trees::take_away`] at
    /// the earliest, and the former ones are kept until then. The caller lets go of each.
    pub(super) fn at_end_of(&self, epoch: Epoch) -> Vec<Arc<KeyspaceTree>> {
        let was_there = |former: &&Former| former.created <= epoch && epoch < former.removed;
        let former = self.former.iter().flatten().filter(was_there).map(|former| &former.tree);
        let by_name: BTreeMap<_, _> = self.older(epoch).chain(former).map(|tree| (&tree.name, tree)).collect();
        by_name.into_values().inspect(|tree| tree.keep()).cloned().collect()
    }
}
