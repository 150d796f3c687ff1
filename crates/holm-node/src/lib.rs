//! The replicated state machine of a cluster: what a consensus engine asks of the store that it keeps equal on several
//! machines, over one database of Holm per machine.
//!
//! A *group* is the part of the keys that one log of the consensus engine orders. A node has one database for all of
//! its groups, and each group has two keyspaces of it. The engine hands over entries of the log in order; a group
//! applies them in one transaction, with the index of the last one in it. So whatever a crash leaves, the index says
//! which entries the group has, and the engine repeats the others.
//!
//! | module | |
//! |---|---|
//! | `node`, `space` | the database, and the keyspaces that each group has now |
//! | `group`, `state`, `marks` | a group, what it notes beside its keys, and hashes that replicas compare |
//! | `entry` | the bytes of entries and of reads: parts, each with the commands of one client |
//! | `check` | what is not to go into a log |
//! | `apply`, `applying` | entries, applied in one transaction |
//! | `read`, `replies` | parts that only read, and replies in bounds |
//! | `slots`, `slot_entry`, `export` | which slots a group answers for, and how they go to another group |
//! | `view`, `frame`, `restore` | a group as a stream of frames, and the way back |
//! | `renew`, `load` | entries after which a group is empty, and those that fill it from a backup |
//! | `route`, `slot`, `front`, `subcommands` | where a command belongs, before anybody carries it out |
//! | `accounts` | what users may do |
//! | `fault` | errors |
//!
//! Nothing here knows a socket, a clock, chance or a consensus engine: an entry carries its proposer's time and seed.
//! Replicas that have applied the same entries are equal, and [`Group::applied`] and [`Group::hash`] show it.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod accounts;
mod apply;
mod applying;
mod check;
mod entry;
mod export;
mod fault;
mod frame;
mod front;
mod group;
mod load;
mod marks;
mod node;
mod read;
mod renew;
mod replies;
mod requests;
mod restore;
mod route;
mod slot;
mod slot_entry;
mod slots;
mod space;
mod state;
mod subcommands;
mod view;

pub use accounts::Accounts;
pub use check::check_entry;
pub use entry::{Entry, EntryKind, LEVEL, Part, PartKind, Watch};
pub use fault::{Fault, Result};
pub use front::{FRONT, describe};
pub use group::Group;
pub use node::{Node, NodeOptions};
pub use restore::Restore;
pub use route::{Route, RouteKind, Router};
pub use slot::{SLOTS, slot_of};
pub use view::{View, ViewStatus};
