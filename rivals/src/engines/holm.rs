//! Holm itself: `holm` over its default image, a shared mapping, and `private` over an image in anonymous memory.

use super::{Durability, Opened};
use holm::{Database, ImageMode};
use holm_bench::Store;
use std::path::Path;
use std::time::Duration;

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    open_image("holm", false, folder, durability)
}

pub(super) fn open_private(folder: &Path, durability: Durability) -> Opened {
    open_image("private", true, folder, durability)
}

fn open_image(name: &'static str, private: bool, folder: &Path, durability: Durability) -> Opened {
    let durability = match durability {
        Durability::Relaxed => holm::Durability::Buffered { interval: Duration::from_millis(10) },
        Durability::Synced => holm::Durability::Strict,
    };
    let image = if private { ImageMode::Private } else { ImageMode::Shared };
    let database = Database::builder().durability(durability).image(image).open(folder.join("data.holm"))?;
    Ok(Box::new(Store::new(name, database, "default")?))
}
