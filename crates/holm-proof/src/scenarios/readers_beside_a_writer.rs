//! Readers that race with a writer never see a payload that was not stored under the key, nor a key out of order.

use super::Verdict;
use crate::recorded::Recorded;
use crate::subject::Subject;
use holm_medium::{FIRST_EPOCH, Storage, StorageOps};
use holm_tree::SeekTarget;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const KEYS: u64 = 400;
const ROUNDS: u64 = 10_000;
/// The smallest number of passes over all keys that the writer lets the readers make.
const PASSES: u64 = 40;

/// One writer that puts and removes, one thread that ends epochs, two that read.
///
/// # Errors
/// What a reader must not have seen.
pub fn readers_beside_a_writer(subject: &'static Subject) -> Verdict {
    let said = |error: holm_medium::MediumError| error.to_string();
    let writer = Storage::open(Recorded::new([4 << 20, 64]), FIRST_EPOCH).map_err(said)?;
    let writer = Arc::new(writer);
    let tree = subject.tree(writer.clone());
    let root = tree.create_tree(&mut writer.clock().pin().map_err(said)?, subject.keyspace(1)).map_err(said)?;
    let done = AtomicBool::new(false);
    let passes = AtomicU64::new(0);
    // The key is in the upper half of every payload that is stored under it.
    let belongs = |key: u64, payload: u64| payload >> 32 == key;
    let read = || -> Result<u64, String> {
        let mut seen = 0;
        while !done.load(Ordering::Relaxed) {
            for key in 1..=KEYS {
                if let Some(payload) = tree.get(&root, key).payload
                    && !belongs(key, payload)
                {
                    return Err(format!("get({key}) saw {payload:#x}"));
                }
                seen += 1;
            }
            passes.fetch_add(1, Ordering::Relaxed);
            let cursor = tree.cursor_at(&root, SeekTarget::Holding(seen % KEYS));
            let sorted = cursor.pairs.is_sorted_by(|a, b| a.head < b.head);
            if !sorted || cursor.pairs.iter().any(|slot| !belongs(slot.head, slot.payload)) {
                return Err(format!("a view saw {:?}", &cursor.pairs[..]));
            }
        }
        Ok(seen)
    };
    let write = || -> Result<(), String> {
        let mut i = 0;
        while i < ROUNDS || passes.load(Ordering::Relaxed) < PASSES && i < 1_000 * ROUNDS {
            i += 1;
            let key = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % KEYS + 1;
            let mut guard = writer.clock().pin().map_err(said)?;
            if i % 3 == 2 {
                tree.remove(&root, &mut guard, key).map_err(said)?;
            } else {
                tree.put(&root, &mut guard, key, key << 32 | i).map_err(said)?;
            }
            drop(guard);
            if i % 64 == 0 {
                writer.end_epoch().map_err(said)?;
            }
        }
        Ok(())
    };
    let (wrote, seen) = std::thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        let wrote = write();
        done.store(true, Ordering::Relaxed);
        let seen = readers.map(|reader| reader.join().unwrap_or_else(|_| Err("a reader panicked".into())));
        (wrote, seen)
    });
    wrote?;
    let [first, second] = seen;
    let faults = tree.audit(&root).faults;
    if subject.capabilities.stores_pairs && !faults.is_empty() {
        return Err(faults.join("; "));
    }
    Ok(format!("{} reads", first? + second?))
}
