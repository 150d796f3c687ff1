//! What the kinds of opening add to the steps that they share.

use crate::intent;
use crate::options::Builder;
use holm_medium::{Epoch, Journaled, OpenedState, Storage};
use std::path::Path;
use std::sync::Arc;

/// The open files of a database, without threads.
pub(super) struct Files {
    pub(super) storage: Arc<Storage<Journaled>>,
    pub(super) state: OpenedState,
}

/// For writing: the files, and what is left of batches.
pub(super) struct ToWrite<'a> {
    pub(super) path: &'a Path,
    pub(super) builder: &'a Builder,
    pub(super) files: Files,
    pub(super) pending: Vec<intent::Pending>,
    /// The epoch of the changes that opening makes.
    pub(super) epoch: Epoch,
    /// The last epoch in use.
    pub(super) latest: Epoch,
}

/// Over a medium without files.
pub(super) struct OverMedium;
