//! The result of an exploration: how much it covered, or the first thing that is wrong.

use crate::trace::Site;
use std::collections::BTreeSet;
use std::fmt;

/// How much was covered.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Report {
    /// Images opened, recovered and inspected; of one trace, those that no opening can distinguish count once.
    pub images: u64,
    /// Of these, the images that a crash within a recovery left.
    pub in_recovery: u64,
    /// How often an image was judged, each time against the guarantees of a moment.
    pub judged: u64,
    /// The number of different images of all moments that these represent.
    pub stood_for: u128,
    /// Moments at which the crash was tried.
    pub windows: u64,
    /// Of these, those with too many images to visit all.
    pub sampled: u64,
    /// Traces that began with the recovery from a crash.
    pub rounds: u64,
    /// Every store, flush and fence that was reached, by its place.
    pub sites: BTreeSet<Site>,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        self.images += other.images;
        self.in_recovery += other.in_recovery;
        self.judged += other.judged;
        self.stood_for = self.stood_for.saturating_add(other.stood_for);
        self.windows += other.windows;
        self.sampled += other.sampled;
        self.rounds += other.rounds;
        self.sites.extend(other.sites);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { images, judged, windows, sampled, rounds, .. } = self;
        let stood_for = self.stood_for as f64;
        write!(
            f,
            "{images} images for {stood_for:.1e}, {judged} judgements, {windows} windows ({sampled} sampled), {rounds} \
             second crashes"
        )
    }
}

/// A violated guarantee, and how to reproduce it.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The design.
    pub design: &'static str,
    /// The script, and the rounds of recovery before.
    pub script: String,
    /// The model of persistency.
    pub persistency: &'static str,
    /// The operation that was in progress or had last returned.
    pub operation: String,
    /// The event before which the crash came.
    pub event: String,
    /// The first store that was lost.
    pub lost: String,
    /// The words of the lines that have lost a store: what each was before, what was stored, and what is left.
    pub words: String,
    /// What is wrong.
    pub wrong: String,
    /// What might have been found.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Arguments of the program that reproduce it, if it was found by seed.
    pub replay: Option<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} does not survive ({}, script {})", self.design, self.persistency, self.script)?;
        writeln!(f, "  operation:  {}", self.operation)?;
        writeln!(f, "  crash:      {}", self.event)?;
        writeln!(f, "  first lost: {}", self.lost)?;
        writeln!(f, "  words:      {}", self.words)?;
        writeln!(f, "  wrong:      {}", self.wrong)?;
        writeln!(f, "  expected:   {}", self.expected)?;
        write!(f, "  found:      {}", self.found)?;
        match &self.replay {
            Some(replay) => {
                write!(f, "\n  repeat:     cargo run --profile proof -p holm-proof --bin crash -- --replay {replay}")
            }
            None => Ok(()),
        }
    }
}

impl std::error::Error for Violation {}
