//! A medium with its clock and its free space, and the header: block 0 of the leaf area, which belongs neither to the
//! tree nor to the store.

use crate::epoch::Clock;
use crate::error::{MediumError, Result};
use crate::image::Image;
use crate::loc::{Area, Loc};
use crate::medium::Medium;
use crate::space::Space;
use crate::word::Word;
use std::sync::Arc;

/// The largest number of commits in progress at once.
pub const INTENTS: usize = 32;

crate::persistent! {
    /// The header: block 0 of the leaf area.
    #[repr(align(64))]
    pub struct StorageHeader {
        /// On media that flush: everything up to this epoch is durable. This word has its line to itself, since it is
        /// the commit word of each epoch. On files the last record of the log takes its place.
        pub durable: Word,
        rest_of_line: [Word; 7],
        /// Commits in progress: where the intent of each is, or zero. They serve recovery from the death of the
        /// process only.
        pub intents: [Word; INTENTS],
        reserved: [Word; 24],
    }
}

/// A medium, the clock that labels what is written to it, and its free space.
pub struct Storage<M: Medium> {
    /// The medium that makes the image durable.
    pub medium: M,
    /// Epoch labels and durability.
    pub clock: Clock,
    /// The free space.
    pub space: Space,
}

impl<M: Medium> Storage<M> {
    /// The cache's view, to share.
    pub fn medium_image(&self) -> Arc<Image> {
        self.medium.image().clone()
    }

    /// The header, in block 0.
    ///
    /// # Errors
    /// `Corrupt` if the leaf area is shorter than a block.
    pub fn header(&self) -> Result<&StorageHeader> {
        let found = self.medium.image().at(Loc::new(Area::Leaves, 0));
        found.ok_or_else(|| MediumError::Corrupt {
            path: self.medium.folder().unwrap_or("".as_ref()).join("leaves"),
            offset: 0,
            what: "the storage's block",
            found: "nothing".into(),
            expected: "512 bytes".into(),
        })
    }
}
