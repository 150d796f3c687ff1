//! Workloads and measurement: the six mixes of YCSB, a load, batches, updates and transfers, over any implementation of
//! [`Engine`]. Guarantees: every engine meets the same keys and the same values. For one seed and one thread, it meets
//! the same operations in the same order. Every operation is timed, and counts are exact. The caller opens and closes
//! engines, chooses their durability, and repeats and compares runs.
//!
//! Records are numbered. A record's key is `user` and 19 digits of a one-to-one hash of its number ([`key()`]), so a
//! load by number inserts in random key order. Or the key is a line of a [`List`]. The value is a slice of a pool of
//! random bytes ([`Values`]).
//!
//! ```
//! # use std::{collections::BTreeMap, sync::Mutex};
//! # use holm_bench::{BoxError, Engine};
//! # struct Map(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);
//! # impl Engine for Map {
//! #     fn name(&self) -> &str { "map" }
//! #     fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
//! #         self.0.lock().unwrap().insert(key.into(), value.into());
//! #         Ok(())
//! #     }
//! #     fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
//! #         into.clear();
//! #         Ok(self.0.lock().unwrap().get(key).map(|value| into.extend_from_slice(value)).is_some())
//! #     }
//! #     fn scan(&self, _: &[u8], _: usize, _: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> { Ok(0) }
//! #     fn sync(&self) -> Result<(), BoxError> { Ok(()) }
//! #     fn batch(&self, _: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> { Ok(()) }
//! # }
//! # let engine = Map(Mutex::default());
//! use holm_bench::{Plan, Workload, run};
//! let plan = Plan { records: 1000, seconds: 0.01, ..Plan::default() };
//! assert_eq!(run(&engine, &plan, Workload::Load)?.operations, 1000);
//! let mixed = run(&engine, &plan, Workload::A)?;
//! println!("{} per second, writes {:?}", mixed.per_second, mixed.writes);
//! # Ok::<(), BoxError>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "store")]
mod companion;
pub mod confine;
mod driver;
mod engine;
mod key;
mod list;
pub mod machine;
mod meter;
mod outcome;
mod plan;
mod steps;
#[cfg(feature = "store")]
mod store;
mod table;
mod transfer;
mod value;
mod workload;
mod zipf;

#[cfg(feature = "store")]
pub use companion::{Beside, Companion, run_beside};
pub use driver::{BATCH, fill, run};
pub use engine::{BoxError, Change, Engine};
pub use key::{KEY_BYTES, Keys, key};
pub use list::List;
pub use outcome::{Outcome, Percentiles};
pub use plan::{Plan, PlanError};
#[cfg(feature = "store")]
pub use store::Store;
pub use table::Table;
pub use transfer::balances;
pub use value::Values;
pub use workload::{UnknownWorkload, Workload};
pub use zipf::Zipf;
