//! The table of coverage: each design, each kind of change, each model of a crash, and how many images were opened
//! there that an opening can tell apart.
//!
//! A cell is empty where the script did not bring the change about, or no crash made a difference. An empty cell is a
//! hole in the proof and fails; what a design is excused from, its card or its leaf says, and the cell repeats it.

use crate::crashes::{Bounds, Persistency};
use crate::explore::{Plan, explore};
use crate::grove::{Grove, advance, capacity};
use crate::model::{Contents, History, Step};
use crate::scenarios::excuse;
use crate::script::{Script, change, grow_root, inserts, merge, overflow, removals, updates};
use crate::verdict::Violation;
use holm_medium::{Area, BLOCK, Image, Loc};
use holm_tree::Design;
use holm_tree::leaf::Leaf;
use std::collections::BTreeSet;
use std::fmt;

/// What is done to a tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// A key that was not there.
    Insert,
    /// Another payload for a key that was.
    Update,
    /// A key goes.
    Remove,
    /// A leaf becomes two.
    Split,
    /// Two leaves become one.
    Merge,
    /// A level more above the leaves.
    Root,
    /// What a crash left is recovered.
    Recovery,
}

impl Change {
    /// All of them.
    pub const ALL: [Change; 7] =
        [Change::Insert, Change::Update, Change::Remove, Change::Split, Change::Merge, Change::Root, Change::Recovery];

    /// The head of its column.
    pub fn name(self) -> &'static str {
        match self {
            Change::Insert => "insert",
            Change::Update => "update",
            Change::Remove => "remove",
            Change::Split => "split",
            Change::Merge => "merge",
            Change::Root => "root",
            Change::Recovery => "recovery",
        }
    }

    /// Does this and nothing else, but end the epoch; a recovery has more to do after more.
    fn script(self, capacity: usize) -> Script {
        match self {
            Change::Insert => inserts(),
            Change::Update => updates(),
            Change::Remove => removals(),
            Change::Split => {
                let mut script = overflow(capacity);
                script.steps.push(Step::Tick);
                script
            }
            Change::Merge => merge(capacity),
            Change::Root => grow_root(capacity),
            Change::Recovery => change(),
        }
    }

    fn plan(self, persistency: Persistency, bounds: Bounds) -> Plan {
        let few = Bounds { exhaustive: bounds.exhaustive / 40, pairs: 2, random: 2 };
        match self {
            // Each image is two hundred leaves.
            Change::Root => Plan { bounds: few, ..Plan::suite(persistency) },
            Change::Recovery => Plan { bounds: few, ..Plan::twice(persistency) },
            _ => Plan { bounds, ..Plan::suite(persistency) },
        }
    }
}

/// What was looked at where a change meets a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// Images opened, and whether they stand for all there are.
    Looked {
        /// Those that an opening can tell apart.
        images: u64,
        /// How many different images of all moments they stand for.
        stood_for: u128,
        /// No moment had too many.
        whole: bool,
    },
    /// The design need not do this, and why.
    Excused(&'static str),
    /// Nothing was looked at, and why.
    Empty(String),
}

/// A design under one model.
#[derive(Clone, Debug)]
pub struct Row {
    /// The design.
    pub design: &'static str,
    /// When an operation is durable: it changes what a crash may take.
    pub durable: &'static str,
    /// The model.
    pub persistency: Persistency,
    /// For each change, in their order.
    pub cells: Vec<(Change, Cell)>,
}

impl Row {
    /// The changes at which nothing was looked at.
    pub fn holes(&self) -> impl Iterator<Item = (Change, &str)> {
        self.cells.iter().filter_map(|(change, cell)| match cell {
            Cell::Empty(why) => Some((*change, why.as_str())),
            _ => None,
        })
    }
}

/// The bounds of a table that is made in seconds.
pub fn quick() -> Bounds {
    Bounds { exhaustive: 300, pairs: 10, random: 10 }
}

/// The rows of every design there is, or of one.
///
/// # Errors
/// The first violation.
pub fn every_row(bounds: Bounds, only: Option<&str>) -> Result<Vec<Row>, Box<Violation>> {
    let mut all = vec![];
    macro_rules! each {
        ($($name:ident)*) => {
            $(if only.is_none_or(|only| only == stringify!($name)) {
                all.extend(rows::<holm_tree::designs::$name>(bounds)?);
            })*
        };
    }
    holm_tree::for_each_design!(each);
    Ok(all)
}

/// The rows of one design.
///
/// # Errors
/// The first violation.
pub fn rows<D: Design>(bounds: Bounds) -> Result<Vec<Row>, Box<Violation>> {
    let durable = if D::Leaf::CARD.defers { "epoch" } else { "return" };
    let row = |persistency: Persistency| {
        let cell = |change: Change| {
            let script = change.script(capacity::<D>());
            Ok((change, cell::<D>(change, &script, &change.plan(persistency, bounds))?))
        };
        let cells = Change::ALL.into_iter().map(cell).collect::<Result<_, Box<Violation>>>()?;
        Ok(Row { design: D::NAME, durable, persistency, cells })
    };
    Persistency::ALL.into_iter().map(row).collect()
}

/// One cell, by a script that should bring the change about.
///
/// # Errors
/// The violation.
pub fn cell<D: Design>(change: Change, script: &Script, plan: &Plan) -> Result<Cell, Box<Violation>> {
    if !D::Leaf::CARD.keeps {
        return Ok(Cell::Excused("keeps nothing"));
    }
    if excuse::<D>(plan.persistency).is_some() {
        return Ok(Cell::Excused("needs line order"));
    }
    if change == Change::Merge && !merges::<D>() {
        return Ok(Cell::Excused("has no merge"));
    }
    if let Err(why) = happens::<D>(change, script) {
        return Ok(Cell::Empty(why));
    }
    let report = explore::<D>(script, plan)?;
    let images = if change == Change::Recovery { report.in_recovery } else { report.images };
    if images < 2 {
        return Ok(Cell::Empty("no crash made a difference".into()));
    }
    Ok(Cell::Looked { images, stood_for: report.stood_for, whole: report.sampled == 0 })
}

/// Whether a design ever merges: an empty leaf is then worth an attempt.
fn merges<D: Design>() -> bool {
    let image = Image::heap(BLOCK as usize, 0);
    image.at::<D::Leaf>(Loc::new(Area::Leaves, 0)).is_some_and(|leaf| leaf.sparse(&Default::default()))
}

/// Whether a script does what its column says, without any crash.
fn happens<D: Design>(change: Change, script: &Script) -> Result<(), String> {
    let said = |error: holm_medium::MediumError| error.to_string();
    let (grove, _) = Grove::<D>::plant(script, advance, &BTreeSet::new()).map_err(said)?;
    let before = grove.contents().map_err(said)?;
    grove.run(&script.steps, &mut History::from(&before.0)).map_err(said)?;
    let after = grove.contents().map_err(said)?;
    let keys = |contents: &Contents| contents.iter().map(|pair| pair.0).collect::<BTreeSet<_>>();
    let (old, new) = (keys(&before.0), keys(&after.0));
    let happened = match change {
        Change::Insert => new.len() > old.len() && new.is_superset(&old),
        Change::Update => new == old && after.0 != before.0,
        Change::Remove => new.len() < old.len() && old.is_superset(&new),
        Change::Split => after.1.len() > before.1.len(),
        Change::Merge => after.1.len() < before.1.len(),
        // One twig leads to 64 leaves.
        Change::Root => before.1.len() <= 64 && after.1.len() > 64,
        Change::Recovery => true,
    };
    happened.then_some(()).ok_or_else(|| format!("script {} brings no {} about", script.name, change.name()))
}

/// The rows for a machine to read.
pub fn json(rows: &[Row]) -> serde_json::Value {
    let cell = |cell: &Cell| match cell {
        Cell::Looked { images, stood_for, whole } => {
            serde_json::json!({ "images": images, "stood_for": *stood_for as f64, "whole": whole })
        }
        Cell::Excused(why) => serde_json::json!({ "excused": why }),
        Cell::Empty(why) => serde_json::json!({ "empty": why }),
    };
    let row = |row: &Row| {
        let cells = row.cells.iter().map(|(change, it)| (change.name().to_owned(), cell(it)));
        let cells: serde_json::Map<_, _> = cells.collect();
        serde_json::json!({
            "design": row.design, "durable": row.durable, "model": row.persistency.name(), "changes": cells,
        })
    };
    rows.iter().map(row).collect()
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Looked { images, whole: true, .. } => f.pad(&images.to_string()),
            Cell::Looked { images, whole: false, .. } => f.pad(&format!("{images}+")),
            Cell::Excused(_) => f.pad("-"),
            Cell::Empty(_) => f.pad("EMPTY"),
        }
    }
}

/// The rows under one another, each with its excuses.
pub struct Table<'a>(pub &'a [Row]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<24}{:<9}{:<9}", "design", "durable", "model")?;
        Change::ALL.iter().try_for_each(|change| write!(f, "{:>10}", change.name()))?;
        for row in self.0 {
            write!(f, "\n{:<24}{:<9}{:<9}", row.design, row.durable, row.persistency.name())?;
            row.cells.iter().try_for_each(|(_, cell)| write!(f, "{cell:>10}"))?;
            let excuse = |(_, cell): &(Change, Cell)| match cell {
                Cell::Excused(why) => Some(*why),
                _ => None,
            };
            let excuses: BTreeSet<_> = row.cells.iter().filter_map(excuse).collect();
            excuses.iter().try_for_each(|why| write!(f, "  {why}"))?;
        }
        write!(f, "\n\nImages that an opening can tell apart; + where some moment had too many to visit all.")
    }
}
