//! Wrong ends of epochs, each of which is caught: the tests below the clock have no hole either.
//!
//! That each flush and fence of the correct end is needed is tested in `mutants`.

use holm_medium::{Clock, Epoch, FIRST_EPOCH, Guard, Result, Storage, StorageOps, Writer};
use holm_proof::script::{change, merge, refresh, split};
use holm_proof::subjects::faulty::bd_tree_forgetful;
use holm_proof::subjects::{bd_tree, bd_tree_literal, buffered};
use holm_proof::{
    Contents, EndEpoch, Mark, Order, Persistency, Plan, Recorded, Script, Site, Snapshot, Step, Tree, TreeFixture,
};
use holm_proof::{Violation, advance, explore, lagging, trace};
use holm_tree::{SeekTarget, TreeRoot};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

/// Publishes the epoch before the clock's word is durable.
fn publish_first(writer: &Writer<Recorded>) -> Result<()> {
    let storage = writer.storage();
    let ended = storage.clock.advance();
    storage.clock.drain(ended, |first, count| {
        (first..first + count).for_each(|line| holm_medium::Medium::flush(&storage.medium, line))
    });
    let mut handle = writer.begin_write_at(ended);
    handle.fence();
    storage.clock.publish(ended);
    storage.medium.mark(Mark::Published(ended));
    handle.write(&storage.header()?.durable, ended);
    handle.persist(&storage.header()?.durable);
    Ok(())
}

/// Makes the clock's word durable before the lines are.
fn word_first(writer: &Writer<Recorded>) -> Result<()> {
    let storage = writer.storage();
    let ended = storage.clock.advance();
    let mut handle = writer.begin_write_at(ended);
    handle.write(&storage.header()?.durable, ended);
    handle.persist(&storage.header()?.durable);
    storage.clock.drain(ended, |first, count| {
        (first..first + count).for_each(|line| holm_medium::Medium::flush(&storage.medium, line))
    });
    handle.fence();
    storage.clock.publish(ended);
    storage.medium.mark(Mark::Published(ended));
    Ok(())
}

/// Drains the lines of the epoch and does not write them back.
fn forgetful(writer: &Writer<Recorded>) -> Result<()> {
    let storage = writer.storage();
    let ended = storage.clock.advance();
    storage.clock.drain(ended, |_, _| {});
    writer.publish_epoch(ended)?;
    storage.medium.mark(Mark::Published(ended));
    Ok(())
}

fn caught(end_epoch: EndEpoch) -> Violation {
    let plan = Plan { end_epoch, ..Plan::suite(Persistency::Line) };
    match explore(&buffered, &change(), &plan) {
        Err(violation) => *violation,
        Ok(report) => panic!("it survives: {report}"),
    }
}

#[test]
fn an_epoch_published_before_it_is_durable_is_caught() {
    assert!(caught(publish_first).wrong.contains("has been declared durable"));
}

#[test]
fn a_clock_that_is_durable_before_its_epoch_is_caught() {
    assert_eq!(caught(word_first).wrong, "the contents");
}

#[test]
fn an_epoch_whose_lines_are_forgotten_is_caught() {
    assert_eq!(caught(forgetful).wrong, "the contents");
}

/// Recovery without its scrub: the stores that overwrite states of lost epochs are not durable. So a second crash,
/// after epochs with the same numbers, brings those states back.
#[test]
fn a_recovery_that_does_not_scrub_is_caught_by_the_second_crash() {
    for subject in [&buffered, &bd_tree_literal] {
        let plan = Plan::twice(Persistency::Line);
        let report = explore(subject, &split(28), &plan).expect("a sound design");
        let running = trace(subject, &split(28), &plan).expect("a sound design");
        let running = holm_proof::sites(&running);
        let scrubs: Vec<Site> = report.sites.into_iter().filter(|site| !running.contains(site)).collect();
        let scrubs: Vec<_> = scrubs.into_iter().filter(|site| site.place.file().contains("leaf/buffered")).collect();
        let stores: Vec<_> = scrubs.iter().filter(|site| site.order == Order::Store).collect();
        assert!(!stores.is_empty(), "recovery writes");
        let first = Plan { without: scrubs.iter().copied().collect(), ..Plan::suite(Persistency::Line) };
        assert!(explore(subject, &split(28), &first).is_ok(), "a single crash cannot show it");
        let second = Plan { without: scrubs.into_iter().collect(), ..plan };
        let violation = explore(subject, &split(28), &second).expect_err("what is lost stays lost");
        assert!(violation.script.ends_with("recovered"), "{violation}");
    }
}

/// A process died within a merge, when the left leaf was empty and the right one was not yet. Recovery emptied the
/// right one under its own tag, which was long durable. Then power failed, the recovery point undid the merge, and the
/// right leaf was lost. The search continues from all images of the process's death, because only one contains the
/// case.
#[test]
fn a_merge_that_recovery_finished_is_undone_completely() {
    let plan = Plan { nested: 1_000, ..Plan::mixed(Persistency::Visible, Persistency::Line) };
    let report = explore(&buffered, &merge(28), &plan).unwrap_or_else(|violation| panic!("{violation}"));
    assert!((10..1_000).contains(&report.rounds), "{report}");
}

/// What was retired in an epoch is free as soon as the next one begins, an epoch too early.
pub(crate) fn hasty(writer: &Writer<Recorded>) -> Result<()> {
    lagging(writer)?;
    let storage = writer.storage();
    let block = storage.space.take_block_at(&storage.medium, storage.clock.active() + 1)?;
    storage.space.return_block(block);
    Ok(())
}

/// One leaf is replaced in one epoch, and another one in the next, while a crash still needs the first one.
#[test]
fn a_block_that_is_used_again_an_epoch_early_is_caught() {
    let put = |key: u64| Step::Put(key, 1_000 + key);
    let past = (1..=28).map(|key| put(key * 10)).collect();
    let steps = [put(55), Step::Tick].into_iter().chain((11..=19).chain(21..=25).map(put)).collect();
    let script = Script { name: "early reuse".into(), past, steps, blocks: 24 };
    let plan = Plan { end_epoch: lagging, ..Plan::suite(Persistency::Line) };
    explore(&buffered, &script, &plan).unwrap_or_else(|violation| panic!("{violation}"));
    let violation = explore(&buffered, &script, &Plan { end_epoch: hasty, ..plan }).expect_err("too early");
    println!("{violation}");
    let known = Plan { end_epoch: hasty, ..Plan::suite(Persistency::Visible) };
    assert!(explore(&buffered, &script, &known).is_ok(), "the process alone loses no version");
}

/// An emptied leaf is released without a store, and a neighbour takes its range over. In the next epoch a split takes
/// its block, while a crash may still need its last pair there.
#[test]
fn an_emptied_leaf_whose_block_is_used_again_an_epoch_early_is_caught() {
    let put = |key: u64| Step::Put(key * 10, 1_000 + key);
    let gone = (29..56).chain(57..66).map(|key| Step::Remove(key * 10));
    let past = (1..=84).map(put).chain(gone).chain([Step::Tick, Step::Tick]).collect();
    let steps = vec![Step::Remove(560), Step::Tick, Step::Put(155, 1), Step::Put(555, 2)];
    let script = Script { name: "early reuse of an emptied leaf".into(), past, steps, blocks: 24 };
    let plan = Plan { end_epoch: lagging, ..Plan::suite(Persistency::Line) };
    explore(&buffered, &script, &plan).unwrap_or_else(|violation| panic!("{violation}"));
    let violation = explore(&buffered, &script, &Plan { end_epoch: hasty, ..plan }).expect_err("too early");
    println!("{violation}");
    assert!(violation.wrong.contains("key 560"), "{violation}");
}

/// Only if each end takes as long as the next epoch: otherwise no crash chooses a state that is two epochs old.
#[test]
fn a_slot_that_is_used_again_an_epoch_early_is_caught() {
    let late = |persistency| Plan { end_epoch: lagging, ..Plan::suite(persistency) };
    for persistency in [Persistency::Line, Persistency::Word] {
        explore(&bd_tree, &refresh(), &late(persistency)).unwrap_or_else(|violation| panic!("{violation}"));
        let violation = explore(&bd_tree_forgetful, &refresh(), &late(persistency)).expect_err("too early");
        println!("{violation}");
        assert!(explore(&bd_tree_forgetful, &refresh(), &Plan::suite(persistency)).is_ok(), "no crash shows it");
    }
}

/// The paper's fields need two stores for a rollover, and the order in which these reach their line.
#[test]
fn a_rollover_in_two_stores_needs_the_order_of_a_line() {
    let plan = Plan { end_epoch: lagging, ..Plan::suite(Persistency::Word) };
    let violation = explore(&bd_tree_literal, &change(), &plan).expect_err("the later store alone");
    println!("{violation}");
    // The errata print both words.
    let present = "0x200 was 0x4000001f, stored 0x5000003f, left 0x5000003f";
    let past = "0x208 was 0x4, stored 0x1f000000005, left 0x4";
    assert_eq!(violation.words, format!("{present}; {past}"));
    explore(&bd_tree, &change(), &plan).unwrap_or_else(|violation| panic!("{violation}"));
}

/// A tree with a clock, on which two threads interfere.
struct Scene {
    writer: Arc<Writer<Recorded>>,
    tree: Arc<dyn Tree>,
    root: TreeRoot,
}

/// Whether a late writer checks that its label is still the clock's.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    Yes,
    No,
}

impl Scene {
    /// With some keys, all of them durable.
    fn new(keys: impl Iterator<Item = u64>) -> Self {
        let writer = Arc::new(Storage::open(Recorded::new([24 * buffered.block, 64]), FIRST_EPOCH).expect("memory"));
        let tree = buffered.tree(writer.clone());
        let root = tree.create_tree(&mut writer.clock().pin().expect("sound"), 1).expect("memory");
        let scene = Scene { writer, tree, root };
        for key in keys {
            scene.put(key);
        }
        advance(&scene.writer).expect("sound");
        scene
    }

    /// Puts the next payload under a key, on a thread that pins an epoch for it; returns the label.
    fn put(&self, key: u64) -> Epoch {
        let mut guard = self.writer.clock().pin().expect("sound");
        self.put_in(&mut guard, key)
    }

    fn put_in(&self, guard: &mut Guard<'_>, key: u64) -> Epoch {
        self.tree.put(&self.root, guard, key, key + 1).expect("memory");
        guard.epoch()
    }

    /// Pins an epoch, and puts a key after the clock has advanced and others have worked in the next epoch. A writer
    /// that does not check gives the tree the label of its own clock, which does not advance. Returns the writer's
    /// label.
    fn late(&self, asks: Asks, key: u64, others: impl FnOnce() + Send) -> Epoch {
        let clock = self.writer.clock();
        thread::scope(|scope| {
            let mut guard = clock.pin().expect("sound");
            let own = Clock::new(guard.epoch(), [0, 0]);
            let ticker = scope.spawn(|| clock.advance());
            while clock.active() == guard.epoch() {
                thread::yield_now();
            }
            scope.spawn(others).join().expect("no panic");
            let label = match asks {
                Asks::Yes => self.put_in(&mut guard, key),
                Asks::No => self.put_in(&mut own.pin().expect("it stands still"), key),
            };
            drop(guard);
            self.writer.persist_epoch(ticker.join().expect("no panic")).expect("sound");
            label
        })
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.tree.get(&self.root, key).payload
    }

    /// The contents that recovery finds if power fails now and keeps every store.
    fn crashed(&self) -> Contents {
        let (left, nothing) = (Snapshot::of(self.writer.image()), BTreeSet::new());
        let fixture = TreeFixture::revive(&buffered, &left, Persistency::Line, advance, &nothing).expect("recovers");
        fixture.contents().expect("a sound tree").0
    }

    fn leaves(&self) -> Vec<u32> {
        let (mut leaves, mut edge) = (vec![], Some(0));
        while let Some(low) = edge {
            let cursor = self.tree.cursor_at(&self.root, SeekTarget::Holding(low));
            leaves.push(cursor.leaf_version.leaf());
            edge = cursor.edge;
        }
        leaves
    }
}

/// Labels no longer rise along the order of effects: what readers saw first is lost, and what came after it is kept.
#[test]
fn a_writer_that_does_not_validate_is_caught_by_a_crash() {
    let found = |asks| {
        let scene = Scene::new((1..=29).rev().map(|key| key * 10));
        let (early, late) = (5, 285);
        let label = scene.late(asks, early, || {
            scene.put(late);
            assert_eq!((scene.get(late), scene.get(early)), (Some(late + 1), None), "their order, for all to see");
        });
        assert_eq!(scene.leaves().len(), 2, "no leaf has both");
        let has = |contents: &Contents, key: u64| contents.iter().any(|pair| pair.0 == key);
        let contents = scene.crashed();
        (label, has(&contents, early), has(&contents, late))
    };
    assert_eq!(found(Asks::Yes), (FIRST_EPOCH + 2, false, false), "both are of the epoch that is lost");
    assert_eq!(found(Asks::No), (FIRST_EPOCH + 1, true, false), "no prefix of what happened");
}

/// In one leaf, the newer state hides what the older label adds: it is lost at once.
#[test]
fn a_writer_that_does_not_validate_is_caught_by_the_next_reader() {
    let seen = |asks| {
        let scene = Scene::new([10, 20].into_iter());
        scene.late(asks, 15, || {
            scene.put(25);
        });
        scene.get(15)
    };
    assert_eq!((seen(Asks::Yes), seen(Asks::No)), (Some(16), None));
}

/// Blocks that are taken before the label is validated are old enough for it. After the validation, another thread of
/// the next epoch may have released a block that is not. By then that block's end is durable, so no crash needs it. The
/// rule is broken, but the next rule in the row still holds: the clock advances only when the epoch before is durable.
#[test]
fn a_block_taken_after_validation_is_too_young_for_its_label() {
    let taken = |asks| {
        let scene = Scene::new((1..=28).map(|key| key * 10));
        let [given_up] = scene.leaves()[..] else { panic!("one leaf") };
        let retired = scene.put(55);
        for key in (11..=19).chain(21..=24) {
            scene.put(key);
        }
        advance(&scene.writer).expect("sound");
        let label = scene.late(asks, 25, || {
            let guard = scene.writer.clock().pin().expect("sound");
            let storage = scene.writer.storage();
            let block = storage.space.take_block(&storage.medium, &guard).expect("memory");
            storage.space.return_block(block);
        });
        assert!(scene.leaves().contains(&given_up), "it splits a leaf, and uses the block again");
        let whole = scene.crashed().len();
        (label - retired, whole)
    };
    assert_eq!(taken(Asks::Yes), (2, 42), "the put itself is of an epoch that is lost");
    assert_eq!(taken(Asks::No), (1, 43));
}
