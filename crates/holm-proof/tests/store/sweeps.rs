//! Power fails while expired records are swept, ranges are removed and keys are put, on threads beside each other.
//! What is left is a prefix of what was done, long enough. Nothing comes back that a sweep had removed for good, and no
//! space is lost or given out twice. The disk is simulated, so the threads go on, and one history is cut many times.

use crate::history::Mode;
use holm::{Builder, Database, Durability, Keyspace, KeyspaceOptions, Sweep};
use holm_proof::disk::SimDisk;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Histories in each mode; `HOLM_HISTORIES` overrides it.
const HISTORIES: u64 = 2;

/// Cuts of one history.
const CUTS: usize = 10;

/// The steps from one cut to the next.
const BETWEEN: usize = 60;

/// The numbers of keys, all of which are there at first: enough for many leaves.
const KEYS: u32 = 600;

/// The steps before the first cut.
const FIRST: usize = KEYS as usize;

/// How far the clock is set back before some openings, in milliseconds.
const BACK: u64 = 150;

/// A deadline that does not come.
const NEVER: u64 = 1 << 40;

/// What a step does; times are in milliseconds.
#[derive(Clone, Debug)]
enum Step {
    /// Puts a value, which is the step's number, until a time.
    Put(u32, u64),
    Remove(u32),
}

/// Each key with the number of the step that put it, and its deadline.
type Map = BTreeMap<u32, (usize, u64)>;

fn key(number: u32) -> Vec<u8> {
    format!("a front that many keys share/{number:05}").into_bytes()
}

fn number(key: &[u8]) -> u32 {
    std::str::from_utf8(&key[key.len() - 5..]).ok().and_then(|digits| digits.parse().ok()).expect("a key of these")
}

fn time(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

/// What the threads share.
struct Tide {
    mode: Mode,
    hands: Arc<AtomicU64>,
    /// The number of steps that have begun, and that have returned.
    begun: AtomicUsize,
    returned: AtomicUsize,
    cuts: AtomicUsize,
    /// Whether the thread that sweeps waits.
    rests: AtomicBool,
    done: AtomicBool,
}

/// A disk after a cut, and what is known of it.
struct Cut {
    disk: SimDisk,
    now: u64,
    /// The least and the greatest number of steps.
    steps: [usize; 2],
    /// A time by which a sweep has removed all that had expired, durably, and the number of steps before that sweep.
    swept: (u64, usize),
}

impl Tide {
    fn open(&self, disk: &SimDisk, hands: Arc<AtomicU64>) -> (Database, Keyspace) {
        let builder: Builder = self.mode.builder(disk).sweep(Sweep::Manual);
        let builder = builder.time_source(Arc::new(move || time(hands.load(SeqCst))));
        let db = builder.open("/d").expect("a sound disk");
        let space = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).expect("a name");
        (db, space)
    }

    /// Puts and removes, and moves the time. A removal of a range counts as one of each key.
    fn write(&self, space: &Keyspace, random: &mut Pcg64Mcg) -> Vec<Step> {
        let mut steps = Vec::new();
        let put = |steps: &mut Vec<Step>, number: u32, deadline: u64, len: usize| {
            let value = steps.len().to_le_bytes().repeat(len);
            steps.push(Step::Put(number, deadline));
            self.begun.store(steps.len(), SeqCst);
            space.insert_until(key(number), value, time(deadline)).expect("room");
        };
        (0..KEYS).for_each(|number| put(&mut steps, number, NEVER, 1));
        while steps.len() < FIRST + (CUTS + 1) * BETWEEN {
            // The threads run during each cut, and not far ahead of it.
            while steps.len() > FIRST + (self.cuts.load(SeqCst) + 2) * BETWEEN {
                thread::yield_now();
            }
            let number = random.random_range(0..KEYS);
            match random.random_range(0..32) {
                0 => {
                    let high = number + random.random_range(1..KEYS / 2);
                    steps.extend((number..high).map(Step::Remove));
                    self.begun.store(steps.len(), SeqCst);
                    space.remove_range(key(number)..key(high)).expect("sound");
                }
                1..4 => {
                    steps.push(Step::Remove(number));
                    self.begun.store(steps.len(), SeqCst);
                    space.remove(key(number)).expect("sound");
                }
                4..8 => drop(self.hands.fetch_add(random.random_range(0..20), SeqCst)),
                _ => {
                    let deadline = if random.random_ratio(1, 4) { NEVER } else { self.hands.load(SeqCst) + 40 };
                    put(&mut steps, number, deadline, random.random_range(1..12));
                }
            }
            self.returned.store(steps.len(), SeqCst);
        }
        steps
    }

    /// Cuts the disk again and again. Sometimes all that has been done so far is durable, sweeps among it.
    fn cut(&self, disk: &SimDisk, db: &Database, random: &mut Pcg64Mcg) -> Vec<Cut> {
        let (mut floor, mut swept, mut cuts) = (0, (0, 0), Vec::new());
        for number in 0..CUTS {
            // Between two cuts lies half of the steps, however slow this thread is: the writer goes no further than
            // the end of the next ones. Before each third cut nothing is swept from the cut before on, so something
            // has expired that is still there.
            let is_third = number % 3 == 2;
            self.rests.store(number % 3 > 0, SeqCst);
            let until = FIRST + (number + 1) * BETWEEN + random.random_range(BETWEEN / 2..BETWEEN);
            while self.returned.load(SeqCst) < until {
                thread::yield_now();
            }
            let (now, returned) = (self.hands.load(SeqCst), self.returned.load(SeqCst));
            let sweeps = !is_third && random.random_ratio(1, 3);
            if sweeps {
                db.sweep().expect("sound");
                swept = (now, returned);
            }
            // Alone, it may fall into the other thread's sweep.
            if sweeps || is_third || random.random_bool(0.5) {
                db.sync().expect("sound");
                floor = returned;
            } else if self.mode.durability == Durability::Strict {
                floor = returned;
            }
            if random.random_ratio(1, 4) {
                disk.write_back(random.random(), 4);
            }
            let left =
                if random.random_ratio(1, 3) { disk.crash_to_durable() } else { disk.crash_seeded(random.random()) };
            let (now, steps) = (self.hands.load(SeqCst), [floor, self.begun.load(SeqCst)]);
            cuts.push(Cut { disk: left, now, steps, swept });
            self.cuts.fetch_add(1, SeqCst);
        }
        cuts
    }

    /// Runs the threads.
    fn live(&self, seed: u64) -> (Vec<Step>, Vec<Cut>) {
        let disk = SimDisk::new();
        let (db, space) = self.open(&disk, self.hands.clone());
        db.sync().expect("sound");
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut own = Pcg64Mcg::seed_from_u64(seed << 32);
        thread::scope(|scope| {
            let writer = scope.spawn(|| self.write(&space, &mut own));
            scope.spawn(|| {
                let mut next = 0;
                while !self.done.load(SeqCst) {
                    if self.returned.load(SeqCst) >= next && !self.rests.load(SeqCst) {
                        db.sweep().expect("sound");
                        next = self.returned.load(SeqCst) + BETWEEN / 2;
                    }
                    thread::yield_now();
                }
            });
            let cuts = self.cut(&disk, &db, &mut random);
            let steps = writer.join().expect("no panic");
            self.done.store(true, SeqCst);
            (steps, cuts)
        })
    }
}

/// The amount of what was found: pairs, and expired records that were still there.
#[derive(Default, Debug)]
struct Tally {
    pairs: usize,
    expired: usize,
    /// Cuts after which a sweep had to go on.
    within: usize,
    lost: usize,
}

/// What is found after a cut.
struct Found {
    alive: Map,
    expired: BTreeSet<u32>,
}

impl Found {
    fn of(space: &Keyspace, now: u64) -> Found {
        let step = |value: &[u8]| usize::from_le_bytes(value[..8].try_into().expect("eight bytes"));
        let pairs = space.iter().map(|pair| pair.expect("readable"));
        let alive = pairs.map(|(key, value)| (number(&key), (step(&value), 0))).collect();
        let expired = space.expired(time(now), usize::MAX).expect("readable").iter().map(|key| number(key)).collect();
        Found { alive, expired }
    }

    /// Whether this is what is left of a state at a time, of which sweeps may have removed what has expired.
    fn fits(&self, map: &Map, cut: &Cut) -> bool {
        let is_alive = |(_, deadline): &(usize, u64)| *deadline > cut.now;
        let (swept_by, before) = cut.swept;
        let may_be_left =
            |key: &u32| map.get(key).is_some_and(|value| !is_alive(value) && (value.0 >= before || value.1 > swept_by));
        self.is_at(map, cut.now) && self.expired.iter().all(may_be_left)
    }

    /// Whether this is what readers see of a state at a time.
    fn is_at(&self, map: &Map, now: u64) -> bool {
        let alive = map.iter().filter(|(_, (_, deadline))| *deadline > now);
        alive.map(|(key, (step, _))| (key, step)).eq(self.alive.iter().map(|(key, (step, _))| (key, step)))
    }

    /// The same for some time since the clock was set back.
    fn is_since(&self, map: &Map, cut: &Cut) -> bool {
        let back = cut.now.saturating_sub(BACK);
        let deadlines: BTreeSet<u64> = map.values().map(|(_, deadline)| *deadline).collect();
        self.is_at(map, back) || deadlines.range(back..=cut.now).any(|now| self.is_at(map, *now))
    }
}

/// The least number of steps, from `least` to `most`, after which the state fits.
fn prefix(steps: &[Step], [least, most]: [usize; 2], mut fits: impl FnMut(&Map) -> bool) -> Option<usize> {
    let mut map = Map::new();
    for count in 0..=most {
        if count >= least && fits(&map) {
            return Some(count);
        }
        match steps.get(count) {
            Some(Step::Put(key, deadline)) => drop(map.insert(*key, (count, *deadline))),
            Some(Step::Remove(key)) => drop(map.remove(key)),
            None => {}
        }
    }
    None
}

/// Opens what a cut has left with a clock that was set back: all keys show one time, the swept ones among them.
fn judge_back(tide: &Tide, steps: &[Step], cut: &Cut) -> Result<(), String> {
    let back = Arc::new(AtomicU64::new(cut.now.saturating_sub(BACK)));
    let (_db, space) = tide.open(&cut.disk.kill(), back);
    let found = Found::of(&space, 0);
    let fits = prefix(steps, cut.steps, |map| found.is_since(map, cut));
    fits.map(drop).ok_or_else(|| format!("no time since the clock was set back explains {:?}", found.alive))
}

/// Checks what a cut has left, and goes on from there.
fn judge(tide: &Tide, steps: &[Step], cut: &Cut, tally: &mut Tally) -> Result<(), String> {
    let (db, space) = tide.open(&cut.disk, Arc::new(AtomicU64::new(cut.now)));
    let found = Found::of(&space, cut.now);
    let [least, most] = cut.steps;
    let fits = prefix(steps, cut.steps, |map| found.fits(map, cut));
    let Some(count) = fits else {
        let Found { alive, expired } = found;
        return Err(format!("no prefix from {least} to {most}: {alive:?}, expired {expired:?}, swept {:?}", cut.swept));
    };
    tally.pairs += found.alive.len();
    tally.expired += found.expired.len();
    tally.within += usize::from(!found.expired.is_empty());
    tally.lost += most - count;
    let swept = db.sweep().expect("sound") as usize;
    let again = Found::of(&space, cut.now);
    if swept != found.expired.len() || !again.expired.is_empty() || !again.alive.keys().eq(found.alive.keys()) {
        return Err(format!("{swept} swept of {:?}, and then {:?}", found.expired, again.expired));
    }
    // Space is free two epochs after it was given up.
    (0..4).for_each(|_| db.sync().expect("sound"));
    let (used, report) = (db.stats().space, db.check().expect("readable"));
    if !report.faults.is_empty() || (used.record_bytes, used.leaves) != (report.record_bytes, report.leaf_blocks) {
        return Err(format!("{:?}; {used:?} in use, {report:?}", report.faults));
    }
    Ok(())
}

fn what_power_leaves_is_right(durability: Durability) {
    let histories = std::env::var("HOLM_HISTORIES").ok().and_then(|count| count.parse().ok()).unwrap_or(HISTORIES);
    let mut tally = Tally::default();
    for private in [false, true] {
        let mode = Mode::new(private, durability);
        for seed in 0..histories {
            let hands = Arc::new(AtomicU64::new(1_000));
            let [begun, returned, cuts] = [(); 3].map(|()| AtomicUsize::new(0));
            let tide = Tide {
                mode,
                hands,
                begun,
                returned,
                cuts,
                rests: AtomicBool::new(false),
                done: AtomicBool::new(false),
            };
            let (steps, cuts) = tide.live(seed);
            for (number, cut) in cuts.iter().enumerate() {
                let wrong = judge_back(&tide, &steps, cut).and_then(|()| judge(&tide, &steps, cut, &mut tally));
                if let Err(wrong) = wrong {
                    panic!("{mode:?}, seed {seed}, cut {number} at {}: {wrong}", cut.now);
                }
            }
        }
    }
    println!("{durability:?}: {tally:?}");
    assert!(tally.pairs > 0 && tally.within > 0, "nothing was at stake: {tally:?}");
}

#[test]
fn sweeps_and_ranges_survive_power_if_calls_wait() {
    what_power_leaves_is_right(Durability::Strict);
}

#[test]
fn sweeps_and_ranges_survive_power_if_epochs_end_by_themselves() {
    what_power_leaves_is_right(Durability::Buffered { interval: Duration::from_millis(1) });
}

#[test]
fn sweeps_and_ranges_survive_power_if_epochs_end_on_demand() {
    what_power_leaves_is_right(Durability::OnSync);
}
