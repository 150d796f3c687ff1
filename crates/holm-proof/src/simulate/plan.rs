//! What one run does: drawn from a seed and a profile, and small enough to be printed.

use holm::Durability;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Which runs are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Threads and nothing else: no fault, no crash.
    Calm,
    /// Threads, and crashes of the process and of the power.
    Crashes,
    /// The same, with failing and slow disks.
    Faults,
    /// Any of these, by the seed.
    All,
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "calm" => Ok(Profile::Calm),
            "crashes" => Ok(Profile::Crashes),
            "faults" => Ok(Profile::Faults),
            "all" => Ok(Profile::All),
            _ => Err(format!("a profile `{text}`; calm, crashes, faults or all was expected")),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", format!("{self:?}").to_lowercase())
    }
}

/// How an image of the disk is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The process dies; the page cache stays.
    Death,
    /// The power goes, and all that was not durable is gone.
    PowerToDurable,
    /// The power goes, and the seed decides what is left.
    Power,
}

/// A crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crash {
    /// Before this step of the run.
    pub step: u64,
    /// What ends.
    pub end: End,
    /// Decides what is left.
    pub seed: u64,
    /// The power goes once more, in this call to the disk of the recovery.
    pub again: Option<u64>,
}

/// What happens to the live disk, or to the clock on the wall.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The kernel writes some pages back: one in this number.
    WriteBack(u32),
    /// The kernel's own write-back of a data file fails: of the leaves (0) or the records (1).
    FailWriteBack(usize),
    /// Each call takes this many microseconds from now on.
    Slow(u32),
    /// A call fails: the first one after this number of calls.
    Eio(u64),
    /// After this number of calls, the disk acknowledges what is written past the page cache, and loses it with the
    /// power. No plan that is drawn has this: it is a bug that the oracle must catch.
    Lie(u64),
    /// Space runs out: files do not grow any more.
    Full,
    /// There is space again.
    Room,
    /// The clock on the wall jumps by this number of milliseconds.
    WallClock(i32),
    /// Time passes: milliseconds in which no thread runs.
    Stop(u32),
}

impl What {
    /// Whether calls to the disk fail for another reason than space.
    pub(super) fn is_failure(self) -> bool {
        matches!(self, What::Eio(_) | What::FailWriteBack(_))
    }
}

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultAt {
    /// Before this step of the run.
    pub step: u64,
    /// What happens.
    pub what: What,
}

/// What one run does.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Decides all that the other fields leave open.
    pub seed: u64,
    /// The profile that this was drawn from.
    pub profile: Profile,
    /// Threads over the lists, at most three.
    pub workers: u64,
    /// Threads over single keys that all share.
    pub registers: u64,
    /// Whether a thread changes a keyspace of its own, with range removals.
    pub solo: bool,
    /// Whether the values of that thread are large: they fill the log, so that checkpoints and throttling occur.
    pub heavy: bool,
    /// Whether a thread drops its keyspace and creates it again.
    pub drops: bool,
    /// Whether a thread writes keys that expire.
    pub expires: bool,
    /// Whether a thread follows the feed, and whether one takes backups.
    pub copies: bool,
    /// Operations of each thread.
    pub operations: u64,
    /// Keys beside each list.
    pub fillers: u8,
    /// The most keys of a long batch; 0: no batch is long.
    pub long_batch: usize,
    /// The durability of the database.
    pub durability: Durability,
    /// Whether the image is private.
    pub private: bool,
    /// Bytes of heap for leaves and records.
    pub heap: [usize; 2],
    /// Accesses to words from one interruption to the next, on average.
    pub apart: u32,
    /// Of 64 interruptions, how many leave the thread running.
    pub sticky: u32,
    /// Of 4096 interruptions that are 64 accesses apart, how many stop the thread for a while. Others stop it as often
    /// for each access: a thread that is stopped within each operation never ends one.
    pub stalls: u32,
    /// Nanoseconds of a step, on average.
    pub tick_ns: u64,
    /// Crashes, in the order of their steps.
    pub crashes: Vec<Crash>,
    /// Faults, in the order of their steps.
    pub faults: Vec<FaultAt>,
}

/// Steps of a run, roughly, for each operation of each thread: faults and crashes are drawn within.
const STEPS_EACH: u64 = 30;

impl Plan {
    /// Draws a plan.
    pub fn draw(seed: u64, profile: Profile) -> Plan {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let kind = match profile {
            Profile::All => {
                [Profile::Calm, Profile::Crashes, Profile::Crashes, Profile::Faults][random.random_range(0..4)]
            }
            chosen => chosen,
        };
        let intervals = [1, 2, 10];
        let durability = match random.random_range(0..5) {
            0 => Durability::Strict,
            1 => Durability::OnSync,
            _ => Durability::Buffered { interval: Duration::from_millis(intervals[random.random_range(0..3)]) },
        };
        let small = random.random_ratio(1, 8);
        let heavy = !small && random.random_ratio(1, 6);
        let mut plan = Plan {
            seed,
            profile,
            workers: random.random_range(1..=3),
            registers: random.random_range(0..=3),
            solo: random.random_ratio(1, 2) || heavy,
            heavy,
            drops: random.random_ratio(1, 4),
            expires: random.random_ratio(1, 4),
            copies: random.random_ratio(1, 4),
            operations: random.random_range(4..=24),
            fillers: [0, 3, 12, 40][random.random_range(0..4)],
            long_batch: if random.random_ratio(1, 8) { 60 } else { 0 },
            durability,
            private: random.random_ratio(1, 3),
            heap: if small { SMALL } else { [1 << 20, if heavy { 16 << 20 } else { 2 << 20 }] },
            apart: [1, 4, 16, 64][random.random_range(0..4)],
            sticky: [0, 32, 56, 62][random.random_range(0..4)],
            stalls: [0, 8, 64, 512][random.random_range(0..4)],
            tick_ns: [200, 2_000, 20_000][random.random_range(0..3)],
            crashes: Vec::new(),
            faults: Vec::new(),
        };
        if heavy {
            // Large values have many words.
            plan.apart = 64;
            plan.operations = plan.operations.max(12);
        }
        if plan.fillers == 0 {
            plan.long_batch = 0;
        }
        let horizon = plan.operations * (plan.workers + plan.registers + 2) * STEPS_EACH;
        if kind != Profile::Calm {
            plan.draw_crashes(&mut random, horizon);
        }
        plan.draw_faults(&mut random, horizon, kind == Profile::Faults);
        plan
    }

    fn draw_crashes(&mut self, random: &mut Pcg64Mcg, horizon: u64) {
        for _ in 0..random.random_range(1..=4) {
            self.crashes.push(Crash {
                step: random.random_range(0..horizon),
                end: [End::Death, End::PowerToDurable, End::Power, End::Power][random.random_range(0..4)],
                seed: random.random(),
                again: random.random_ratio(1, 3).then(|| random.random_range(0..60)),
            });
        }
        self.crashes.sort_by_key(|crash| crash.step);
    }

    fn draw_faults(&mut self, random: &mut Pcg64Mcg, horizon: u64, fails: bool) {
        if self.heavy {
            // Checkpoints take long enough for the log to come round.
            self.faults.push(FaultAt { step: 0, what: What::Slow([0, 500, 5_000][random.random_range(0..3)]) });
        }
        for _ in 0..random.random_range(0..=8) {
            let what = match random.random_range(0..8) {
                0..4 => What::WriteBack(random.random_range(1..=4)),
                4 => What::WallClock(random.random_range(-5_000..20_000)),
                5 => What::Stop([5, 50, 1_500, 70_000][random.random_range(0..4)]),
                _ => What::Slow([0, 20, 1_000][random.random_range(0..3)]),
            };
            self.faults.push(FaultAt { step: random.random_range(0..horizon), what });
        }
        for _ in 0..if fails { random.random_range(1..=2) } else { 0 } {
            let step = random.random_range(0..horizon);
            match random.random_range(0..4) {
                0 => self.faults.push(FaultAt { step, what: What::FailWriteBack(random.random_range(0..2)) }),
                1 => self.faults.push(FaultAt { step, what: What::Eio(random.random_range(0..12)) }),
                _ => {
                    self.faults.push(FaultAt { step, what: What::Full });
                    self.faults.push(FaultAt { step: step + horizon / 4, what: What::Room });
                }
            }
        }
        self.faults.sort_by_key(|fault| fault.step);
    }
}

/// The areas of a database that runs out of its capacity.
const SMALL: [usize; 2] = [192 << 10, 128 << 10];

impl Plan {
    /// Whether the database may run out of its capacity.
    pub(super) fn is_small(&self) -> bool {
        self.heap == SMALL
    }

    /// Whether calls to the disk fail for another reason than space, at any time.
    pub(super) fn is_failing(&self) -> bool {
        self.faults.iter().any(|fault| fault.what.is_failure())
    }
}
