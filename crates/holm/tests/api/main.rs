//! Tests of the public interface against its documentation. One program, because the modules share their tools.
//!
//! Each module checks one promise: the answers of a map, limits, errors, traits, sizes, durability, threads. The crash
//! tests of `holm-proof` check power cuts and failing disks.

#![forbid(unsafe_code)]

mod atomic;
mod back_in_time;
mod backup_kills;
mod backups;
mod batches;
mod children;
mod closing;
mod compaction;
mod cut_short;
mod disks;
mod dropped_copies;
mod dropping;
mod durability;
mod emptied;
mod errors;
mod expire;
mod expiring_copies;
mod expiry;
mod expiry_model;
mod families;
mod feeds;
mod feeds_of_names;
mod files;
mod full;
mod gaps;
mod get_many;
mod growth;
mod handles;
mod hands;
mod held_disk;
mod hermitage;
mod histories;
mod in_key_order;
mod insert_many;
mod leader;
mod leaf_index;
mod limits;
mod long_transactions;
mod long_values;
mod marks;
mod model;
mod moved;
mod news;
mod over_designs;
mod promises;
mod ranges;
mod read_ahead;
mod read_only;
mod scans;
mod sizes;
mod snapshots;
mod tampering;
mod temporary;
mod threads;
mod tools;
mod traits;
mod transactions;
mod twin;
mod update_many;
mod waits;
