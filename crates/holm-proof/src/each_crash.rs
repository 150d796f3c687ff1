//! Every image that a crash of a marked trace can leave, at each of its events: for traces of one thread whose
//! operations are marked as they begin and return.

use crate::crashes::{Bounds, Choice, Crashes, Persistency};
use crate::snapshot::Snapshot;
use crate::trace::{Entry, Event, Mark};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::collections::BTreeSet;

/// How far each window is enumerated.
pub(crate) const BOUNDS: Bounds = Bounds { exhaustive: 8, pairs: 1, random: 2 };

/// Where in a trace a crash falls.
pub(crate) struct Moment<'a> {
    pub(crate) event: usize,
    pub(crate) entry: &'a Entry,
    /// How many operations have returned.
    pub(crate) returned: usize,
    /// Whether another one has begun.
    pub(crate) in_flight: bool,
    /// How many images were visited, this one included.
    pub(crate) images: usize,
}

/// Visits each distinct image once: after a power cut at fences and marks, after the death of the process at every
/// event. Returns the number of images.
///
/// # Errors
/// The first of `visit`.
pub(crate) fn each_crash(
    crash: Persistency,
    base: Snapshot,
    entries: &[Entry],
    mut visit: impl FnMut(&Moment<'_>, &Choice<'_>) -> Result<(), String>,
) -> Result<usize, String> {
    let mut random = Pcg64::seed_from_u64(1);
    let mut crashes = Crashes::new(crash, base);
    let (mut returned, mut in_flight, mut seen) = (0, false, BTreeSet::new());
    for (event, entry) in entries.iter().enumerate() {
        let now = entry.event == Event::Fence || matches!(entry.event, Event::Mark(_));
        if now || crash == Persistency::Visible {
            crashes.visit(&BOUNDS, &mut random, |choice| -> Result<(), String> {
                if !seen.insert((choice.content, returned, in_flight)) {
                    return Ok(());
                }
                visit(&Moment { event, entry, returned, in_flight, images: seen.len() }, choice)
            })?;
        }
        crashes.pass(event, entry);
        match entry.event {
            Event::Mark(Mark::Begun(_)) => in_flight = true,
            Event::Mark(Mark::Returned(_)) => (returned, in_flight) = (returned + 1, false),
            _ => {}
        }
    }
    Ok(seen.len())
}
