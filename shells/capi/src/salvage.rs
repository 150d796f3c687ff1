//! Damage: a scrub that looks for it beside writers, and a repair that saves what it has left.

use crate::code::{HOLM_CORRUPT, HOLM_OK, Refusal};
use crate::database::{Database, path};
use crate::door::{c_text, door};
use crate::growing::{self, Growing, GrowingOut};
use crate::options::Options;
use crate::raw;
use std::ffi::{c_char, c_int, c_void};
use std::ops::ControlFlow;

/// The struct of the header.
#[repr(C)]
pub struct ScrubReport {
    size: usize,
    leaves: u64,
    records: u64,
    bytes: u64,
    total_bytes: u64,
    unsettled_leaves: u64,
    damages: u64,
}

/// The struct of the header.
#[repr(C)]
pub struct RepairReport {
    size: usize,
    keyspaces: u64,
    records: u64,
    orphans: u64,
    leaves: u64,
    log_entries: u64,
    completed_commits: u64,
    superseded_records: u64,
    damaged_records: u64,
    foreign_records: u64,
    doubtful_records: u64,
    unreadable_leaves: u64,
    missing_log_entries: u64,
    lost_names: u64,
    losses: u64,
}

/// The type `holm_scrub_watch` of the header.
pub type ScrubWatch =
    Option<unsafe extern "C" fn(context: *mut c_void, report: *const ScrubReport, damage: *const c_char) -> c_int>;

/// The type `holm_tell` of the header.
pub type Tell = Option<unsafe extern "C" fn(context: *mut c_void, text: *const c_char)>;

const _: () = assert!(size_of::<ScrubReport>() == 56 && size_of::<RepairReport>() == 120, "laid out as in the header");

// SAFETY: as in the header, and numbers alone, whose sizes add up to that of the struct.
unsafe impl Growing for ScrubReport {
    const NAME: &str = "HOLM_SCRUB_REPORT";
}

// SAFETY: as in the header, and numbers alone, whose sizes add up to that of the struct.
unsafe impl Growing for RepairReport {
    const NAME: &str = "HOLM_REPAIR_REPORT";
}

impl ScrubReport {
    fn new(report: &holm::ScrubReport, total_bytes: u64) -> Self {
        let &holm::ScrubReport { leaves, records, bytes, unsettled_leaves, damage_count, .. } = report;
        ScrubReport {
            size: size_of::<ScrubReport>(),
            leaves,
            records,
            bytes,
            total_bytes,
            unsettled_leaves,
            damages: damage_count,
        }
    }
}

impl From<&holm::RepairReport> for RepairReport {
    fn from(report: &holm::RepairReport) -> Self {
        RepairReport {
            size: size_of::<RepairReport>(),
            keyspaces: report.keyspaces,
            records: report.records,
            orphans: report.orphans,
            leaves: report.leaves,
            log_entries: report.log_records,
            completed_commits: report.completed_commits,
            superseded_records: report.superseded_records,
            damaged_records: report.damaged_records,
            foreign_records: report.foreign_records,
            doubtful_records: report.doubtful_records,
            unreadable_leaves: report.unreadable_leaves,
            missing_log_entries: report.missing_log_records,
            lost_names: report.lost_names.len() as u64,
            losses: report.losses.len() as u64,
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_scrub(
    database: *const Database,
    rate: u64,
    watch: ScrubWatch,
    context: *mut c_void,
    report: *mut ScrubReport,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place of its stated size or NULL, and an open handle.
        let (mut out, database) = unsafe { (GrowingOut::maybe(report)?, raw::handle(database, "the database")?) };
        let scrub = match database {
            Database::Writable(database) => database.scrub(),
            Database::ReadOnly(database) => database.scrub(),
        };
        let (mut told, mut total, mut ended) = (0, 0, HOLM_OK);
        let done = scrub.rate(rate).run(|progress| {
            total = progress.total_bytes;
            let Some(watch) = watch else { return ControlFlow::Continue(()) };
            let now = ScrubReport::new(progress.report, total);
            // Each damage that is new, and then the leaf itself.
            let new = progress.report.damages[told..].iter().map(|damage| Some(c_text(&damage.to_string())));
            told = progress.report.damages.len();
            for text in new.chain([None]) {
                let text = text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
                // SAFETY: by the header's contract a function for these arguments, which returns, and only reads them.
                ended = unsafe { watch(context, &raw const now, text) };
                if ended != HOLM_OK {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        out.set(&ScrubReport::new(&done, total));
        match done.damages.first() {
            _ if ended != HOLM_OK => Ok(ended),
            None => Ok(HOLM_OK),
            Some(first) => Err(Refusal::new(HOLM_CORRUPT, first.to_string())),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_repair(
    damaged: *const c_char,
    folder: *const c_char,
    options: *const Options,
    orphans: c_int,
    tell: Tell,
    context: *mut c_void,
    report: *mut RepairReport,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place of its stated size or NULL, and terminated paths.
        let (mut out, damaged, folder) = unsafe { (GrowingOut::maybe(report)?, path(damaged)?, path(folder)?) };
        let mut repair = holm::Repair::of(damaged).orphans(orphans != 0);
        if !options.is_null() {
            // SAFETY: by the header's contract: options of their stated size.
            repair = repair.options(unsafe { growing::read(options)?.builder()? });
        }
        let done = repair.write_to(folder)?;
        out.set(&RepairReport::from(&done));
        if let Some(tell) = tell {
            for line in done.to_string().lines().map(c_text) {
                // SAFETY: by the header's contract a function for these arguments, which returns, and only reads them.
                unsafe { tell(context, line.as_ptr()) };
            }
        }
        Ok(HOLM_OK)
    })
}
