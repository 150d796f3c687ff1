//! The list of engines, one line each. An adapter is a file below with one function, `open`. It opens or creates a
//! store in a folder, in one of two durability classes, and returns it as an [`Engine`]; dropping the engine closes the
//! store. Every store that has a cache gets [`CACHE_BYTES`], or a part of its memory if that is limited: a half, or
//! what its file says. Compression is off because the values are incompressible. Everything else is default, except
//! where the adapter's own comment says what it sets.

#[cfg(feature = "berkeley")]
#[expect(unsafe_code, reason = "calls a library of C")]
mod berkeley;
mod fjall;
mod fjall_transactions;
mod holm;
#[expect(unsafe_code, reason = "the binding declares opening a map unsafe")]
mod lmdb;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "rocksdb")]
mod rocksdb_optimistic;
mod sled;

use fjall_transactions::{FJALL_OPTIMISTIC, FJALL_SERIAL, optimistic, serial};
use holm_bench::{BoxError, Engine, confine};
#[cfg(feature = "rocksdb")]
use rocksdb::{ROCKSDB, ROCKSDB_NO_LOG};
#[cfg(feature = "rocksdb")]
use rocksdb_optimistic::ROCKSDB_OPTIMISTIC;
use std::path::Path;

/// Cache of every store that has one: enough for the million records of 1000 bytes that reports use.
const CACHE_BYTES: usize = 1 << 30;

/// The part of a limited memory that is a cache, except where an engine says another.
const HALF: u64 = 2;

/// Bytes of a cache: [`CACHE_BYTES`], or this part of the memory if that is limited.
fn cache_bytes(part: u64) -> usize {
    confine::limit().map_or(CACHE_BYTES, |limit| (limit / part) as usize)
}

/// The failures that a returned write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Durability {
    /// Each engine's usual mode without waiting for the disk.
    Relaxed,
    /// A power failure, if the engine keeps its guarantee: every commit waits for the disk.
    Synced,
}

/// An open store, or the reason why it did not open.
type Opened = Result<Box<dyn Engine>, BoxError>;

/// One engine under test.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) open: fn(&Path, Durability) -> Opened,
    /// Whether the engine is compared with the rivals, or is one of them.
    pub(crate) ours: bool,
    /// Whether it runs when no engines are named.
    pub(crate) usual: Usual,
    /// If false, a power failure may lose a synced write. Then the engine's figures are shown, but never count as the
    /// best rival's.
    keeps_synced: bool,
    /// The meaning of relaxed and synced for this engine.
    modes: [&'static str; 2],
}

/// The comparisons that an engine takes part in when no engines are named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    /// Workloads of single operations and batches.
    pub(crate) mixes: bool,
    /// Transfers, which need transactions.
    pub(crate) transfers: bool,
    /// Workloads over data larger than memory.
    pub(crate) limited: bool,
}

const ALL: Usual = Usual { mixes: true, transfers: true, limited: true };
const PLAIN: Usual = Usual { transfers: false, ..ALL };
const FITS: Usual = Usual { limited: false, ..ALL };
const MOVES: Usual = Usual { mixes: false, transfers: true, limited: false };
const LARGE: Usual = Usual { mixes: false, transfers: false, limited: true };
const NONE: Usual = Usual { mixes: false, transfers: false, limited: false };

impl Entry {
    /// Returns the meaning of the class for this engine.
    pub(crate) fn mode(&self, durability: Durability) -> &'static str {
        self.modes[durability as usize]
    }

    /// Returns whether its figures in this class may count as the best rival's.
    pub(crate) fn counts(&self, durability: Durability) -> bool {
        durability == Durability::Relaxed || self.keeps_synced
    }
}

#[rustfmt::skip] // a table is read by columns
pub(crate) const ENGINES: &[Entry] = &[
    Entry { name: "holm",     ours: true,  open: holm::open,         usual: ALL,   keeps_synced: true, modes: HOLM },
    Entry { name: "private",  ours: true,  open: holm::open_private, usual: NONE,  keeps_synced: true, modes: HOLM },
    Entry { name: "clustered", ours: true, open: holm::open_clustered, usual: LARGE, keeps_synced: true, modes: HOLM },
    Entry { name: "redb",     ours: false, open: redb::open,         usual: FITS, keeps_synced: true, modes: REDB },
    // Its transactions need databases of another type: the next two.
    Entry { name: "fjall",    ours: false, open: fjall::open,        usual: PLAIN, keeps_synced: true, modes: FJALL },
    Entry { name: FJALL_OPTIMISTIC, ours: false, open: optimistic, usual: MOVES, keeps_synced: true, modes: CHECKED },
    Entry { name: FJALL_SERIAL, ours: false, open: serial,       usual: MOVES, keeps_synced: true, modes: SERIAL },
    Entry { name: "lmdb",     ours: false, open: lmdb::open,         usual: ALL,   keeps_synced: true, modes: LMDB },
    Entry { name: "writemap", ours: false, open: lmdb::writemap,     usual: MOVES, keeps_synced: true, modes: MAPPED },
    Entry { name: "sled",     ours: false, open: sled::open,         usual: FITS, keeps_synced: false, modes: SLED },
    #[cfg(feature = "rocksdb")]
    Entry { name: ROCKSDB, ours: false, open: rocksdb::open, usual: PLAIN, keeps_synced: true, modes: LOGGED },
    #[cfg(feature = "rocksdb")]
    Entry { name: ROCKSDB_OPTIMISTIC, ours: false, open: rocksdb_optimistic::open, usual: MOVES, keeps_synced: true,
            modes: LOGGED },
    #[cfg(feature = "rocksdb")]
    Entry { name: ROCKSDB_NO_LOG, ours: false, open: rocksdb::open_no_log, usual: NONE, keeps_synced: false,
            modes: NO_LOG },
    #[cfg(feature = "berkeley")]
    Entry { name: "berkeley", ours: false, open: berkeley::open, usual: FITS, keeps_synced: true, modes: BERKELEY },
    #[cfg(feature = "berkeley")]
    Entry { name: BERKELEY_UNSAFE, ours: false, open: berkeley::open_unsafe, usual: NONE, keeps_synced: false,
            modes: NO_LOG },
];

const HOLM: [&str; 2] = ["Buffered, 10 ms", "Strict"];
const REDB: [&str; 2] = ["Durability::None", "Durability::Immediate"];
const FJALL: [&str; 2] = ["journal written, not synced", "persist(SyncAll)"];
const CHECKED: [&str; 2] = ["optimistic, journal written, not synced", "optimistic, persist(SyncData)"];
const SERIAL: [&str; 2] = ["one writer, journal written, not synced", "one writer, persist(SyncData)"];
const LMDB: [&str; 2] = ["NO_SYNC", "default"];
const MAPPED: [&str; 2] = ["WRITE_MAP and NO_SYNC, not safe from power cuts", "WRITE_MAP"];
const SLED: [&str; 2] = ["flush every 500 ms", "flush: sync_file_range, not safe from power cuts"];
#[cfg(feature = "rocksdb")]
const LOGGED: [&str; 2] = ["log written, not synced", "WriteOptions::sync"];
#[cfg(feature = "berkeley")]
const BERKELEY: [&str; 2] = ["DB_TXN_WRITE_NOSYNC", "default"];
#[cfg(feature = "berkeley")]
const BERKELEY_UNSAFE: &str = "berkeley-unsafe";
#[cfg(any(feature = "berkeley", feature = "rocksdb"))]
const NO_LOG: [&str; 2] = ["no log, not safe from kills", "no log, not safe from kills"];

/// The features that add engines, for who names one of an absent feature.
const ADDED: [(&str, bool); 2] = [("rocksdb", cfg!(feature = "rocksdb")), ("berkeley", cfg!(feature = "berkeley"))];

/// Returns the engine of that name.
pub(crate) fn entry(name: &str) -> Result<&'static Entry, UnknownEngine> {
    ENGINES.iter().find(|entry| entry.name == name).ok_or_else(|| UnknownEngine(name.to_owned()))
}

/// A name that is not in the list.
#[derive(Debug)]
pub(crate) struct UnknownEngine(String);

impl std::fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no engine is named {:?}; expected one of", self.0)?;
        ENGINES.iter().try_for_each(|entry| write!(f, " {}", entry.name))?;
        ADDED
            .iter()
            .filter(|(_, there)| !there)
            .try_for_each(|(name, _)| write!(f, " (and {name}, with --features {name})"))
    }
}

impl std::error::Error for UnknownEngine {}

#[cfg(test)]
mod tests {
    use super::*;
    use holm_bench::{Plan, Values, Workload, balances, fill, key, run};

    /// Every adapter satisfies the contract of `Engine`, in both classes.
    #[test]
    fn adapters_keep_the_contract() {
        let plan = Plan { records: 1500, value_bytes: 50, seed: 3, ..Plan::default() };
        let values = Values::new(plan.value_bytes, plan.seed);
        let mut keys: Vec<_> = (0..plan.records).map(key).collect();
        keys.sort_unstable();
        for entry in ENGINES {
            for durability in [Durability::Relaxed, Durability::Synced] {
                let folder = tempfile::tempdir().unwrap();
                let engine = (entry.open)(folder.path(), durability).unwrap();
                assert_eq!(engine.name(), entry.name);
                fill(&*engine, &plan, 0).unwrap();
                engine.insert(&key(7), b"other").unwrap();
                engine.sync().unwrap();
                let mut into = b"left from before".to_vec();
                assert!(engine.read(&key(3), &mut into).unwrap());
                assert_eq!(into, values.of(3), "{}", entry.name);
                assert!(engine.read(&key(7), &mut into).unwrap());
                assert_eq!(into, b"other", "{}", entry.name);
                assert!(!engine.read(&key(1500), &mut into).unwrap());
                assert_eq!(into, b"", "{}", entry.name);
                let (mut shown, mut bytes) = (Vec::new(), 0);
                let mut visit = |key: &[u8], value: &[u8]| {
                    shown.push(key.to_vec());
                    bytes += value.len();
                };
                assert_eq!(engine.scan(&keys[100], 70, &mut visit).unwrap(), 70, "{}", entry.name);
                assert!(shown.iter().eq(&keys[100..170]), "{}", entry.name);
                assert!(bytes >= 69 * 50, "{}", entry.name);
                assert_eq!(engine.scan(&keys[1490], 70, &mut |_, _| ()).unwrap(), 10, "{}", entry.name);
            }
        }
    }

    /// Transactions of several threads lose nothing to each other, on every engine that takes part in transfers, and in
    /// both classes. Without the first key or the second one, nothing is stored.
    #[test]
    fn transfers_are_serializable() {
        let plan = Plan { records: 20, value_bytes: 50, seconds: 0.02, threads: 3, ..Plan::default() };
        for entry in ENGINES.iter().filter(|entry| entry.usual.transfers) {
            for durability in [Durability::Relaxed, Durability::Synced] {
                let folder = tempfile::tempdir().unwrap();
                let engine = (entry.open)(folder.path(), durability).unwrap();
                fill(&*engine, &plan, 0).unwrap();
                let before = balances(&*engine, &plan).unwrap();
                let outcome = run(&*engine, &plan, Workload::SkewedTransfers).unwrap();
                assert_eq!(balances(&*engine, &plan).unwrap(), before, "{} of {}", outcome.operations, entry.name);
                let mut values = [Vec::new(), Vec::new()];
                let change = |values: &mut [Vec<u8>; 2]| *values = [b"one".to_vec(), b"two".to_vec()];
                for keys in [[&key(0)[..], b"absent"], [b"absent", &key(0)]] {
                    assert!(!engine.transact(keys, &mut values, &change).unwrap(), "{}", entry.name);
                }
                assert_eq!(balances(&*engine, &plan).unwrap(), before, "{}", entry.name);
                assert!(engine.transact([&key(0), &key(1)], &mut values, &change).unwrap(), "{}", entry.name);
                for (key, expected) in [(key(0), b"one"), (key(1), b"two")] {
                    assert!(engine.read(&key, &mut values[0]).unwrap() && values[0] == expected, "{}", entry.name);
                }
            }
        }
    }

    /// Synced records of a closed store are present after a reopen.
    #[test]
    fn adapters_reopen_what_they_closed() {
        let mut forgetful = Vec::new();
        for entry in ENGINES {
            let folder = tempfile::tempdir().unwrap();
            let engine = (entry.open)(folder.path(), Durability::Relaxed).unwrap();
            engine.insert(b"key", b"value").unwrap();
            engine.sync().unwrap();
            drop(engine);
            let engine = (entry.open)(folder.path(), Durability::Relaxed).unwrap();
            let mut into = Vec::new();
            if !engine.read(b"key", &mut into).unwrap() || into != b"value" {
                forgetful.push(entry.name);
            }
        }
        assert_eq!(forgetful, [""; 0]);
    }
}
