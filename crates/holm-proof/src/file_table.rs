//! The table of what a database does with its files: closing and its index, opening by an index, commits, checkpoints,
//! drops, compactions, increments of backups and restorations. Each is stopped at every call to the simulated disk, by
//! the death of the process or by a loss of power; what is left is opened, and stopped once more in the recovery.
//!
//! It stands beside the table of the designs (`table`), whose crashes fall between stores of a tree. Here they fall
//! between calls to files, which no tree makes. A cell without an image, or without one of a recovery, is a hole and
//! fails.

mod left;
mod run;
mod work;

pub use left::Left;
pub use work::Work;

use crate::disk::{Fault, Kind, SimDisk};
use holm::ImageMode;
use run::{Base, Run};
use std::fmt;

/// How often each work is stopped, and how many recoveries of each image.
#[derive(Clone, Copy, Debug)]
pub struct FileBounds {
    /// Stops in each work, evenly over its calls; `None` stops at every call.
    pub stops: Option<u64>,
    /// The recoveries of an image that are stopped, at calls that differ.
    pub recoveries: u64,
}

impl FileBounds {
    /// Bounds of a table that is made in seconds.
    pub const QUICK: FileBounds = FileBounds { stops: Some(4), recoveries: 1 };
    /// Every call.
    pub const ALL: FileBounds = FileBounds { stops: None, recoveries: 2 };
}

/// What was opened.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FileCell {
    /// Images that a stop in the work has left.
    pub images: u64,
    /// Images that a second stop, in the recovery of one of those, has left.
    pub in_recovery: u64,
}

/// How a database is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    /// The name of its design.
    pub design: &'static str,
    /// Whether the image is private.
    pub private: bool,
}

impl Mode {
    /// Both images of each design that ships.
    pub fn all() -> impl Iterator<Item = Mode> {
        let designs = holm_tree::designs::CAPABILITIES.iter().map(|(design, _)| *design);
        designs.flat_map(|design| [false, true].map(|private| Mode { design, private }))
    }

    fn image(self) -> ImageMode {
        if self.private { ImageMode::Private } else { ImageMode::Shared }
    }

    fn image_name(self) -> &'static str {
        if self.private { "private" } else { "shared" }
    }
}

/// The images of one mode that are left in one way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRow {
    /// How the database is opened.
    pub mode: Mode,
    /// What is left of the disk.
    pub left: Left,
    /// For each work, in order.
    pub cells: Vec<(Work, FileCell)>,
}

impl FileRow {
    /// The work of which nothing was opened, or no recovery stopped.
    pub fn holes(&self) -> impl Iterator<Item = Work> {
        self.cells.iter().filter(|(_, cell)| cell.images == 0 || cell.in_recovery == 0).map(|(work, _)| *work)
    }
}

/// The rows of all modes.
///
/// # Errors
/// What is wrong with the first image that should not have been left.
pub fn file_rows(bounds: FileBounds) -> Result<Vec<FileRow>, String> {
    let mut rows = Vec::new();
    for mode in Mode::all() {
        let columns: Result<Vec<_>, String> =
            Work::ALL.into_iter().map(|work| Ok((work, file_cells(work, mode, bounds)?))).collect();
        let columns = columns?;
        for (number, left) in Left::ALL.into_iter().enumerate() {
            let cells = columns.iter().map(|(work, cells)| (*work, cells[number])).collect();
            rows.push(FileRow { mode, left, cells });
        }
    }
    Ok(rows)
}

/// Stops a work at its calls, and judges what is left: one cell for each way, in order.
///
/// # Errors
/// What is wrong with the first image that should not have been left.
pub fn file_cells(work: Work, mode: Mode, bounds: FileBounds) -> Result<Vec<FileCell>, String> {
    let base = Base::new(work, mode);
    Left::ALL.into_iter().map(|left| cell(&base, left, bounds)).collect()
}

fn cell(base: &Base, left: Left, bounds: FileBounds) -> Result<FileCell, String> {
    let mut cell = FileCell::default();
    let step = bounds.stops.map_or(1, |stops| (base.calls / stops).max(1));
    for call in (0..).step_by(step as usize) {
        let disk = base.disk.kill();
        let mut run = Run::begin(base, &disk);
        let before = disk.calls().of(Kind::Any);
        left.stop(&disk, before + call);
        run.work();
        let reached = disk.calls().of(Kind::Any) - before;
        // While the handle lives: a handle that is let go of closes its files.
        let found = left.of(&disk, call);
        let floor = run.floor(left);
        drop(run);
        let said = |wrong: String| format!("{:?}, {:?}, {left} at call {call}: {wrong}", base.work, base.mode);
        base.judge(&found.kill(), floor).map_err(said)?;
        cell.images += 1;
        for again in 0..bounds.recoveries {
            // Another place for each image: together they are all calls of a recovery.
            let at = (call / step * 7 + again * 41) % Base::MOST_CALLS;
            if let Some(found) = stopped_in_recovery(base, &found, left, at) {
                let floor = base.floor_after(left, floor);
                base.judge(&found, floor).map_err(|wrong| said(format!("again at {at}: {wrong}")))?;
                cell.in_recovery += 1;
            }
        }
        if reached <= call {
            break;
        }
    }
    Ok(cell)
}

/// Stops the recovery of an image at a call; `None` if it makes fewer calls.
fn stopped_in_recovery(base: &Base, found: &SimDisk, left: Left, at: u64) -> Option<SimDisk> {
    let disk = found.kill();
    disk.fail(Kind::Any, at, Fault::PowerCut);
    let opened = base.open(&disk);
    let is_stopped = disk.calls().of(Kind::Any) > at;
    let found = left.after_power(&disk, at);
    drop(opened);
    is_stopped.then_some(found)
}

/// The rows as JSON.
pub fn file_json(rows: &[FileRow]) -> serde_json::Value {
    let row = |row: &FileRow| {
        let cell = |(work, cell): &(Work, FileCell)| {
            (work.name().to_owned(), serde_json::json!({ "images": cell.images, "in_recovery": cell.in_recovery }))
        };
        let cells: serde_json::Map<_, _> = row.cells.iter().map(cell).collect();
        let Mode { design, .. } = row.mode;
        serde_json::json!({ "design": design, "image": row.mode.image_name(), "left": row.left.name(), "work": cells })
    };
    rows.iter().map(row).collect()
}

/// The rows below each other.
pub struct FileTable<'a>(pub &'a [FileRow]);

impl fmt::Display for FileTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<11}{:<9}{:<12}", "design", "image", "left by")?;
        Work::ALL.iter().try_for_each(|work| write!(f, "{:>13}", work.name()))?;
        for row in self.0 {
            write!(f, "\n{:<11}{:<9}{:<12}", row.mode.design, row.mode.image_name(), row.left.name())?;
            let cell = |cell: &FileCell| format!("{}+{}", cell.images, cell.in_recovery);
            row.cells.iter().try_for_each(|(_, it)| write!(f, "{:>13}", cell(it)))?;
        }
        write!(f, "\n\nImages that a stop in the work has left, and those that another in the recovery has.")
    }
}
