//! What a figure is: a view of a study, and what its paper claims.

use crate::setting::Setting;
use anyhow::Result;

/// All figures of one paper.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) paper: &'static str,
    /// Trees of the paper's figures that are not built, so that its figures run without; empty if all are.
    pub(crate) without: &'static str,
    /// No paper has these trees: claims are what we expected of them.
    pub(crate) expected: bool,
    pub(crate) studies: &'static [Study],
    /// What cannot be run here yet.
    pub(crate) absent: &'static [Absent],
}

/// What is measured together: each cell gives one number for each of the study's measures.
pub(crate) struct Study {
    /// Workload, medium, emulated latency: what no number means anything without.
    pub(crate) conditions: &'static str,
    /// Counts, equal in every round: one is enough.
    pub(crate) exact: bool,
    pub(crate) needs: Needs,
    pub(crate) cells: fn(&Setting) -> Vec<Cell>,
    pub(crate) figures: &'static [Figure],
}

/// What a study cannot do without, beside a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    Nothing,
    /// A build in which words tell that they are read; in it, no time means anything.
    Reads,
    /// A recorded trace of a cache.
    Trace,
}

/// One series at one place.
pub(crate) struct Cell {
    pub(crate) series: &'static str,
    /// Where, in the paper's own numbers: a scale changes what is done there, not what it is called.
    pub(crate) x: f64,
    /// How much it does, in puts and gets of a word: by it the time left is told.
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

    /// A cell for each of these designs, by its name in the paper and its own, at each number of threads.
    pub(crate) fn by_threads<const DESIGNS: usize>(
        setting: &Setting,
        designs: [(&'static str, &'static str); DESIGNS],
        operations: u64,
        work: impl Fn(&str, usize) -> Result<Vec<f64>> + Clone + 'static,
    ) -> Vec<Cell> {
        let cell = |threads: usize, (name, design): (&'static str, &'static str)| {
            let work = work.clone();
            Cell::new(name, threads as f64, operations, move || work(design, threads))
        };
        setting.threads().flat_map(|threads| designs.map(|design| cell(threads, design))).collect()
    }
}

/// A view of a study.
pub(crate) struct Figure {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// Which of the study's measures.
    pub(crate) measure: usize,
    /// What is on the upright axis, with its unit.
    pub(crate) unit: &'static str,
    pub(crate) axis: Axis,
    pub(crate) claims: &'static [Claim],
    /// In what we differ from the paper, and what of it is not here.
    pub(crate) note: &'static str,
}

/// What is on the level axis, with its unit, and what its places are.
pub(crate) enum Axis {
    /// Cells stand where their numbers say.
    Numbers(&'static str),
    /// A cell's number, from 0 on, only says which of these words it stands at.
    Words(&'static str, &'static [&'static str]),
    /// A series has one cell: measures in a row, from the figure's own on, are its places.
    Measures(&'static str, &'static [&'static str]),
}

impl Axis {
    pub(crate) fn label(&self) -> &'static str {
        let (Axis::Numbers(label) | Axis::Words(label, _) | Axis::Measures(label, _)) = self;
        label
    }

    /// Words of the places; none, where they are numbers.
    pub(crate) fn words(&self) -> &'static [&'static str] {
        match self {
            Axis::Numbers(_) => &[],
            Axis::Words(_, words) | Axis::Measures(_, words) => words,
        }
    }
}

/// What the paper says of two series at one place, as a ratio of the first to the second.
pub(crate) struct Claim {
    pub(crate) of: &'static str,
    pub(crate) against: &'static str,
    pub(crate) x: f64,
    /// Where the second series stands, if it stands elsewhere.
    pub(crate) against_x: Option<f64>,
    pub(crate) paper: f64,
    /// Whether the paper gives that number; else it says less, more or as much, and the number stands for the word.
    pub(crate) is_number: bool,
    /// Why ours is as it is, as far as is known.
    pub(crate) because: &'static str,
}

impl Claim {
    pub(crate) const fn new(of: &'static str, against: &'static str, x: f64, paper: f64) -> Self {
        Claim { of, against, x, against_x: None, paper, is_number: true, because: "" }
    }

    /// In words, less.
    pub(crate) const fn less(of: &'static str, against: &'static str, x: f64) -> Self {
        Claim { is_number: false, ..Self::new(of, against, x, 0.5) }
    }

    /// In words, more.
    pub(crate) const fn more(of: &'static str, against: &'static str, x: f64) -> Self {
        Claim { is_number: false, ..Self::new(of, against, x, 2.0) }
    }

    /// In words, as much.
    pub(crate) const fn even(of: &'static str, against: &'static str, x: f64) -> Self {
        Claim { is_number: false, ..Self::new(of, against, x, 1.0) }
    }

    /// What the paper says, in its number or in a word.
    pub(crate) fn said(&self) -> String {
        match self.paper {
            paper if self.is_number => paper.to_string(),
            paper if paper < 1.0 => "less".into(),
            paper if paper > 1.0 => "more".into(),
            _ => "as much".into(),
        }
    }

    pub(crate) const fn because(self, because: &'static str) -> Self {
        Claim { because, ..self }
    }

    pub(crate) const fn against_at(self, x: f64) -> Self {
        Claim { against_x: Some(x), ..self }
    }
}

/// A figure that cannot be run.
pub(crate) struct Absent {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// What is missing, or where it is looked after instead.
    pub(crate) why: &'static str,
}

impl Absent {
    pub(crate) const fn new(id: &'static str, title: &'static str, why: &'static str) -> Self {
        Absent { id, title, why }
    }
}
