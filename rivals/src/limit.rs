//! The value of `--memory`: mebibytes, or the part of the data that is named.

use anyhow::{Result, bail};
use holm_bench::{KEY_BYTES, Plan};
use std::str::FromStr;

/// The least memory in which the program itself and an engine can run, in bytes.
const LEAST: u64 = 32 << 20;

/// A limit on the memory of each engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Mebibytes(u64),
    /// A quarter of the bytes of all keys and values.
    Quarter,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "quarter" => Ok(Limit::Quarter),
            Ok(mebibytes @ 1..=0xFFF_FFFF) => Ok(Limit::Mebibytes(mebibytes)),
            _ => Err(format!("{text:?} is neither a number of mebibytes nor `quarter`")),
        }
    }
}

impl Limit {
    /// Returns the bytes for the records of this plan, whose keys do not come from a list.
    ///
    /// # Errors
    /// They are too few to run in.
    pub(crate) fn bytes(self, plan: &Plan) -> Result<u64> {
        let bytes = match self {
            Limit::Mebibytes(mebibytes) => mebibytes << 20,
            Limit::Quarter => plan.records * (KEY_BYTES + plan.value_bytes) as u64 / 4,
        };
        if bytes < LEAST {
            bail!("a limit of {bytes} bytes; expected at least {LEAST}: name more records or longer values");
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_of_all_keys_and_values() {
        let plan = Plan { records: 2_500_000, value_bytes: 100, ..Plan::default() };
        assert_eq!("quarter".parse::<Limit>().unwrap().bytes(&plan).unwrap(), 2_500_000 * 123 / 4);
        assert_eq!("192".parse::<Limit>().unwrap().bytes(&plan).unwrap(), 192 << 20);
        assert!(Limit::Quarter.bytes(&Plan { records: 1000, ..plan }).is_err());
        assert!(["0", "half", "-1", "99999999999"].iter().all(|text| text.parse::<Limit>().is_err()));
    }
}
