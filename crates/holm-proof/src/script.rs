//! The operations on a small tree while it is recorded: named scripts for each change of structure, and random ones.
//!
//! Payloads are unique within a script and never zero, because some designs recognise a pair in transit by them.

use crate::model::Step;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// A tree's past, which is durable, and the operations that are then recorded.
#[derive(Clone, Debug)]
pub struct Script {
    /// The name.
    pub name: String,
    /// The steps before the recording.
    pub past: Vec<Step>,
    /// The recorded steps.
    pub steps: Vec<Step>,
    /// The number of leaf blocks in the image.
    pub blocks: usize,
}

/// The number of blocks that a tree of one or two leaves needs, including versions and epoch ends.
const SMALL: usize = 24;

/// Steps, each with its own payload.
#[derive(Default)]
struct Writer {
    steps: Vec<Step>,
    payload: u64,
}

impl Writer {
    fn from(payload: u64) -> Self {
        Writer { steps: vec![], payload }
    }
    fn put(mut self, key: u64) -> Self {
        self.payload += 1;
        self.steps.push(Step::Put(key, self.payload));
        self
    }
    fn puts(self, keys: impl IntoIterator<Item = u64>) -> Self {
        keys.into_iter().fold(self, Writer::put)
    }
    fn remove(mut self, key: u64) -> Self {
        self.steps.push(Step::Remove(key));
        self
    }
    fn removes(self, keys: impl IntoIterator<Item = u64>) -> Self {
        keys.into_iter().fold(self, Writer::remove)
    }
    fn tick(mut self) -> Self {
        self.steps.push(Step::Tick);
        self
    }
}

fn script(name: &str, past: Writer, steps: Writer, blocks: usize) -> Script {
    Script { name: name.into(), past: past.steps, steps: steps.steps, blocks }
}

fn past() -> Writer {
    Writer::from(1_000)
}

fn steps() -> Writer {
    Writer::from(2_000)
}

/// The named scripts, for leaves with this capacity.
pub fn named(capacity: usize) -> Vec<Script> {
    let splits = [split(capacity), split_within(capacity), overflow(capacity), ends()];
    let merges = [merge(capacity), elders(capacity), inherit(capacity), empty(capacity)];
    let lefts = [merge_left(capacity), hand_left(capacity), hand_right(capacity)];
    [change(), refresh(), regrow(capacity)].into_iter().chain(merges).chain(lefts).chain(splits).collect()
}

/// Puts, updates and removals in one leaf, at both ends and within.
pub fn change() -> Script {
    let steps = steps().put(50).put(5).put(30).tick().remove(20).put(90).put(30).tick().put(20).remove(5).tick();
    script("change", past().puts([10, 20, 40, 60, 80]), steps.put(40).remove(90).put(90), SMALL)
}

/// Absent keys are inserted: in front, within, behind.
pub fn inserts() -> Script {
    script("inserts", past().puts([10, 20, 40, 60]), steps().puts([5, 30, 90]).tick(), SMALL)
}

/// Present keys get other payloads: in front, within, behind.
pub fn updates() -> Script {
    script("updates", past().puts([10, 20, 40, 60]), steps().puts([10, 40, 60]).tick(), SMALL)
}

/// Keys are removed: in front, within, behind.
pub fn removals() -> Script {
    script("removals", past().puts([10, 20, 40, 50, 60]), steps().removes([10, 40, 60]).tick(), SMALL)
}

/// A leaf fills up, with an epoch end before, within and after.
pub fn split(capacity: usize) -> Script {
    let full = (1..capacity as u64).map(|i| i * 10);
    script("split", past().puts(full), steps().put(55).put(155).tick().put(57).put(205).tick().put(3), SMALL)
}

/// A full leaf takes one more key, behind all others: a split, and little else that a recovery could have to repair.
pub fn overflow(capacity: usize) -> Script {
    let full = (1..=capacity as u64).map(|i| i * 10);
    script("overflow", past().puts(full), steps().put(capacity as u64 * 10 + 5), SMALL)
}

/// A leaf that has neighbours on both sides splits.
pub fn split_within(capacity: usize) -> Script {
    let keys = (1..=2 * capacity as u64).map(|i| i * 100);
    let middle = capacity as u64 * 75;
    let within = (1..capacity as u64 / 2).map(|i| middle + i);
    script("split_within", past().puts(keys).puts(within).tick(), steps().puts(middle + 50..middle + 56).tick(), SMALL)
}

/// The lowest leaf splits, and has split before within the same two epochs. Only a recovery allocates the block that
/// was replaced then, and does so before the blocks that it finds fresh.
pub fn descent(capacity: usize) -> Script {
    let full = (1..=capacity as u64).map(|i| (i + capacity as u64) * 10);
    let mut lower = (1..=capacity as u64).rev().map(|i| i * 10);
    let first = lower.by_ref().take(capacity.div_ceil(2)).collect::<Vec<_>>();
    script("descent", past().puts(full).puts(first), steps().puts(lower.take(2)), SMALL)
}

/// Old versions fill a leaf of few pairs, whatever the design does about that.
pub fn refresh() -> Script {
    // Three versions of each pair exceed the leaf's slots, but the pairs are too few for a split.
    let keys = || (1..=12).map(|i| i * 10);
    let steps = steps().puts(keys()).tick().puts(keys()).puts(keys()).tick().puts(keys()).remove(30).put(35);
    script("refresh", past().puts(keys()).tick().puts(keys()), steps, SMALL)
}

/// Two leaves lose pairs until they fit into one.
pub fn merge(capacity: usize) -> Script {
    let keys = |upto: usize| (1..=upto as u64).map(|i| i * 10);
    let half = capacity as u64 / 2;
    let few = (1..=half - 6).chain(half + 3..=2 * half - 4).map(|i| i * 10);
    let rest = (half - 5..half + 3).map(|i| i * 10);
    let past = past().puts(keys(capacity + 1)).tick().removes(few).tick();
    script("merge", past, steps().removes(rest).tick().put(15).put(25).tick(), SMALL)
}

/// Two leaves merge, and the next operation updates a moved pair in its place: the merge must be durable by then.
pub fn come_along(capacity: usize) -> Script {
    let (half, last) = (capacity as u64 / 2, capacity as u64 + 1);
    let each = |writer: Writer, i: u64| writer.remove(i * 10).put(last * 10);
    let steps = (half - 5..half + 3).fold(steps(), each);
    Script { name: "come_along".into(), steps: steps.steps, ..merge(capacity) }
}

/// Two leaves merge whose blocks have been used before, and so has the block of the leaf that they replaced.
pub fn elders(capacity: usize) -> Script {
    let (half, last) = (capacity as u64 / 2, capacity as u64 + 1);
    let between = |from: u64, upto: u64| (from..=upto).map(|i| i * 10 + 5);
    let past = past().puts((1..=last).map(|i| i * 10)).tick().tick().tick();
    let past = past.puts(between(0, half + 1)).tick().tick().tick().puts(between(half + 2, last)).tick();
    let most = (1..=half).map(|i| i * 10).chain(between(1, half - 1));
    script("elders", past, steps().removes(most).tick().put(15).put(25).tick(), SMALL)
}

/// Two leaves merge. The right one's pairs are changed, and the leaf grows until a split takes the released block,
/// whose last slots still contain pairs.
pub fn inherit(capacity: usize) -> Script {
    let most = capacity as u64 + 11;
    let keys = |from: u64, upto: u64| (from..=upto).map(|i| i * 10);
    let steps = steps().removes(keys(4, most - 3)).put(most * 10 - 25).put(most * 10 - 10).tick().tick().tick();
    let more = (0..capacity as u64 - 4).map(|i| 41 + i * 9);
    script("inherit", past().puts(keys(1, most)).tick(), steps.puts(more).remove(most * 10), SMALL)
}

/// The last pair of a leaf is removed, while its neighbours on both sides have many.
pub fn empty(capacity: usize) -> Script {
    let half = capacity as u64 / 2;
    let keys = |from: u64, upto: u64| (from..=upto).map(|i| i * 10);
    // In leaves that fill from below; those that split evenly have a pair or two left.
    let (first, last) = (half + 3, 2 * half + 4);
    let past = past().puts(keys(1, 5 * half)).tick().removes(keys(first, last - 1)).tick();
    script("empty", past, steps().remove(last * 10).put(last * 10 - 5).put(last * 10 + 5).tick().put(5), SMALL)
}

/// Three leaves that ascending keys have filled, without the keys in `gone`, each of which is a tenth of the tree's
/// key.
fn thinned(capacity: usize, gone: impl IntoIterator<Item = u64>) -> Writer {
    let keys = (1..=3 * capacity as u64).map(|i| i * 10);
    past().puts(keys).tick().removes(gone.into_iter().map(|i| i * 10)).tick()
}

/// A leaf whose right neighbour is full becomes sparse: it merges with the left one, and then pairs of both change.
pub fn merge_left(capacity: usize) -> Script {
    let full = capacity as u64;
    let past = thinned(capacity, (1..=full - 3).chain(full + 1..=2 * full - 7));
    let steps = steps().remove((2 * full - 6) * 10).put(full * 10).put(full * 20).tick().put(15);
    script("merge_left", past, steps.remove(full * 10).tick().put(25), SMALL)
}

/// The last pair of a leaf is removed, whose left neighbour is full. The right one has room and takes the range over.
/// Then a key of the removed leaf is put there.
pub fn hand_right(capacity: usize) -> Script {
    let full = capacity as u64;
    let past = thinned(capacity, (full + 1..2 * full).chain(2 * full + 1..=2 * full + 9));
    let steps = steps().remove(2 * full * 10).put(full * 10 + 15).tick().put(full * 20 + 5).put(full * 10 + 15);
    script("hand_right", past, steps.tick().remove(full * 10 + 15).tick().put(full * 20), SMALL)
}

/// The same with the right neighbour full and room in the left one.
pub fn hand_left(capacity: usize) -> Script {
    let full = capacity as u64;
    let past = thinned(capacity, (5..14).chain(full + 1..2 * full));
    let steps = steps().remove(2 * full * 10).put(full * 10 + 15).tick().put(full * 20 - 5).put(full * 10 + 15);
    script("hand_left", past, steps.tick().remove(full * 10 + 15).tick().put(full * 20), SMALL)
}

/// The last pair of a leaf's second block is updated, while the first one has room: for leaves of several blocks, which
/// then take the pair along and release the block.
pub fn draw_in() -> Script {
    let keys = |from: u64, upto: u64| (from..=upto).map(|i| i * 10);
    script("draw_in", past().puts(keys(1, 16)).tick().removes(keys(2, 15)).tick(), steps().put(10).tick(), SMALL)
}

/// Two leaves lose all their pairs but one each: for designs that merge late.
pub fn empty_out(capacity: usize) -> Script {
    let last = capacity as u64 + 1;
    let past = past().puts((1..=last).map(|i| i * 10)).tick();
    script("empty_out", past, steps().removes((2..last).map(|i| i * 10)).tick(), 64)
}

/// The least and the greatest key of all are inserted and removed, alone and beside others.
pub fn ends() -> Script {
    let steps = steps().put(u64::MAX).put(0).put(u64::MAX).remove(0).put(7).remove(7).tick().put(0).put(u64::MAX - 1);
    let steps = steps.remove(u64::MAX).remove(u64::MAX - 1).tick().tick().put(u64::MAX).remove(0);
    script("ends", past(), steps, SMALL)
}

/// Two neighbouring leaves have lost all their pairs, and others have not. Linked designs leave such leaves to
/// recovery, which removes them from the chain: from then on they are free.
pub fn hollow(capacity: usize) -> Script {
    let half = capacity as u64 / 2;
    let keys = |from: u64, upto: u64| (from + 1..=upto).map(|i| i * 10);
    let past = past().puts(keys(0, 7 * half)).tick().removes(keys(2 * half, 4 * half)).tick().tick();
    script("hollow", past, steps().put(15).tick().remove(20), SMALL)
}

/// Blocks that splits have released are reused, epochs later.
pub fn regrow(capacity: usize) -> Script {
    let keys = |step: u64| (1..=capacity as u64).map(move |i| i * step);
    let past = past().puts(keys(10)).put(15).tick().tick();
    let more = |from: u64| (from..).filter(|key| !key.is_multiple_of(10)).take(capacity / 2);
    let steps = steps().puts(more(16)).tick().put(9).puts(more(71)).tick().removes([16, 17]);
    script("regrow", past, steps, SMALL)
}

/// The root grows while leaves split: the leaves exceed the 64 children of a leaf parent.
pub fn grow_root(capacity: usize) -> Script {
    let half = capacity as u64 / 2;
    let grown = 63 * half;
    // From above: if a leaf keeps more than half when it splits, it is then not the one that grows.
    let step = |writer: Writer, key: u64| {
        let writer = writer.put((grown + 4 * half + 1 - key) * 10);
        if key.is_multiple_of(40) { writer.tick() } else { writer }
    };
    let before = (1..=grown).fold(past(), step);
    let after = (grown + 1..=grown + 4 * half).fold(steps(), step);
    script("grow_root", before, after, 200)
}

/// A few dozen operations on a key space twice as large as a leaf.
pub fn random(seed: u64, capacity: usize) -> Script {
    let mut random = Pcg64::seed_from_u64(seed);
    let keys: Vec<u64> = (1..=(2 * capacity as u64)).map(|i| i * 3).collect();
    let mut pick = |writer: Writer, puts: u32, removes: u32| {
        let key = *keys.choose(&mut random).unwrap_or(&3);
        match random.random_range(0..100) {
            at if at < puts => writer.put(key),
            at if at < puts + removes => writer.remove(key),
            _ => writer.tick(),
        }
    };
    let (long, puts) = (seed % 4, 40 + (seed % 7) as u32 * 8);
    let before = (0..(1 + long) * capacity as u64 / 2).fold(past(), |writer, _| pick(writer, 85, 10));
    let after = (0..14).fold(steps(), |writer, _| pick(writer, puts, 80 - puts.min(75)));
    script(&format!("random {seed}"), before, after, 48)
}

/// The steps after a recovery, so that a second crash has something to undo: one change of each kind near the present
/// keys, in epochs of their own. In every other round, enough puts into the lowest leaf that released blocks are
/// reused, while all other leaves stay as recovery left them.
pub fn aftermath(contents: &[(u64, u64)], round: u64, capacity: usize) -> Vec<Step> {
    let middle = contents.get(contents.len() / 2).map_or(50, |pair| pair.0);
    let last = contents.last().map_or(60, |pair| pair.0);
    let writer = Writer::from((round + 1) << 32);
    if round.is_multiple_of(2) {
        // Into the lowest leaf: this tests what its neighbours say about the blocks used here.
        let low = contents.iter().take(contents.len() / 3).flat_map(|pair| pair.0 + 1..pair.0 + 7);
        let many = if round.is_multiple_of(4) { capacity } else { capacity * 3 / 4 };
        return writer.puts(low.take(many)).tick().put(2).tick().steps;
    }
    let writer = writer.put(last.wrapping_add(7)).tick().put(middle).put(middle.wrapping_add(1)).tick();
    // If a split was in progress, the middle key is the right leaf's lowest: once removed, it must not come back.
    writer.remove(last).remove(middle).put(1).tick().put(2).steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn payloads_are_unique_and_scripts_repeat() {
        for seed in 0..20 {
            let script = random(seed, 28);
            assert_eq!(script.steps, random(seed, 28).steps);
            let puts = script.past.iter().chain(&script.steps).filter_map(|step| match step {
                Step::Put(_, payload) => Some(*payload),
                _ => None,
            });
            let puts: Vec<_> = puts.collect();
            assert_eq!(puts.iter().collect::<BTreeSet<_>>().len(), puts.len());
        }
    }
}
