//! The operation, or the end of its epoch, writes back every line that is written, and no clean line.

use super::Verdict;
use crate::crashes::Persistency;
use crate::explore::{Plan, trace};
use crate::script::named;
use crate::subject::Subject;
use crate::trace::{Entry, Event, Mark};
use holm_medium::LINE;
use std::collections::{BTreeMap, BTreeSet};

/// Lines, and their state since the last fence that counted.
#[derive(Default)]
struct Lines<'a> {
    /// Written and not flushed since: the last entry that wrote.
    dirty: BTreeMap<u64, &'a Entry>,
    /// Flushed and not fenced since.
    flying: BTreeMap<u64, &'a Entry>,
    flushes: usize,
    fences: usize,
    clean: Vec<&'a Entry>,
}

impl<'a> Lines<'a> {
    fn pass(&mut self, entry: &'a Entry) {
        match &entry.event {
            Event::Write { loc, .. } => {
                self.dirty.insert(loc / LINE, entry);
            }
            Event::Fill { loc, values } => {
                let last = loc + values.len() as u64 * 8 - 8;
                (loc / LINE..=last / LINE).for_each(|line| {
                    self.dirty.insert(line, entry);
                });
            }
            Event::Flush { line } => {
                self.flushes += 1;
                match self.dirty.remove(line) {
                    Some(_) => {
                        self.flying.insert(*line, entry);
                    }
                    None => self.clean.push(entry),
                }
            }
            Event::Fence => {
                self.fences += 1;
                self.flying.clear();
            }
            Event::Scratch { .. } | Event::Mark(_) => {}
        }
    }

    fn settled(&self, when: &str) -> Result<(), String> {
        if let Some((line, entry)) = self.dirty.first_key_value() {
            return Err(format!("{when}: line {line:#x} is not flushed after {entry}"));
        }
        if let Some((line, entry)) = self.flying.first_key_value() {
            return Err(format!("{when}: line {line:#x} is not fenced after {entry}"));
        }
        Ok(())
    }
}

/// Checks that every written line is flushed once, and no other.
///
/// # Errors
/// What was not flushed, not fenced, or flushed although clean.
pub fn flushes_what_it_writes(subject: &'static Subject) -> Verdict {
    let (mut flushes, mut fences) = (0, 0);
    for script in named(subject.capacity) {
        let trace =
            trace(subject, &script, &Plan::suite(Persistency::Line)).map_err(|violation| violation.to_string())?;
        let mut lines = Lines::default();
        let mut written = BTreeSet::new();
        let mut epoch_from = (0, 0);
        for entry in &trace {
            let when = format!("script {}, {entry}", script.name);
            lines.pass(entry);
            if let Event::Write { loc, .. } = entry.event {
                written.insert(loc / LINE);
            }
            match entry.event {
                Event::Mark(Mark::Returned(_)) if !subject.capabilities.per_epoch => lines.settled(&when)?,
                Event::Mark(Mark::Begun(number)) if subject.capabilities.per_epoch => {
                    let made = (lines.flushes - epoch_from.0, lines.fences - epoch_from.1);
                    if made != (0, 0) {
                        return Err(format!("{when}: {made:?} flushes and fences before operation {number}, not none"));
                    }
                }
                Event::Mark(Mark::Published(_)) if subject.capabilities.per_epoch => {
                    lines.settled(&when)?;
                    // The epoch's lines, and the clock's own line, which is among those written.
                    let made = (lines.flushes - epoch_from.0, lines.fences - epoch_from.1);
                    if made != (written.len(), 2) {
                        return Err(format!("{when}: {made:?} flushes and fences for {} lines", written.len()));
                    }
                    epoch_from = (lines.flushes, lines.fences);
                    written.clear();
                }
                _ => {}
            }
        }
        if let Some(entry) = lines.clean.first() {
            return Err(format!("script {}: a clean line is flushed: {entry}", script.name));
        }
        (flushes, fences) = (flushes + lines.flushes, fences + lines.fences);
    }
    Ok(format!("{flushes} flushes, {fences} fences, none missing and none wasted"))
}
