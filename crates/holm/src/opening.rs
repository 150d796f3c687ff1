//! Opening a database: a chain of types, each of which consumes the one before.
//!
//! ```text
//!             for writing                       for reading              over a medium
//!
//!  Request ---------- open                      open_read_only
//!                      |                             |
//!            Opened { files, empty trees }       ClosedFiles
//!                      | rebuild                     | rebuild                |
//!            Rebuilt { trees, intents }              |                        |
//!                      | resume_clock                |                        |
//!            Unnamed { trees without names } <-------+------------------------+
//!                      | read_catalog
//!            Named { trees with names, orphans }
//!                      | complete_commits            | finish                 | run_over_medium
//!            Completed { contents as they were }     |                        |
//!                      | start_threads               |                        |
//!            Running { epochs end }                  |                        |
//!                      | pass_grace_period           |                        |
//!                      | tidy_catalog <--------------|------------------------+
//!                   Engine                      ReadOnlyEngine
//! ```
//!
//! Before the caller sees an engine for writing, [`backup::complete`] applies a backup that was being applied.
//!
//! A state owns exactly what exists by then, and offers only the next step. No step can be left out or done twice, and
//! an [`Engine`] exists only once every step is done. A new step of opening is one function of one state. If a step
//! fails, its state is dropped: files are unlocked, and no state marks the database as closed.

mod kinds;
mod named;
mod opened;
mod read_only;
mod rebuilt;
mod request;
#[cfg(test)]
mod tests;

use crate::backup;
use crate::durability::Durability;
use crate::engine::{Engine, ReadOnlyEngine};
use crate::error::Result;
use crate::keys::Records;
use crate::options::Builder;
use holm_medium::{Medium, Writer};
use holm_tree::Entry;
use rebuilt::Unnamed;
use request::Request;
use std::path::Path;
use std::sync::Arc;

/// Opens a database for reading and writing. Recovers it if it was not closed.
pub(crate) fn open(path: &Path, builder: Builder) -> Result<Arc<Engine>> {
    let request = Request::to_write(path, &builder)?;
    let rebuilt = match request.open()?.rebuild()? {
        Ok(rebuilt) => rebuilt,
        // The superblock says so by now, so this open cuts history. Only if another process has used the database in
        // between may it find the same again.
        Err(lost) => request.open()?.explained_by(&lost).rebuild()?.map_err(|lost| lost.into_error())?,
    };
    let running = rebuilt.resume_clock()?.read_catalog()?.complete_commits()?.start_threads()?.pass_grace_period()?;
    let engine = Arc::new(running.tidy_catalog()?);
    backup::complete(&engine)?;
    engine.start_sweeper();
    engine.recovery.damaged.iter().for_each(|damage| log::warn!("holm: {}: {damage}", path.display()));
    log::info!("holm: {}: opened, {:?}", path.display(), engine.recovery);
    Ok(engine)
}

/// Opens a cleanly closed database for reading.
pub(crate) fn open_read_only(path: &Path, builder: Builder) -> Result<Arc<ReadOnlyEngine>> {
    let engine = request::open_read_only(path, &builder)?.rebuild(builder.threads)?.read_catalog()?.finish();
    Ok(Arc::new(engine))
}

/// Creates an empty database over a medium that flushes. It has no files, no log and no recovery; the caller ends the
/// epochs.
pub(crate) fn open_over<M: Medium>(
    writer: Arc<Writer<M>>,
    design: &Entry<M, Records>,
    durability: Durability,
) -> Result<Arc<Engine>> {
    let mut engine = Unnamed::over(writer, design)?.read_catalog()?.run_over_medium().tidy_catalog()?;
    let store = Arc::get_mut(&mut engine.store).expect("no sweeper shares the store before it is started");
    store.promise(durability);
    Ok(Arc::new(engine))
}
