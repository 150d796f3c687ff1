//! The table of coverage: each design, each kind of change, each model of a crash, and the number of images opened
//! there that an opening can distinguish.
//!
//! A cell is empty if the script did not cause the change, or if no crash made a difference. An empty cell is a hole in
//! the proof and fails. A design's capabilities or its leaf state what it is excused from, and the cell repeats the
//! reason.

mod controls;

pub use controls::{Control, controls};

use crate::commits::{IntentBug, crash_commits};
use crate::crashes::{Bounds, Persistency};
use crate::explore::{Plan, explore};
use crate::fixture::{TreeFixture, advance};
use crate::model::{Contents, History, Step};
use crate::scenarios::excuse;
use crate::script::{Script, change, empty_out, inserts, merge, overflow, removals, updates};
use crate::subject::Subject;
use crate::verdict::{Report, Violation};
use std::collections::BTreeSet;
use std::fmt;

/// A change of a tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// An absent key is inserted.
    Insert,
    /// A present key gets another payload.
    Update,
    /// A key is removed.
    Remove,
    /// A leaf becomes two.
    Split,
    /// Two leaves become one.
    Merge,
    /// Another level above the leaves.
    Root,
    /// Keys of several leaves change at one instant, under an intent.
    Commit,
    /// What a crash left is recovered.
    Recovery,
}

impl Change {
    /// All changes.
    pub const ALL: [Change; 8] = [
        Change::Insert,
        Change::Update,
        Change::Remove,
        Change::Split,
        Change::Merge,
        Change::Root,
        Change::Commit,
        Change::Recovery,
    ];

    /// The heading of its column.
    pub fn name(self) -> &'static str {
        match self {
            Change::Insert => "insert",
            Change::Update => "update",
            Change::Remove => "remove",
            Change::Split => "split",
            Change::Merge => "merge",
            Change::Root => "root",
            Change::Commit => "commit",
            Change::Recovery => "recovery",
        }
    }

    /// Scripts that cause this change and little else. Those that cause it count, for designs differ in when they do.
    fn scripts(self, subject: &'static Subject) -> Vec<Script> {
        let capacity = subject.capacity;
        // A first leaf may take fewer pairs than others.
        let fuller = || (capacity / 2..=capacity).rev().map(overflow);
        let splits = fuller().find(|script| happens(subject, Change::Split, script));
        let mut split = splits.unwrap_or_else(|| overflow(capacity));
        split.steps.push(Step::Tick);
        match self {
            Change::Insert => vec![inserts()],
            Change::Update => vec![updates()],
            Change::Remove => vec![removals()],
            Change::Split => vec![split],
            Change::Merge => vec![merge(capacity), empty_out(capacity)],
            Change::Root => growth(subject).into_iter().collect(),
            // A commit is no step of a script.
            Change::Commit => Vec::new(),
            Change::Recovery => vec![change(), split, merge(capacity)],
        }
    }

    fn plan(self, persistency: Persistency, bounds: Bounds) -> Plan {
        let few = Bounds { exhaustive: bounds.exhaustive / 40, pairs: 2, random: 2 };
        match self {
            // Each image has two hundred leaves.
            Change::Root => Plan { bounds: few, ..Plan::suite(persistency) },
            Change::Recovery => Plan { bounds: few, ..Plan::twice(persistency) },
            _ => Plan { bounds, ..Plan::suite(persistency) },
        }
    }
}

/// The coverage of a change under a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// Images were opened.
    Looked {
        /// The number of images that an opening can distinguish.
        images: u64,
        /// The number of different images of all moments that they represent.
        stood_for: u128,
        /// Whether no moment had too many images.
        whole: bool,
        /// Of these, the images that a crash within a recovery left.
        nested: u64,
    },
    /// The design need not do this, for this reason.
    Excused(&'static str),
    /// Nothing was opened, for this reason.
    Empty(String),
}

/// A design under one model.
#[derive(Clone, Debug)]
pub struct Row {
    /// The design.
    pub design: &'static str,
    /// When an operation is durable, which determines what a crash may lose.
    pub durable: &'static str,
    /// The model.
    pub persistency: Persistency,
    /// For each change, in order.
    pub cells: Vec<(Change, Cell)>,
}

impl Row {
    /// The changes for which nothing was opened.
    pub fn holes(&self) -> impl Iterator<Item = (Change, &str)> {
        self.cells.iter().filter_map(|(change, cell)| match cell {
            Cell::Empty(why) => Some((*change, why.as_str())),
            _ => None,
        })
    }
}

/// The bounds of a table that is made in seconds.
pub fn quick() -> Bounds {
    Bounds { exhaustive: 120, pairs: 4, random: 4 }
}

/// The rows of one design.
///
/// # Errors
/// The first violation.
pub fn rows(subject: &'static Subject, bounds: Bounds) -> Result<Vec<Row>, Box<Violation>> {
    let durable = if subject.capabilities.per_epoch { "epoch" } else { "return" };
    let row = |persistency: Persistency| {
        let cell = |change: Change| {
            let cell = match change {
                Change::Commit => commits(subject, persistency)?,
                _ => cell(subject, change, &change.scripts(subject), &change.plan(persistency, bounds))?,
            };
            Ok((change, cell))
        };
        let cells = Change::ALL.into_iter().map(cell).collect::<Result<_, Box<Violation>>>()?;
        Ok(Row { design: subject.name, durable, persistency, cells })
    };
    Persistency::ALL.into_iter().map(row).collect()
}

/// One cell, by scripts of which at least one should cause the change.
///
/// # Errors
/// The violation.
pub fn cell(
    subject: &'static Subject,
    change: Change,
    scripts: &[Script],
    plan: &Plan,
) -> Result<Cell, Box<Violation>> {
    if !subject.capabilities.stores_pairs {
        return Ok(Cell::Excused("keeps nothing"));
    }
    if excuse(subject, plan.persistency).is_some() {
        return Ok(Cell::Excused("needs line order"));
    }
    if change == Change::Merge && !subject.merges() {
        return Ok(Cell::Excused("has no merge"));
    }
    let happening: Vec<_> = scripts.iter().filter(|script| happens(subject, change, script)).collect();
    if happening.is_empty() {
        return Ok(Cell::Empty(format!("no script brings a {} about", change.name())));
    }
    let mut report = Report::default();
    for script in happening {
        report += explore(subject, script, plan)?;
    }
    let images = if change == Change::Recovery { report.in_recovery } else { report.images };
    if images < 2 {
        return Ok(Cell::Empty("no crash made a difference".into()));
    }
    let Report { stood_for, sampled, in_recovery: nested, .. } = report;
    Ok(Cell::Looked { images, stood_for, whole: sampled == 0, nested })
}

/// The cell of commits. A design that is durable per return is in no database whose commits recovery must complete: its
/// image is private. Some leaves belong to no commit of several.
fn commits(subject: &'static Subject, persistency: Persistency) -> Result<Cell, Box<Violation>> {
    if !subject.capabilities.stores_pairs {
        return Ok(Cell::Excused("keeps nothing"));
    }
    if excuse(subject, persistency).is_some() {
        return Ok(Cell::Excused("needs line order"));
    }
    if !subject.capabilities.per_epoch || !subject.capabilities.commits_leaves {
        return Ok(Cell::Excused("has no commit"));
    }
    let violation = |wrong: String| {
        Box::new(Violation {
            design: subject.name,
            script: "commits of several leaves".into(),
            persistency: persistency.name(),
            operation: "a commit".into(),
            event: "below".into(),
            lost: "below".into(),
            words: "none".into(),
            wrong,
            expected: "a commit as a whole or not at all".into(),
            found: "below".into(),
            replay: None,
        })
    };
    let crashes = crash_commits(subject, persistency, IntentBug::None).map_err(violation)?;
    let images = (crashes.images + crashes.in_recovery) as u64;
    if persistency == Persistency::Visible && crashes.in_recovery == 0 {
        return Ok(Cell::Empty("no recovery was crashed".into()));
    }
    Ok(Cell::Looked { images, stood_for: u128::from(images), whole: false, nested: crashes.in_recovery as u64 })
}

/// Pairs and leaves before and after a script's steps, without any crash; `None` if the script fails.
fn done(subject: &'static Subject, script: &Script) -> Option<[(Contents, usize); 2]> {
    let (fixture, _) = TreeFixture::create(subject, script, advance, &BTreeSet::new()).ok()?;
    let now = || fixture.contents().ok().map(|(pairs, leaves)| (pairs, leaves.len()));
    let before = now()?;
    fixture.run(&script.steps, &mut History::from(&before.0)).ok()?;
    Some([before, now()?])
}

/// Whether a script causes the change of its column.
fn happens(subject: &'static Subject, change: Change, script: &Script) -> bool {
    let Some([before, after]) = done(subject, script) else { return false };
    let keys = |contents: &Contents| contents.iter().map(|pair| pair.0).collect::<BTreeSet<_>>();
    let (old, new) = (keys(&before.0), keys(&after.0));
    match change {
        Change::Insert => new.len() > old.len() && new.is_superset(&old),
        Change::Update => new == old && after.0 != before.0,
        Change::Remove => new.len() < old.len() && old.is_superset(&new),
        Change::Split => after.1 > before.1,
        Change::Merge => after.1 < before.1,
        Change::Root => before.1 <= subject.children && after.1 > subject.children,
        Change::Commit | Change::Recovery => true,
    }
}

/// Ascending keys, of which the last few need more leaves than a leaf parent has children; the design determines how
/// many.
fn growth(subject: &'static Subject) -> Option<Script> {
    if !subject.capabilities.stores_pairs {
        return None;
    }
    let most = subject.children;
    let puts: Vec<_> = (1..=(most * subject.capacity * 2) as u64).map(|i| Step::Put(i * 10, i)).collect();
    let script = |upto: usize| {
        let (past, steps) = puts[..upto].split_at(upto.saturating_sub(8));
        Script { name: "growth".into(), past: past.to_vec(), steps: steps.to_vec(), blocks: 400 }
    };
    let leaves = |upto: usize| done(subject, &script(upto)).map_or(usize::MAX, |[_, after]| after.1);
    let (mut few, mut many) = (0, puts.len());
    while few + 1 < many {
        let middle = few.midpoint(many);
        if leaves(middle) > most { many = middle } else { few = middle }
    }
    (leaves(many) > most).then(|| script(many))
}

/// The rows as JSON, and behind them the controls. A table ends at the first violation, so that its rows have none. The
/// seed determines which images are opened where there are too many.
pub fn json(rows: &[Row], controls: &[Control]) -> serde_json::Value {
    let cell = |cell: &Cell| match cell {
        Cell::Looked { images, stood_for, whole, nested } => serde_json::json!({
            "images": images, "stood_for": *stood_for as f64, "whole": whole, "nested": nested,
        }),
        Cell::Excused(why) => serde_json::json!({ "excused": why }),
        Cell::Empty(why) => serde_json::json!({ "empty": why }),
    };
    let row = |row: &Row| {
        let cells = row.cells.iter().map(|(change, it)| (change.name().to_owned(), cell(it)));
        let cells: serde_json::Map<_, _> = cells.collect();
        serde_json::json!({
            "design": row.design, "durable": row.durable, "model": row.persistency.name(), "changes": cells,
            "violations": 0, "seed": Plan::suite(row.persistency).seed,
        })
    };
    let control = |control: &Control| {
        let caught = control.caught.map(Change::name);
        serde_json::json!({ "control": control.design, "model": control.persistency.name(), "caught": caught })
    };
    rows.iter().map(row).chain(controls.iter().map(control)).collect()
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

/// The rows below each other, each with its excuses.
pub struct Table<'a>(pub &'a [Row]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<34}{:<9}{:<9}", "design", "durable", "model")?;
        Change::ALL.iter().try_for_each(|change| write!(f, "{:>10}", change.name()))?;
        for row in self.0 {
            write!(f, "\n{:<34}{:<9}{:<9}", row.design, row.durable, row.persistency.name())?;
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
