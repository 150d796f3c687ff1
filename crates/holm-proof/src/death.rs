//! Sudden ends on real files: what a child process writes and reports, and how its parent judges what is left.
//!
//! The child ([`writer`]) does numbered steps on several threads and reports each number through a pipe once the call
//! has returned. The parent ([`round`]) ends it at a random moment, opens the database itself, and holds what it finds
//! against the [`ledger`]: of each thread a prefix, as long as was promised, and no step without those that had
//! returned before it began. How the end comes (a signal, a file system shut down) is left to the binaries.

pub mod ledger;
pub mod options;
pub mod round;
pub mod writer;

use holm::{Builder, Database, Durability, ImageMode};
use std::time::Duration;

/// How a database is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Whether the image is the process's own memory.
    pub private: bool,
    /// What a returned call promises.
    pub durability: Durability,
}

impl Mode {
    /// All of them; the last word of each name says whether the image is private.
    pub const NAMES: [&str; 6] =
        ["strict-shared", "buffered-shared", "on-sync-shared", "strict-private", "buffered-private", "on-sync-private"];

    /// The mode of a name.
    pub fn named(name: &str) -> Option<Mode> {
        let (durability, image) = name.rsplit_once('-')?;
        let durability = match durability {
            "strict" => Durability::Strict,
            "buffered" => Durability::Buffered { interval: Duration::from_millis(2) },
            "on-sync" => Durability::OnSync,
            _ => return None,
        };
        Some(Mode { private: image == "private", durability })
    }

    /// Options that parent and child share: a small log, so that checkpoints are many.
    pub fn builder(self) -> Builder {
        let image = if self.private { ImageMode::Private } else { ImageMode::Shared };
        Database::builder().durability(self.durability).image(image).log_bytes(2 << 20).capacity(1 << 30)
    }
}
