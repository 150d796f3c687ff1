//! Arbitrary bits: a racing reader, and a recovery over damaged blocks, terminate and do not panic.

use super::Verdict;
use crate::crashes::Persistency;
use crate::fixture::{TreeFixture, advance};
use crate::script::random;
use crate::snapshot::Snapshot;
use crate::subject::Subject;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeSet;

/// Damages some words of a sound image of such blocks: a bit, the whole word, or a copy of another word.
fn damage(random: &mut Pcg64, sound: &Snapshot, block: u64) -> Snapshot {
    let mut left = sound.clone();
    let words = left.bytes()[0] as u64 / 8;
    let first = block / 8;
    let most = if random.random_bool(0.5) { 4 } else { 40 };
    for _ in 0..random.random_range(1..most) {
        let at = random.random_range(first..words) * 8;
        // Metadata first: the first line of a block matters more than whole lines of pairs.
        let at = if random.random_bool(0.5) { at / block * block + at % 64 } else { at };
        let other = left.word(random.random_range(first..words) * 8);
        let value = match random.random_range(0..5) {
            0 => left.word(at) ^ 1 << random.random_range(0..64),
            1 => random.random(),
            2 => random.random_range(0..100),
            3 => u64::MAX,
            _ => other,
        };
        left.set(at, value);
    }
    left
}

/// Reads damaged images, leaf by leaf and then as a tree. The test is that this returns.
///
/// # Errors
/// If the sound tree itself cannot be made.
pub fn never_panics_on_torn_bits(subject: &'static Subject) -> Verdict {
    let mut draw = Pcg64::seed_from_u64(3);
    let mut refused = 0;
    let block = subject.block as u64;
    let images = 1_500;
    let script = random(1, subject.capacity);
    let (fixture, history) =
        TreeFixture::create(subject, &script, advance, &BTreeSet::new()).map_err(|error| error.to_string())?;
    let sound = Snapshot::of(fixture.image());
    for image in 0..images {
        let left = damage(&mut draw, &sound, block);
        let crash = if image % 2 == 0 { Persistency::Line } else { Persistency::Visible };
        left.restore(&mut fixture.handle(), fixture.image());
        for number in 1..script.blocks as u32 {
            subject.read_all(fixture.image(), number, &[3, 30, 90, u64::MAX]);
        }
        match TreeFixture::revive(subject, &left, crash, advance, &BTreeSet::new()) {
            Ok(revived) => {
                let (tree, root) = revived.tree();
                let _ = tree.audit(root);
                for (key, _) in history.now() {
                    let _ = tree.get(root, *key);
                }
            }
            Err(_) => refused += 1,
        }
    }
    Ok(format!("{images} images, of which recovery refused {refused}"))
}
