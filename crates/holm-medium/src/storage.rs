//! A medium with its clock and its free space, and the first block of the leaf area, which belongs to neither tree nor
//! store.

use crate::epoch::{Clock, Epoch};
use crate::error::{MediumError, Result};
use crate::image::Image;
use crate::loc::{Area, Loc};
use crate::medium::Medium;
use crate::space::{BLOCK, Space};
use crate::word::Word;
use crate::writer::Writer;
use std::sync::Arc;

/// How many batches may be under way at once.
pub const INTENTS: usize = 32;

crate::persistent! {
    /// Block 0 of the leaf area.
    #[repr(align(64))]
    pub struct StorageHeader {
        /// On media that flush: everything up to this epoch is durable. Alone in its line, for it is the commit word of
        /// every epoch. On files the log's last record says so instead.
        pub durable: Word,
        rest_of_line: [Word; 7],
        /// Batches under way: where the intent of each lies, or zero. Meant for the death of the process alone.
        pub intents: [Word; INTENTS],
        reserved: [Word; 24],
    }
}

/// A medium, the clock that labels what is written to it, and its free space.
pub struct Storage<M: Medium> {
    /// What the bytes rest on.
    pub medium: M,
    /// Labels and durability.
    pub clock: Clock,
    /// What is free.
    pub space: Space,
}

impl<M: Medium> Storage<M> {
    /// Opens a storage whose active epoch is `active`, everything before it being durable, and hands out its one
    /// writer.
    ///
    /// # Errors
    /// The medium's, where not even block 0 fits.
    pub fn open(medium: M, active: Epoch) -> Result<Writer<M>> {
        medium.grow(Area::Leaves, BLOCK)?;
        let reserved = Area::ALL.map(|area| medium.image().area(area).reserved());
        let clock = Clock::new(active, reserved);
        Ok(Writer::new(Arc::new(Storage { medium, clock, space: Space::new() })))
    }

    /// A storage over a medium that is only looked at.
    ///
    /// # Errors
    /// None today.
    pub fn open_read_only(medium: M, active: Epoch) -> Result<Writer<M>> {
        let reserved = Area::ALL.map(|area| medium.image().area(area).reserved());
        let clock = Clock::new(active, reserved);
        Ok(Writer::new(Arc::new(Storage { medium, clock, space: Space::new() })))
    }

    /// The cache's view, to share.
    pub fn medium_image(&self) -> Arc<Image> {
        self.medium.image().clone()
    }

    /// Block 0.
    ///
    /// # Errors
    /// `Corrupt` if the leaf area is shorter than a block.
    pub fn header(&self) -> Result<&StorageHeader> {
        let found = self.medium.image().at(Loc::new(Area::Leaves, 0));
        found.ok_or_else(|| MediumError::Corrupt {
            path: "leaves".into(),
            offset: 0,
            what: "the storage's block",
            found: "nothing".into(),
            expected: "512 bytes".into(),
        })
    }
}
