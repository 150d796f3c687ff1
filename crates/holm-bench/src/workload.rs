//! The workloads by name. `steps.rs` implements them; this file holds the names for command lines and reports.

use std::fmt;
use std::str::FromStr;

/// The operations of a run. A to F are YCSB's core workloads. They expect a load with the same plan before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Workload {
    /// Inserts every record once, by number and so in random key order. The threads take turns. It runs to completion,
    /// unless [`Plan::load_seconds`](crate::Plan::load_seconds) ends it.
    Load,
    /// 50 % reads, 50 % updates, zipf.
    A,
    /// 95 % reads, 5 % updates, zipf.
    B,
    /// Reads, zipf.
    C,
    /// 95 % reads of the latest records, 5 % inserts.
    D,
    /// 95 % scans of 1 to 100 pairs from a zipf start, 5 % inserts.
    E,
    /// 50 % reads, 50 % reads followed by an update of the same record, zipf.
    F,
    /// Updates, zipf: the cost of single commits.
    Updates,
    /// Updates, all records equally often.
    Overwrites,
    /// Reads, all records equally often.
    Gets,
    /// Scans of 10 pairs, from all records equally often.
    Scans,
    /// New records in atomic batches of [`BATCH`](crate::BATCH), until `records` records are added or the time is over.
    /// An operation is a record; a latency is that of a batch. To sync each batch, open the engine in such a mode.
    Batches,
    /// Transfers between two accounts, all accounts equally often: reads two records and writes both, in one
    /// transaction, as in YCSB+T. The load makes the accounts. See [`balances`](crate::balances).
    Transfers,
    /// The same, zipf.
    SkewedTransfers,
}

impl Workload {
    /// Every workload, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::Load,
        Self::A,
        Self::B,
        Self::C,
        Self::D,
        Self::E,
        Self::F,
        Self::Updates,
        Self::Overwrites,
        Self::Gets,
        Self::Scans,
        Self::Batches,
        Self::Transfers,
        Self::SkewedTransfers,
    ];

    /// Returns the name that `Display` writes and `FromStr` parses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::D => "d",
            Self::E => "e",
            Self::F => "f",
            Self::Updates => "updates",
            Self::Overwrites => "overwrites",
            Self::Gets => "gets",
            Self::Scans => "scans",
            Self::Batches => "batches",
            Self::Transfers => "transfers",
            Self::SkewedTransfers => "skewed-transfers",
        }
    }

    /// Returns whether the workload needs an engine with transactions.
    #[must_use]
    pub fn transacts(self) -> bool {
        matches!(self, Self::Transfers | Self::SkewedTransfers)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that no workload has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWorkload(pub String);

impl fmt::Display for UnknownWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no workload is named {:?}; expected one of", self.0)?;
        Workload::ALL.iter().try_for_each(|workload| write!(f, " {workload}"))
    }
}

impl std::error::Error for UnknownWorkload {}

impl FromStr for Workload {
    type Err = UnknownWorkload;

    fn from_str(name: &str) -> Result<Self, UnknownWorkload> {
        let known = Self::ALL.into_iter().find(|workload| workload.name().eq_ignore_ascii_case(name.trim()));
        known.ok_or_else(|| UnknownWorkload(name.to_owned()))
    }
}

impl serde::Serialize for Workload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for Workload {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_read_back() {
        for workload in Workload::ALL {
            assert_eq!(workload.to_string().parse(), Ok(workload));
            assert_eq!(workload.name().to_uppercase().parse(), Ok(workload));
        }
        let refused = "g".parse::<Workload>().expect_err("there is no workload G");
        assert!(refused.to_string().contains("\"g\"") && refused.to_string().contains("batches"), "{refused}");
    }
}
