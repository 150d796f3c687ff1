//! The size of a run. It rejects a plan that cannot run before any thread starts.

use crate::transfer::BALANCE_BYTES;
use crate::{Keys, Workload};

/// The size of a run. The load and the mixes that follow it must use the same plan.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Plan {
    /// Records that the load inserts, and the range that the mixes choose from: 1 to 2^40.
    pub records: u64,
    /// Bytes of each value: up to 2^30; 0 is allowed.
    pub value_bytes: usize,
    /// Threads that share the engine: 1 to 1024.
    pub threads: usize,
    /// Seconds that a mix runs: more than 0 and at most a day.
    pub seconds: f64,
    /// Seconds after which `Load` ends even if records are left, which [`fill`](crate::fill) then inserts. More than 0
    /// and at most a day. `None`: the load runs to completion.
    pub load_seconds: Option<f64>,
    /// Determines the operations, the bytes of the values, and the names of the records that D, E and Batches add.
    /// Consecutive runs on one engine need different seeds if each is to add new records.
    pub seed: u64,
    /// The names of the records. They are not part of the JSON, because a list may be long.
    #[serde(skip)]
    pub keys: Keys,
}

impl Default for Plan {
    /// 100,000 records of 100 bytes under hashed keys, one thread, 5 seconds, the whole load.
    fn default() -> Self {
        Self {
            records: 100_000,
            value_bytes: 100,
            threads: 1,
            seconds: 5.0,
            load_seconds: None,
            seed: 1,
            keys: Keys::Hashed,
        }
    }
}

/// The limit that a plan breaks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// Not in 1..=2^40.
    Records(u64),
    /// Above 2^30.
    ValueBytes(usize),
    /// Not in 1..=1024.
    Threads(usize),
    /// Not a number above 0 and at most a day.
    Seconds(f64),
    /// The plan has more records than the list has keys.
    Listed {
        /// Records of the plan.
        records: u64,
        /// Keys of the list.
        keys: u64,
    },
    /// The workload adds records, and a list has no keys for them.
    Adds(Workload),
    /// Transfers need two accounts, and the bytes of a balance in each value.
    Accounts {
        /// Records of the plan.
        records: u64,
        /// Bytes of each value.
        value_bytes: usize,
    },
}

impl std::fmt::Display for PlanError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Records(found) => write!(f, "{found} records asked for; expected 1 to 2^40"),
            Self::ValueBytes(found) => write!(f, "values of {found} bytes asked for; expected at most 2^30"),
            Self::Threads(found) => write!(f, "{found} threads asked for; expected 1 to 1024"),
            Self::Seconds(found) => write!(f, "{found} seconds asked for; expected more than 0 and at most 86400"),
            Self::Listed { records, keys } => write!(f, "{records} records asked for; the list has {keys} keys"),
            Self::Adds(workload) => {
                write!(f, "workload {workload} adds records; with keys from a list only those that do not can run")
            }
            Self::Accounts { records, value_bytes } => {
                write!(f, "transfers between {records} records of {value_bytes} bytes asked for; expected 2 of 8")
            }
        }
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// # Errors
    /// The first limit that the plan breaks.
    pub fn check(&self) -> Result<(), PlanError> {
        if !(1..=1 << 40).contains(&self.records) {
            return Err(PlanError::Records(self.records));
        }
        if self.value_bytes > 1 << 30 {
            return Err(PlanError::ValueBytes(self.value_bytes));
        }
        if !(1..=1024).contains(&self.threads) {
            return Err(PlanError::Threads(self.threads));
        }
        for seconds in [Some(self.seconds), self.load_seconds].into_iter().flatten() {
            if !(seconds > 0.0 && seconds <= 86_400.0) {
                return Err(PlanError::Seconds(seconds));
            }
        }
        match &self.keys {
            Keys::Listed(list) if self.records > list.len() as u64 => {
                Err(PlanError::Listed { records: self.records, keys: list.len() as u64 })
            }
            Keys::Hashed | Keys::Listed(_) => Ok(()),
        }
    }

    /// As `check`, for one workload: also checks that there are keys for the records that it adds, and that its
    /// accounts have balances.
    ///
    /// # Errors
    /// The first limit that the plan breaks.
    pub fn check_for(&self, workload: Workload) -> Result<(), PlanError> {
        self.check()?;
        if workload.transacts() && (self.records < 2 || self.value_bytes < BALANCE_BYTES) {
            return Err(PlanError::Accounts { records: self.records, value_bytes: self.value_bytes });
        }
        let adds = matches!(workload, Workload::D | Workload::E | Workload::Batches);
        if adds && self.keys != Keys::Hashed { Err(PlanError::Adds(workload)) } else { Ok(()) }
    }
}
