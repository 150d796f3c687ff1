//! Sudden ends on real files: what a child process writes and reports, and how its parent checks what is left.
//!
//! The child ([`writer`]) executes numbered steps on several threads, beside two readers. It reports each number
//! through a pipe once the call has returned. The parent ([`round`]) ends the child at a random moment, opens the
//! database itself, and compares its contents with the [`ledger`]. Of each thread a prefix must be present, as long as
//! was promised; and no step may be present without the steps that had returned before it began. The binaries determine
//! how the end comes: by a signal or by a file system shut down. Other children run [`transactions`].

pub mod ledger;
pub mod little_memory;
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
    /// The name of its design.
    pub design: &'static str,
    /// Whether the image is the process's own memory.
    pub private: bool,
    /// What a returned call guarantees.
    pub durability: Durability,
}

/// The durabilities and images, in words: those of the shared image first.
const KINDS: [&str; 6] =
    ["strict-shared", "buffered-shared", "on-sync-shared", "strict-private", "buffered-private", "on-sync-private"];

/// The number of kinds with the shared image.
const SHARED: usize = 3;

/// The designs that ship.
fn designs() -> impl ExactSizeIterator<Item = &'static str> {
    holm_tree::designs::CAPABILITIES.iter().map(|(design, _)| *design)
}

impl Mode {
    /// The name of a mode for each number: those of all modes, again and again, and another design each time. The first
    /// word is the design's; the last one says whether the image is private.
    pub fn name(number: u64) -> String {
        Self::name_of(&KINDS, number)
    }

    /// The same of the modes with the shared image: a private one is memory, so it cannot be larger than memory.
    pub fn shared_name(number: u64) -> String {
        Self::name_of(&KINDS[..SHARED], number)
    }

    fn name_of(kinds: &[&str], number: u64) -> String {
        let number = number as usize;
        let kind = kinds[number % kinds.len()];
        // Both steps: the kinds have all designs only if each round begins with another one.
        let design = designs().nth((number + number / kinds.len()) % designs().len());
        format!("{}-{kind}", design.expect("the remainder is less than their number"))
    }

    /// The mode with this name.
    pub fn named(name: &str) -> Option<Mode> {
        let (design, kind) = name.split_once('-')?;
        let (durability, image) = kind.rsplit_once('-')?;
        let durability = match durability {
            "strict" => Durability::Strict,
            "buffered" => Durability::Buffered { interval: Duration::from_millis(2) },
            "on-sync" => Durability::OnSync,
            _ => return None,
        };
        Some(Mode { design: designs().find(|name| *name == design)?, private: image == "private", durability })
    }

    /// The options that parent and child share: a small log, so that there are many checkpoints, and a sweeper that is
    /// never far behind.
    pub fn builder(self) -> Builder {
        let image = if self.private { ImageMode::Private } else { ImageMode::Shared };
        let builder = Database::builder().design(self.design).durability(self.durability).image(image);
        builder.log_bytes(2 << 20).sweep(Sweep::Every(Duration::from_millis(20))).capacity(32 << 30)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_name_each_mode_of_each_design_once() {
        for (kinds, name) in [(KINDS.len(), Mode::name as fn(u64) -> String), (SHARED, Mode::shared_name)] {
            let all = (kinds * designs().len()) as u64;
            let names: HashSet<_> = (0..all).map(name).collect();
            assert_eq!(names.len(), all as usize);
            assert!(names.iter().all(|name| Mode::named(name).is_some()), "{names:?}");
        }
        assert!((0..100).all(|number| Mode::named(&Mode::shared_name(number)).is_some_and(|mode| !mode.private)));
        assert!(Mode::named("reef-strict-shared").is_none());
    }
}
