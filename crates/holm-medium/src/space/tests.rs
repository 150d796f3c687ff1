//! Tests of the whole free space: areas that change, idle threads, floors that retain, and the first large page.

use super::first_page::{FIRST, LARGE};
use super::released::REGION_BYTES;
use super::*;
use crate::mapped::{Mapped, MappedOptions};
use std::sync::mpsc::channel;

fn medium(bytes: usize) -> Mapped {
    Mapped::anonymous(MappedOptions { reserve: [bytes, bytes], ..Default::default() }).expect("address space")
}

struct Chance(u64);

impl Chance {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Live records by number, checked to lie apart.
struct Live(Vec<(u64, u32)>);

impl Live {
    fn replace(&mut self, number: usize, with: (u64, u32)) -> (u64, u32) {
        std::mem::replace(&mut self.0[number], with)
    }

    fn assert_apart(&self) {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|two| two[0].0 + u64::from(two[0].1) * 8 <= two[1].0), "two records overlap");
    }
}

#[test]
fn a_large_area_leaves_its_first_large_page_alone_while_it_can_grow() {
    let medium = medium(2 * LARGE as usize);
    let space = Space::new();
    let blocks: Vec<_> = (0..LARGE / BLOCK).map(|_| space.take_block_at(&medium, 9).expect("room")).collect();
    blocks.iter().for_each(|block| space.return_block(*block));
    let free = space.free_blocks();
    let again: Vec<_> = std::iter::from_fn(|| space.take_block_at(&medium, 9).ok()).collect();
    let first_cold = again.iter().position(|block| u64::from(*block) * BLOCK < FIRST).expect("the last resort");
    assert_eq!(again.len() as u64, 2 * LARGE / BLOCK - 1, "every block but the storage's own is given out once");
    assert_eq!((again.len() - first_cold) as u64, FIRST / BLOCK - 1, "the first page last");
    assert_eq!((free, space.free_blocks()), (blocks.len() as u64, 0));

    let records: Vec<_> = (0..LARGE / 4096).map(|_| space.take_record(&medium, 9, 512).expect("room")).collect();
    assert!(records.iter().any(|offset| *offset < FIRST), "while it is small all of it is used");
    records.iter().for_each(|offset| space.free_record(*offset, 512));
    let again: Vec<_> = std::iter::from_fn(|| space.take_record(&medium, 9, 512).ok()).collect();
    let first_cold = again.iter().position(|offset| *offset < FIRST).expect("the last resort");
    assert!(again[first_cold..].iter().all(|offset| *offset < FIRST) && again.len() - first_cold > 400);
    let mut sorted = again.clone();
    sorted.sort_unstable();
    assert!(sorted.windows(2).all(|pair| pair[0] + 4096 <= pair[1]), "nothing is given out twice");
}

#[test]
fn runs_are_cut_off_one_piece_and_what_is_left_of_them_is_free_again() {
    let medium = medium(LARGE as usize);
    let space = Space::new();
    let mut piece = RecordRun::default();
    let mut run = space.cut_run(&medium, &mut piece, 48).expect("room");
    let next = space.cut_run(&medium, &mut piece, 1000).expect("room");
    let first = space.take_record_of(&mut run, 4).expect("as long as the run");
    assert_eq!(space.take_record_of(&mut run, 3), None, "two words are left");
    assert_eq!(space.take_record_of(&mut run, 2), Some(first + 32));
    assert_eq!(space.take_record_of(&mut run, 1), None);
    assert_eq!(space.record_bytes(), 48);
    // A run that is longer than a piece takes one of its own.
    let mut long = space.cut_run(&medium, &mut piece, 1 << 20).expect("room");
    assert!(space.take_record_of(&mut long, 1 << 17).is_some());
    [run, next, long, piece].into_iter().for_each(|run| space.end_run(run));
    assert_eq!(space.record_use().free, space.record_frontier() - BEGIN - 48 - (1 << 20));
}

/// Freed records were kept by exact size: with drifting sizes, the area grew to the sum of all passes.
#[test]
fn an_area_whose_records_change_their_sizes_stays_near_what_is_live() {
    let medium = medium(1 << 30);
    let choose: [fn(u64, &mut Chance) -> u32; 4] = [
        |pass, _| 10 + 3 * pass as u32,
        |pass, _| 60 - 3 * pass as u32,
        |_, chance| 2 + chance.below(90) as u32,
        |_, chance| if chance.below(50) == 0 { 600 + chance.below(4000) as u32 } else { 16 },
    ];
    for (which, words) in choose.into_iter().enumerate() {
        let (space, mut chance, count, mut most) = (Space::new(), Chance(which as u64), 5000, 0);
        let take = |label, words| (space.take_record(&medium, label, words).expect("room"), words);
        let mut live = Live((0..count).map(|_| take(10, words(0, &mut chance))).collect());
        for step in 0..12 * count as u64 {
            let label = 11 + step / 500;
            let new = take(label, words(step / count as u64, &mut chance));
            let old = live.replace(chance.below(count as u64) as usize, new);
            space.retire_record(label, old.0, old.1);
            most = most.max(space.record_bytes());
        }
        live.assert_apart();
        let (area, bytes) = (space.record_frontier(), space.record_bytes());
        assert_eq!(bytes, live.0.iter().map(|record| u64::from(record.1) * 8).sum());
        assert!(area * 10 < most * 16, "sizes {which}: {most} bytes live at most in {area}");
    }
}

#[test]
fn an_area_without_retired_records_ends_with_its_last_record() {
    let (medium, space) = (medium(64 << 20), Space::new());
    let records: Vec<_> = (0..10_000).map(|_| space.take_record(&medium, 10, 20).expect("room")).collect();
    records.iter().skip(10).for_each(|offset| space.retire_record(11, *offset, 20));
    let last = records[..10].iter().max().expect("ten") + 160;
    assert!(space.record_frontier() > last);
    space.free_all_retired();
    assert_eq!(space.record_frontier(), last);
}

/// Space that a thread has freed and no longer uses would be lost to the others for as long as the thread lives.
#[test]
fn what_an_idle_thread_keeps_is_used_before_the_area_grows() {
    let (medium, space) = (medium(64 << 20), Space::new());
    let fill = || (0..10_000).for_each(|_| assert!(space.take_record(&medium, 100, 20).is_ok()));
    std::thread::scope(|scope| {
        // The next thread would get the cache of one that has ended.
        let (freed, idles) = channel();
        let (end, ends) = channel::<()>();
        let (medium, space) = (&medium, &space);
        scope.spawn(move || {
            let records: Vec<_> = (0..10_000).map(|_| space.take_record(medium, 10, 20).expect("room")).collect();
            records.iter().for_each(|offset| space.retire_record(11, *offset, 20));
            freed.send(()).expect("somebody waits");
            ends.recv().expect_err("nothing is sent");
        });
        idles.recv().expect("it frees its records");
        let before = space.record_frontier();
        fill();
        assert!(space.record_frontier() <= before + (256 << 10), "{before}, {}", space.record_frontier());
        drop(end);
    });
}

#[test]
fn what_a_floor_retains_is_not_used_until_it_goes() {
    let (medium, space) = (medium(64 << 20), Space::new());
    let take = |label| (0..100).map(|_| space.take_block_at(&medium, label).expect("room")).collect::<Vec<_>>();
    let blocks = take(10);
    let floor = space.retention().retain(12);
    blocks.iter().for_each(|block| space.retire_block(12, *block));
    assert!(take(40).iter().all(|block| !blocks.contains(block)));
    drop(floor);
    assert!(take(40).iter().all(|block| blocks.contains(block)), "every one is used again");
}

#[test]
#[should_panic(expected = "block 0 is freed outside of 1..2")]
fn the_header_is_never_freed() {
    let (medium, space) = (medium(1 << 20), Space::new());
    space.take_block_at(&medium, 9).expect("room");
    space.retire_block(9, 0);
}

#[test]
#[should_panic(expected = "block 7 is free outside of 1..7")]
fn a_block_beyond_the_frontier_is_not_free() {
    Space::new().rebuilt(7, vec![3, 7], 64, vec![], 0);
}

#[test]
#[should_panic(expected = "128 bytes at 448 are free beyond the frontier of records, 512")]
fn a_record_beyond_the_frontier_is_not_free() {
    Space::new().rebuilt(7, vec![], 512, vec![(448, 128)], 0);
}

#[test]
#[should_panic(expected = "4 blocks are withheld before what was withheld earlier is released")]
fn space_is_not_withheld_twice() {
    let space = Space::new();
    space.withhold(3, 512);
    space.withhold(4, 512);
}

/// A commit that is completed at an open replaces records of the process that died. What it has moved is unknown by
/// then, so such a record can look as if it was stored and replaced in this very epoch.
#[test]
fn what_is_freed_while_space_is_withheld_is_not_taken() {
    let (medium, space) = (medium(1 << 20), Space::new());
    space.withhold(1, 4096);
    space.rebuilt(1, vec![], 4096, vec![], 4032);
    space.free_record(640, 4);
    space.free_record(1280, 4);
    let taken: Vec<_> = (0..100).map(|_| space.take_record(&medium, 9, 4).expect("room")).collect();
    assert!(taken.iter().all(|offset| *offset >= 4096), "{taken:?}");
    space.release();
    let taken: Vec<_> = (0..4096).map(|_| space.take_record(&medium, 9, 4).expect("room")).collect();
    assert!([640, 1280].iter().all(|offset| taken.contains(offset)), "free since, and never taken");
}

/// Until what a recovery found is durable, nothing comes out of the large pages that it found free. They stay free:
/// they are there once the rest is released, and closing accounts for them.
#[test]
fn large_pages_that_are_withheld_stay_free() {
    let (medium, space) = (medium(64 << 20), Space::new());
    let end = 4 * REGION_BYTES;
    space.withhold(1, end);
    space.rebuilt(1, vec![], end, vec![(REGION_BYTES, 2 * REGION_BYTES)], end - 64 - 2 * REGION_BYTES);
    assert_eq!(space.released_pages(), [1, 2]);
    let offset = space.take_record(&medium, 9, 500).expect("room");
    assert!(offset >= end, "{offset}");
    space.free_record(offset, 500);
    space.release();
    assert_eq!(space.released_pages(), [1, 2]);
    space.free_all_retired();
    assert!(space.record_space().is_some(), "live and free bytes are all of it");
}

/// Large pages behind the last record, of a file with holes: nothing is found there, and the frontier allocates each of
/// them when it comes there. Those that it has passed while space was withheld are large pages that were given back.
#[test]
fn large_pages_behind_the_last_record_are_given_back_until_the_frontier_is_there() {
    const PAGE: u64 = REGION_BYTES;
    let medium = medium(64 << 20);
    let words = (PAGE / 8) as u32;
    let space = Space::new();
    space.withhold(1, 5 * PAGE + 640);
    space.rebuilt(1, vec![], PAGE + 64, vec![], PAGE);
    space.release_end(8 * PAGE);
    assert_eq!((space.released_pages(), space.record_use().released), (vec![2, 3, 4, 5, 6, 7], 3 * PAGE));
    let record = space.take_record(&medium, 9, words).expect("room");
    assert_eq!((record, space.released_pages()), (5 * PAGE + 640, vec![2, 3, 4, 7]));
    space.release();
    let used = space.record_use();
    assert_eq!((used.used, used.released, used.free), (6 * PAGE + 640, 3 * PAGE, PAGE - 64 + 640));
    // The pages join what is free beside them. Then the area grows.
    let taken: Vec<_> = (0..5).map(|_| space.take_record(&medium, 9, words).expect("room")).collect();
    assert_eq!(taken, [PAGE + 64, 2 * PAGE + 64, 3 * PAGE + 64, 4 * PAGE + 64, 6 * PAGE + 640]);
    assert!(space.released_pages().is_empty());
    taken.into_iter().chain([record]).for_each(|offset| space.free_record(offset, words));
    space.release_end(12 * PAGE);
    space.free_all_retired();
    assert_eq!(space.record_frontier(), PAGE + 64, "behind it nothing is free");
    assert!(space.record_space().is_some(), "live and free bytes are all of it");
}

/// The leaves of a large area that is to become small find room in its first large page, also after others have taken
/// blocks. Regression: the first split beside a compaction passed over all of them, and no leaf could move.
#[test]
fn a_compaction_finds_the_blocks_of_the_first_large_page() {
    let medium = medium(LARGE as usize);
    let space = Space::new();
    let blocks: Vec<_> = (1..LARGE / BLOCK).map(|_| space.take_block_at(&medium, 9).expect("room")).collect();
    blocks.iter().rev().skip(100).for_each(|block| space.return_block(*block));
    let limit = space.leaf_compaction_limit(9).expect("almost all of it is free");
    assert!(u64::from(limit) * BLOCK < FIRST, "{limit}");
    let taken = space.take_block_at(&medium, 10).expect("room");
    assert!(taken < limit, "{taken} of {limit}");
    assert!(lock(&space.blocks).take_below(10, limit).is_some());
}

/// What leaves have left at the end of the area is used last, so that the area ends before it. Regression: what had
/// become free last was used first, and after one split the file had its former length.
#[test]
fn blocks_behind_a_compaction_are_used_last() {
    let medium = medium(LARGE as usize);
    let space = Space::new();
    let blocks: Vec<_> = (0..1000).map(|_| space.take_block_at(&medium, 9).expect("room")).collect();
    let (before, last) = blocks.split_at(900);
    before.iter().for_each(|block| space.return_block(*block));
    let limit = space.leaf_compaction_limit(9).expect("almost all of it is free");
    let moved: Vec<_> = last.iter().map_while(|_| lock(&space.blocks).take_below(10, limit)).collect();
    assert!(moved.len() == last.len() && moved.iter().all(|block| *block < limit), "{moved:?}");
    last.iter().for_each(|block| space.retire_block(10, *block));
    let left = limit as usize - 1 - moved.len();
    let taken: Vec<_> = (0..2 * left).map(|_| space.take_block_at(&medium, 12).expect("room")).collect();
    assert!(taken[..left].iter().all(|block| *block < limit), "{taken:?} of {limit}");
    assert!(taken[left..].iter().all(|block| (limit..900).contains(block)), "{taken:?} of {limit}");
    assert_eq!(space.free_blocks() as usize, 1000 - moved.len() - taken.len());
    space.free_all_retired();
    assert_eq!(space.block_frontier() as usize, 1 + moved.len() + taken.len());
}

/// A large page that was given back is neither room nor a page whose records have to move: behind one, two pages that
/// are almost free are worth a compaction.
#[test]
fn what_was_given_back_takes_no_part_in_a_compaction() {
    const PAGE: u64 = REGION_BYTES;
    const PART: u64 = 200 << 10;
    let space = Space::new();
    // Two pages have room for what is in use before and behind the page that is free as a whole.
    let free = vec![(PAGE, PAGE / 2), (2 * PAGE, PAGE / 2), (3 * PAGE + PART, 3 * PAGE - 2 * PART)];
    space.rebuilt(1, Vec::new(), 6 * PAGE, free, 2 * PAGE);
    assert_eq!(space.released_pages(), [4]);
    assert_eq!(space.compaction_limit(), Some(3 * PAGE));
    assert_eq!(space.record_use().free, 3 * PAGE - 2 * PART);
}
