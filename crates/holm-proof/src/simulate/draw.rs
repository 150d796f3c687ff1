//! Draws a plan from a seed: the distributions, and nothing else.

use super::plan::{Crash, Design, End, FaultAt, Plan, Profile, SMALL, What, When};
use crate::disk::Kind;
use holm::Durability;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::time::Duration;

/// Calls to the disk of most recoveries.
const MOST_CALLS: u64 = 130;

/// Calls to the disk of most closes, and of most openings of a closed database.
const MOST_CALLS_CLEAN: u64 = 50;

/// Stores to durable words of most runs.
const MOST_STORES: u64 = 1 << 12;

/// An hour, in milliseconds.
const HOUR_MS: i32 = 3_600_000;

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
            design: Design("buffered"),
            workers: random.random_range(1..=3),
            registers: random.random_range(0..=3),
            solo: random.random_ratio(1, 2) || heavy,
            heavy,
            fills_rooms: false,
            drops: random.random_ratio(1, 4),
            expires: random.random_ratio(1, 4),
            copies: random.random_ratio(1, 4),
            loaded: if random.random_ratio(1, 2) { random.random_range(40..=200) } else { 0 },
            sync_ns: [0, 1_000_000, 50_000_000][random.random_range(0..3)],
            bulk: 0,
            compacts: false,
            moves_leaves: false,
            lays: 0,
            markers: if random.random_ratio(1, 4) { random.random_range(1..=2) } else { 0 },
            peeks: random.random_ratio(1, 8),
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
            closing: Vec::new(),
            reopening: Vec::new(),
            faults: Vec::new(),
        };
        if !small && !heavy && random.random_ratio(1, 8) {
            plan.bulk = random.random_range(60..=160);
            plan.heap[1] = 16 << 20;
        }
        if heavy || plan.bulk > 0 {
            // Large values have many words.
            plan.apart = 64;
            plan.operations = plan.operations.max(12);
        }
        if plan.fillers == 0 {
            plan.long_batch = 0;
        }
        let horizon = plan.operations * (plan.workers + plan.registers + 2) * STEPS_EACH;
        if kind != Profile::Calm && random.random_ratio(1, 8) {
            plan.draw_completions(&mut random);
        } else if kind != Profile::Calm {
            plan.draw_crashes(&mut random, horizon);
        }
        plan.draw_faults(&mut random, horizon, kind == Profile::Faults);
        // From numbers of their own: all else is drawn as it would be without.
        plan.draw_compaction(&mut Pcg64Mcg::seed_from_u64(seed ^ 0xC0_4AC7));
        plan.draw_laying(&mut Pcg64Mcg::seed_from_u64(seed ^ 0x1A_54));
        plan.draw_closing(&mut Pcg64Mcg::seed_from_u64(seed ^ 0xC1_05E5));
        plan.draw_reclaims(&mut Pcg64Mcg::seed_from_u64(seed ^ 0x9A_6E5), horizon);
        plan.draw_reverted_recoveries(&mut Pcg64Mcg::seed_from_u64(seed ^ 0x6E_BAC));
        plan.draw_stores(&mut Pcg64Mcg::seed_from_u64(seed ^ 0x57_02E5));
        plan.draw_leaves();
        plan
    }

    /// Deaths in commits that replace what an earlier session has written, and crashes of the recoveries that complete
    /// them.
    fn draw_completions(&mut self, random: &mut Pcg64Mcg) {
        (self.private, self.solo, self.loaded) = (false, true, 200);
        (self.workers, self.registers) = (1, self.registers.min(1));
        for _ in 0..random.random_range(2..=4) {
            self.crashes.push(Crash {
                when: When::InCommit(wide(random, 1 << 14)),
                end: End::Death,
                seed: random.random(),
                again: None,
                within: draw_within(random, 2),
            });
        }
    }

    fn draw_crashes(&mut self, random: &mut Pcg64Mcg, horizon: u64) {
        for _ in 0..random.random_range(1..=4) {
            // Where the process dies in a commit, the next opening completes it.
            let (when, end) = match random.random_range(0..6) {
                0..2 => (When::InCommit(wide(random, 4_000)), End::Death),
                // Little but a checkpoint measures files.
                2..5 if self.bulk > 0 => {
                    let end = [End::PowerToDurable, End::Power][random.random_range(0..2)];
                    (When::Call(Kind::Meta, random.random_range(1..10), wide(random, 1 << 14)), end)
                }
                2 => (When::Call(Kind::Sync, random.random_range(1..8), wide(random, 1 << 12)), draw_end(random)),
                _ => (When::Step(random.random_range(0..horizon)), draw_end(random)),
            };
            let mut crash = Crash { when, end, seed: random.random(), again: None, within: Vec::new() };
            match random.random_range(0..3) {
                0 => crash.again = Some(random.random_range(0..MOST_CALLS)),
                1 => crash.within = draw_within(random, 3),
                _ => {}
            }
            self.crashes.push(crash);
        }
    }

    fn draw_faults(&mut self, random: &mut Pcg64Mcg, horizon: u64, fails: bool) {
        if self.heavy || self.bulk > 0 {
            // Checkpoints take long enough for the log to come round.
            self.faults.push(FaultAt { step: 0, what: What::Slow([50, 500, 5_000][random.random_range(0..3)]) });
        }
        for _ in 0..random.random_range(0..=8) {
            let what = match random.random_range(0..8) {
                0..4 => What::WriteBack(random.random_range(1..=4)),
                4 => What::WallClock(match random.random_range(0..3) {
                    // The machine was suspended, or its clock was set.
                    0 => random.random_range(-9 * HOUR_MS..9 * HOUR_MS),
                    _ => random.random_range(-5_000..20_000),
                }),
                5 => What::Stop([5, 50, 1_500, 70_000, 5 * HOUR_MS as u32][random.random_range(0..5)]),
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

impl Plan {
    /// A thread that compacts needs several large pages of records.
    fn draw_compaction(&mut self, random: &mut Pcg64Mcg) {
        if !self.is_small() && !self.heavy && self.bulk == 0 && random.random_ratio(1, 10) {
            self.compacts = true;
            // Some keys whose records are moved while they are put.
            self.bulk = random.random_range(60..=160);
            self.heap[1] = 16 << 20;
            // Large values have many words: a thread that is stopped often within each would hardly end a put.
            (self.apart, self.stalls) = (64, self.stalls.min(64));
        }
    }

    /// Leaves that move, and leaves whose rooms are full.
    fn draw_leaves(&mut self) {
        self.moves_leaves = !self.is_small() && Pcg64Mcg::seed_from_u64(self.seed ^ 0x5_40A1).random_ratio(1, 8);
        let fills = Pcg64Mcg::seed_from_u64(self.seed ^ 0xF1_1125).random_ratio(1, 2);
        self.fills_rooms = self.solo && !self.heavy && fills;
    }

    /// A thread that moves records moves those that others change.
    fn draw_laying(&mut self, random: &mut Pcg64Mcg) {
        if !self.is_small() && random.random_ratio(1, 8) {
            self.lays = random.random_range(1..=3);
        }
    }

    /// The kernel reclaims pages: of the live process, where no write-back fails, so that they stay as they are; and of
    /// one that has died, where their write-back has failed.
    fn draw_reclaims(&mut self, random: &mut Pcg64Mcg, horizon: u64) {
        if !self.is_failing() && random.random_ratio(1, 4) {
            for _ in 0..random.random_range(1..=2) {
                let what = What::Reclaim(random.random_range(1..=4));
                self.faults.push(FaultAt { step: random.random_range(0..horizon), what });
            }
            self.faults.sort_by_key(|fault| fault.step);
        }
        if !self.crashes.is_empty() && random.random_ratio(1, 3) {
            for _ in 0..random.random_range(1..=2) {
                self.crashes.push(Crash {
                    when: When::Step(random.random_range(0..horizon)),
                    end: End::GoneBack,
                    seed: random.random(),
                    again: None,
                    within: Vec::new(),
                });
            }
        }
    }

    /// Recoveries die, too, and what they have written goes back.
    fn draw_reverted_recoveries(&mut self, random: &mut Pcg64Mcg) {
        let within = self.crashes.iter_mut().flat_map(|crash| &mut crash.within);
        for crash in within.filter(|crash| crash.within.is_empty()) {
            if random.random_ratio(1, 3) {
                crash.end = End::GoneBack;
            }
        }
    }

    /// Deaths between stores, wherever a thread is: most leave a part of a commit or of a split.
    fn draw_stores(&mut self, random: &mut Pcg64Mcg) {
        if !self.crashes.is_empty() && !self.private && random.random_ratio(1, 2) {
            for _ in 0..random.random_range(1..=4) {
                self.crashes.push(Crash {
                    when: When::Store(wide(random, MOST_STORES)),
                    end: End::Death,
                    seed: random.random(),
                    again: None,
                    within: Vec::new(),
                });
            }
        }
    }

    /// Crashes of the close, and of the opening after it, if there are any crashes.
    fn draw_closing(&mut self, random: &mut Pcg64Mcg) {
        if self.crashes.is_empty() {
            return;
        }
        for crashes in [&mut self.closing, &mut self.reopening] {
            for _ in 0..random.random_range(0..3) {
                crashes.push(Crash {
                    when: When::Call(Kind::Any, random.random_range(0..MOST_CALLS_CLEAN), wide(random, 1 << 10)),
                    end: draw_end(random),
                    // No reader looks at these images: some are of a database that is closed.
                    seed: random.random::<u64>() & !7 | random.random_range(1..8),
                    again: random.random_ratio(1, 3).then(|| random.random_range(0..MOST_CALLS_CLEAN)),
                    within: Vec::new(),
                });
            }
        }
    }
}

/// A number below `end`, small as often as large.
fn wide(random: &mut Pcg64Mcg, end: u64) -> u64 {
    let bits = random.random_range(0..=end.ilog2());
    random.random_range(0..=(1_u64 << bits)).min(end - 1)
}

fn draw_end(random: &mut Pcg64Mcg) -> End {
    [End::Death, End::PowerToDurable, End::Power, End::Power][random.random_range(0..4)]
}

/// Crashes of a recovery, and of the recoveries after them.
fn draw_within(random: &mut Pcg64Mcg, depth: u32) -> Vec<Crash> {
    let crash = |random: &mut Pcg64Mcg| Crash {
        // Most recoveries have six syncs, and complete commits after the second.
        when: if random.random_ratio(1, 2) {
            When::Call(Kind::Any, random.random_range(0..MOST_CALLS), wide(random, 1 << 12))
        } else {
            When::Call(Kind::Sync, random.random_range(0..7), wide(random, 1 << 16))
        },
        end: [End::Death, draw_end(random)][random.random_range(0..2)],
        seed: random.random(),
        again: None,
        within: if depth > 1 && random.random_ratio(1, 4) { draw_within(random, depth - 1) } else { Vec::new() },
    };
    (0..random.random_range(1..=3)).map(|_| crash(random)).collect()
}
