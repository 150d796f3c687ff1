//! Damage at rest, by seed: databases in each state are damaged, opened and repaired.
//!
//! An open refuses the damage with a typed error, or its answers are right, or `check` reports a fault. A repair ends,
//! and makes a sound database of pairs that were once written. `HOLM_DAMAGES` is the number of damages, and `HOLM_SEED`
//! the first seed; `cargo xtask damage` sets both. A failure prints the seed that repeats it.

#![forbid(unsafe_code)]

#[path = "damage/ledger.rs"]
mod ledger;
#[path = "damage/lives.rs"]
mod lives;
#[path = "damage/outcomes.rs"]
mod outcomes;
#[path = "damage/scrubbed.rs"]
mod scrubbed;
#[path = "damage/single.rs"]
mod single;
#[path = "damage/strikes.rs"]
mod strikes;
#[path = "damage/trial.rs"]
mod trial;

use lives::Life;
use outcomes::Outcomes;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use strikes::Strike;

/// Damages of each life.
const STRIKES: u64 = 24;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn no_damage_is_a_wrong_answer_and_every_repair_is_sound() {
    let (count, first) = (setting("HOLM_DAMAGES", 144), setting("HOLM_SEED", 1));
    let mut outcomes = Outcomes::default();
    for seed in (first..).take(count.div_ceil(STRIKES) as usize) {
        let life = Life::live(seed);
        let mut random = Pcg64Mcg::seed_from_u64(seed ^ 0xda3a6e);
        for number in 0..STRIKES {
            let strike = Strike::random(&life, &mut random);
            let context = format!("HOLM_SEED={seed}, damage {number}: {:?}, {strike:?}", life.end);
            trial::run(&life, &strike, random.random_ratio(1, 4), &context, &mut outcomes);
        }
    }
    println!("{outcomes}");
    assert!(outcomes.total() >= count);
}
