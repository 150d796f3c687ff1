//! A node: one database for all groups of a machine.

use crate::entry::LEVEL;
use crate::fault::Result;
use crate::group::Group;
use crate::space::{GROUPS, Space, drop_strays, generation_of};
use holm::{Database, Durability, ImageMode, Keyspace, Stats};
use std::path::Path;
use std::sync::Arc;

/// How a node opens its database.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeOptions {
    /// The most bytes of the database's files; 0 is the store's own default.
    pub capacity: u64,
    /// Keep the data in memory of the process, as a test of lost power wants it: with the process dies what was not
    /// synced.
    pub private_image: bool,
    /// For tests: the highest level of entries that the node knows; 0 is [`LEVEL`].
    #[doc(hidden)]
    pub level: u8,
    /// A bug for tests that are to catch it: the index of the last entry is written, and made durable, before the
    /// changes of its entries.
    #[doc(hidden)]
    pub index_apart: bool,
}

/// What the groups of a node share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) db: Database,
    pub(crate) groups: Keyspace,
    /// The highest level of entries that is known.
    pub(crate) level: u8,
    /// [`NodeOptions::index_apart`].
    pub(crate) index_apart: bool,
}

/// An open node. Cheap to clone; the database closes with the last clone, group, view and restore.
#[derive(Clone, Debug)]
pub struct Node(pub(crate) Arc<Shared>);

impl Node {
    /// Opens the database in a folder and creates it if it is absent. A crash may have left keyspaces of a restore that
    /// was not completed; they are dropped.
    ///
    /// Writes are durable at the next [`Node::sync`] that returns, and otherwise about every 100 ms.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open(folder: impl AsRef<Path>, options: NodeOptions) -> Result<Node> {
        let image = if options.private_image { ImageMode::Private } else { ImageMode::Shared };
        let mut builder = Database::builder().durability(Durability::OnSync).image(image);
        if options.capacity > 0 {
            builder = builder.capacity(options.capacity);
        }
        let db = builder.open(folder)?;
        let groups = db.keyspace(GROUPS)?;
        drop_strays(&db, &groups)?;
        let level = if options.level == 0 { LEVEL } else { options.level };
        Ok(Node(Arc::new(Shared { db, groups, level, index_apart: options.index_apart })))
    }

    /// Opens a group and creates it if it is absent. One handle of each group at a time applies and restores.
    ///
    /// # Errors
    /// Those of the store; the group's state is malformed.
    pub fn group(&self, group: u64) -> Result<Arc<Group>> {
        Group::open(self.0.clone(), group).map(Arc::new)
    }

    /// Drops a group with all that it has, durably: one that is opened under its number is new. Its handles, views and
    /// restores have been closed. A crash leaves it whole or gone. O(keys).
    ///
    /// # Errors
    /// Those of the store.
    pub fn drop_group(&self, group: u64) -> Result<()> {
        let Some(generation) = generation_of(&self.0.groups, group)? else { return Ok(()) };
        self.0.groups.remove(group.to_be_bytes())?;
        self.0.db.sync()?;
        // What no generation names is dropped by the next opening, if this is cut short.
        Space::drop_of(&self.0.db, group, generation)
    }

    /// Returns once all that was applied before the call is durable, in all groups. Callers at the same time share the
    /// work.
    ///
    /// # Errors
    /// Those of the store: the process is to end, and opening again recovers.
    pub fn sync(&self) -> Result<()> {
        Ok(self.0.db.sync()?)
    }

    /// Returns the statistics of the database.
    pub fn stats(&self) -> Stats {
        self.0.db.stats()
    }
}
