//! A figure: a view of a study, and the claims of its paper.

pub(crate) use crate::claim::Claim;
use crate::outcome::NameOf;
use crate::setting::Setting;
use anyhow::Result;

/// All figures of one paper.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) paper: &'static str,
    /// Trees of the paper's figures that are not implemented, so the figures omit them. Empty if all are implemented.
    pub(crate) without: &'static str,
    /// No paper has these trees: the claims are our expectations.
    pub(crate) expected: bool,
    pub(crate) studies: &'static [Study],
    /// Figures that cannot run here yet.
    pub(crate) absent: &'static [Absent],
    /// For figures with more series than a drawing has colours.
    pub(crate) drawn: &'static [Drawn],
}

/// Which series of figures are drawn. The others are in the table of numbers alone.
pub(crate) struct Drawn {
    pub(crate) figures: &'static [&'static str],
    pub(crate) series: &'static [&'static str],
}

/// A set of measurements: each cell gives one number for each of the study's measures.
pub(crate) struct Study {
    /// Workload, medium and emulated latency, without which no number means anything.
    pub(crate) conditions: &'static str,
    /// The values are counts, equal in every round: one round is enough.
    pub(crate) exact: bool,
    pub(crate) needs: Needs,
    pub(crate) cells: fn(&Setting) -> Vec<Cell>,
    pub(crate) figures: &'static [Figure],
}

/// What a study requires, apart from a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    Nothing,
    /// A build in which words report reads. Times measured in it mean nothing.
    Reads,
    /// A recorded trace of a cache.
    Trace,
}

/// One series at one point.
pub(crate) struct Cell {
    pub(crate) series: &'static str,
    /// The point, in the paper's numbers. A scale changes the work, not the name of the point.
    pub(crate) x: f64,
    /// The amount of work, in puts and gets of a word, for estimates of the remaining time.
    pub(crate) operations: u64,
    pub(crate) work: Box<dyn Fn() -> Result<Vec<f64>>>,
}

impl Cell {
    pub(crate) fn new(
        series: &'static str,
        x: f64,
        operations: u64,
        work: impl Fn() -> Result<Vec<f64>> + 'static,
    ) -> Self {
        Cell { series, x, operations, work: Box::new(work) }
    }

    /// Returns a cell for each of these designs, given by its name in the paper and its own, at each number of threads.
    pub(crate) fn by_threads<const DESIGNS: usize>(
        setting: &Setting,
        designs: [(&'static str, &'static str); DESIGNS],
        operations: u64,
        work: impl Fn(&str, usize) -> Result<Vec<f64>> + Clone + 'static,
    ) -> Vec<Cell> {
        Self::by_threads_beside(setting, designs, [], operations, work)
    }

    /// As [`Cell::by_threads`], and a cell with one thread for each of `alone`: trees that let one operation run at a
    /// time.
    pub(crate) fn by_threads_beside<const DESIGNS: usize, const ALONE: usize>(
        setting: &Setting,
        designs: [(&'static str, &'static str); DESIGNS],
        alone: [(&'static str, &'static str); ALONE],
        operations: u64,
        work: impl Fn(&str, usize) -> Result<Vec<f64>> + Clone + 'static,
    ) -> Vec<Cell> {
        let cell = |threads: usize, (name, design): (&'static str, &'static str)| {
            let work = work.clone();
            Cell::new(name, threads as f64, operations, move || work(design, threads))
        };
        let by_threads = setting.threads().flat_map(|threads| designs.map(|design| cell(threads, design)));
        by_threads.chain(alone.map(|design| cell(1, design))).collect()
    }
}

/// A view of a study.
pub(crate) struct Figure {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// The index of the study's measure.
    pub(crate) measure: usize,
    /// The quantity on the vertical axis, with its unit.
    pub(crate) unit: &'static str,
    pub(crate) axis: Axis,
    pub(crate) claims: &'static [Claim],
    /// How we differ from the paper, and what is missing here.
    pub(crate) note: &'static str,
}

/// The quantity on the horizontal axis, with its unit, and the kind of its points.
pub(crate) enum Axis {
    /// Cells are placed at their numbers.
    Numbers(&'static str),
    /// As numbers, but a point has a name by what it counts, which the number and the scale of the run give.
    Counts(&'static str, NameOf),
    /// A cell's number, from 0 on, is an index into these names.
    Words(&'static str, &'static [&'static str]),
    /// A series has one cell. Its points are consecutive measures, from the figure's own measure on.
    Measures(&'static str, &'static [&'static str]),
}

impl Axis {
    pub(crate) fn label(&self) -> &'static str {
        let (Axis::Numbers(label) | Axis::Counts(label, _) | Axis::Words(label, _) | Axis::Measures(label, _)) = self;
        label
    }

    /// Returns the names of the points; none if they are numbers.
    pub(crate) fn words(&self) -> &'static [&'static str] {
        match self {
            Axis::Numbers(_) | Axis::Counts(..) => &[],
            Axis::Words(_, words) | Axis::Measures(_, words) => words,
        }
    }

    /// Returns what names the points of counts.
    pub(crate) fn name_of(&self) -> Option<NameOf> {
        match self {
            Axis::Counts(_, name_of) => Some(*name_of),
            Axis::Numbers(_) | Axis::Words(..) | Axis::Measures(..) => None,
        }
    }
}

/// A figure that cannot run.
pub(crate) struct Absent {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// What is missing, or where it is covered instead.
    pub(crate) why: &'static str,
}

impl Absent {
    pub(crate) const fn new(id: &'static str, title: &'static str, why: &'static str) -> Self {
        Absent { id, title, why }
    }
}
