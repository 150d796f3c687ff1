//! Record space: what is free of it beside the threads' own shares.

use super::{CLASSES, FIRST, LARGE, Withheld};
use crate::error::Result;
use crate::loc::Area;
use crate::medium::Medium;

/// Record space: a frontier, runs that recovery found free, and freed records by size.
pub(super) struct Heap {
    pub(super) withheld: Option<Withheld>,
    pub(super) frontier: u64,
    runs: Vec<(u64, u64)>,
    pub(super) freed: Vec<Vec<u64>>,
    pub(super) large: Vec<(u64, u64)>,
    /// Whether the area is so large that its first large page is left alone.
    large_area: bool,
    /// Free runs in the first large page, not to be used while there is anything else.
    pub(super) cold: Vec<(u64, u64)>,
}

impl Heap {
    /// Nothing taken.
    pub(super) fn new() -> Self {
        Heap {
            withheld: None,
            // Offset 0 stays unused: a null location is no record.
            frontier: 64,
            runs: Vec::new(),
            freed: vec![Vec::new(); CLASSES],
            large: Vec::new(),
            large_area: false,
            cold: Vec::new(),
        }
    }

    pub(super) fn rebuilt(&mut self, frontier: u64, runs: Vec<(u64, u64)>) {
        self.frontier = frontier.max(64);
        if let Some(held) = self.withheld {
            let frontier = self.frontier;
            self.frontier = held.upto.max(frontier);
            self.withheld = Some(Withheld { upto: self.frontier, frontier });
        }
        self.runs = runs;
        self.freed.iter_mut().for_each(Vec::clear);
        self.large.clear();
        self.cold.clear();
        self.large_area = false;
    }

    pub(super) fn release(&mut self) {
        if let Some(held) = self.withheld.take() {
            if self.frontier == held.upto {
                self.frontier = held.frontier;
            } else if held.frontier < held.upto {
                self.runs.push((held.frontier, held.upto - held.frontier));
            }
        }
    }

    /// Once the area is large: what is free in its first large page is set aside, and what becomes free there will be.
    /// Whether that is so from now on.
    pub(super) fn note(&mut self) -> bool {
        if self.frontier < LARGE || self.large_area {
            return false;
        }
        self.large_area = true;
        let Heap { runs, cold, .. } = self;
        for (offset, bytes) in runs.iter_mut().filter(|(offset, _)| *offset < FIRST) {
            let within = (*bytes).min(FIRST - *offset);
            cold.push((*offset, within));
            (*offset, *bytes) = (*offset + within, *bytes - within);
        }
        runs.retain(|(_, bytes)| *bytes > 0);
        true
    }

    /// At least `least` bytes, `wanted` if they can be had in one piece.
    pub(super) fn carve<M: Medium>(&mut self, medium: &M, least: u64, wanted: u64) -> Result<(u64, u64)> {
        // The last few runs only: a put must not walk a long list of runs that are all too short.
        let runs = if self.withheld.is_some() { 0 } else { self.runs.len() };
        for index in (runs.saturating_sub(8)..runs).rev() {
            let (offset, free) = self.runs[index];
            if free >= least {
                let len = free.min(wanted);
                if free == len {
                    self.runs.remove(index);
                } else {
                    self.runs[index] = (offset + len, free - len);
                }
                return Ok((offset, len));
            }
        }
        let end = self.frontier + wanted;
        if end > medium.image().area(Area::Records).len() as u64 {
            medium.grow(Area::Records, end)?;
        }
        let offset = std::mem::replace(&mut self.frontier, end);
        medium.reached(Area::Records, end);
        Ok((offset, wanted))
    }
}
