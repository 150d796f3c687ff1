//! Sudden ends on real files: what a child process writes and reports, and how its parent checks what is left.
//!
//! The child ([`writer`]) executes numbered steps on several threads, beside two readers. It reports each number
//! through a pipe once the call has returned. The parent ([`round`]) ends the child at a random moment, opens the
//! database itself, and compares its contents with the [`ledger`]. Of each thread a prefix must be present, as long as
//! was promised; and no step may be present without the steps that had returned before it began. The binaries determine
//! how the end comes: by a signal or by a file system shut down. Other children run [`transactions`].

pub mod ledger;
pub mod options;
pub mod preload;
mod readers;
pub mod round;
mod source;
pub mod transactions;
mod wire;
pub mod writer;

use holm::{Builder, Database, Durability, ImageMode, Sweep};
use std::time::Duration;

/// How a database runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Whether the image is the process's own memory.
    pub private: bool,
    /// What a returned call guarantees.
    pub durability: Durability,
}

impl Mode {
    /// All modes; the last word of each name says whether the image is private.
    pub const NAMES: [&str; 6] =
        ["strict-shared", "buffered-shared", "on-sync-shared", "strict-private", "buffered-private", "on-sync-private"];

    /// The mode with this name.
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

    /// The options that parent and child share: a small log, so that there are many checkpoints, and a sweeper that is
    /// never far behind.
    pub fn builder(self) -> Builder {
        let image = if self.private { ImageMode::Private } else { ImageMode::Shared };
        let builder = Database::builder().durability(self.durability).image(image).log_bytes(2 << 20);
        builder.sweep(Sweep::Every(Duration::from_millis(20))).capacity(32 << 30)
    }
}
