//! Holm itself: `holm` over its default image, a shared mapping; `private` over an image in anonymous memory; and
//! `clustered` with records in its leaves' pages.

use super::{Durability, Opened};
use holm::{Database, ImageMode};
use holm_bench::Store;
use std::path::Path;
use std::time::Duration;

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    open_design("holm", "buffered", ImageMode::Shared, folder, durability)
}

pub(super) fn open_private(folder: &Path, durability: Durability) -> Opened {
    open_design("private", "buffered", ImageMode::Private, folder, durability)
}

pub(super) fn open_clustered(folder: &Path, durability: Durability) -> Opened {
    open_design("clustered", "clustered", ImageMode::Shared, folder, durability)
}

fn open_design(name: &'static str, design: &str, image: ImageMode, folder: &Path, durability: Durability) -> Opened {
    let durability = match durability {
        Durability::Relaxed => holm::Durability::Buffered { interval: Duration::from_millis(10) },
        Durability::Synced => holm::Durability::Strict,
    };
    let builder = Database::builder().durability(durability).image(image).design(design);
    let database = builder.open(folder.join("data.holm"))?;
    Ok(Box::new(Store::new(name, database, "default")?))
}
