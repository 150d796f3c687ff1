//! The child's readers: what they see while the writers write is checked as strictly as what a crash leaves.
//!
//! One reader takes snapshots. Each must show a prefix of each thread's steps, with all that had returned before the
//! snapshot began. The other reads keys and scans: a key's step never goes back, and a scan is in order, both ways.

use super::ledger::{Ledger, NAMES, THREADS, key, steps_of};
use holm::{Database, Error, Keyspace};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The last step of each thread that has returned.
pub(super) type Returned = [AtomicU64; THREADS];

/// Takes snapshots, and compares each with the steps that had returned before it and after it. Ends without an error
/// when the database fails or is closed.
///
/// # Errors
/// A description of what no order of the steps explains.
pub(super) fn read_snapshots(db: &Database, next: [u64; THREADS], returned: &Returned) -> Result<(), String> {
    let mut ledger = Ledger::before(next);
    let steps = || std::array::from_fn(|thread: usize| returned[thread].load(SeqCst));
    loop {
        let least: [u64; THREADS] = steps();
        let Ok(snapshot) = db.snapshot() else { return Ok(()) };
        let most = steps().map(|step: u64| step + 1);
        ledger.settle(&snapshot, least, most).map_err(|why| format!("a snapshot: {why}"))?;
    }
}

/// Reads keys, and scans in both directions. Ends without an error when the database fails or is closed.
///
/// # Errors
/// A description of what goes back, or is out of order.
pub(super) fn read_keys(spaces: &[Keyspace; 2]) -> Result<(), String> {
    let mut numbers: [HashMap<String, usize>; 2] = Default::default();
    let mut latest = HashMap::new();
    for (thread, number) in (0..THREADS).flat_map(|thread| (0..super::ledger::KEYS).map(move |number| (thread, number)))
    {
        let (space, name) = key(thread, number);
        numbers[space].insert(name, number);
    }
    let mut check = |space: usize, name: &str, value: &[u8]| {
        let number = numbers[space].get(name).ok_or_else(|| format!("{name} is nobody's key"))?;
        let (step, _) = steps_of(value, name, *number)?;
        match latest.insert((space, name.to_owned()), step) {
            Some(before) if before > step => Err(format!("{name}: step {step} after step {before}")),
            _ => Ok(()),
        }
    };
    loop {
        for (space, keyspace) in spaces.iter().enumerate() {
            for name in numbers[space].keys() {
                match keyspace.get(name) {
                    Ok(Some(value)) => check(space, name, &value)?,
                    Ok(None) => {}
                    Err(_) => return Ok(()),
                }
            }
            for is_reverse in [false, true] {
                let mut before: Option<Vec<u8>> = None;
                let pairs: Box<dyn Iterator<Item = Result<_, Error>>> =
                    if is_reverse { Box::new(keyspace.iter().rev()) } else { Box::new(keyspace.iter()) };
                for pair in pairs {
                    let Ok((name, value)) = pair else { return Ok(()) };
                    let is_in_order = |before: &Vec<u8>| if is_reverse { **before > *name } else { **before < *name };
                    if !before.as_ref().is_none_or(is_in_order) {
                        return Err(format!("{}: {:?} comes after {before:?}", NAMES[space], &*name));
                    }
                    let text = String::from_utf8(name.to_vec()).map_err(|error| error.to_string())?;
                    check(space, &text, &value)?;
                    before = Some(name.to_vec());
                }
            }
        }
    }
}
