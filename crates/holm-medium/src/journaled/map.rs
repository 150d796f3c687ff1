//! Maps the data files, or reads them into memory.

#![forbid(unsafe_code)]

use super::data_files::area_path;
use super::opened::JournaledOptions;
use super::reserve::reserve_area;
use crate::error::{MediumError, Result};
use crate::image::Image;
use crate::loc::Area;
use crate::region::{Backing, Region};
use crate::superblock::ImageKind;
use crate::vfs::{VfsFile, read_exact_at};
use std::path::Path;

/// Maps the files, or reads them into memory. `looked_at` is given to read only: the bytes of leaves and of records.
pub(super) fn map(
    dir: &Path,
    files: &[Box<dyn VfsFile>; 2],
    kind: ImageKind,
    options: &JournaledOptions,
    looked_at: Option<[u64; 2]>,
) -> Result<Image> {
    let mut regions = Vec::new();
    for (index, area) in Area::ALL.into_iter().enumerate() {
        let (file, path) = (&files[index], area_path(dir, area));
        let io = |error| MediumError::io("mapping", &path, error);
        let len = file.len().map_err(io)?;
        // Beyond what a closed database had, nothing is a leaf or a record.
        let len = looked_at.map_or(len, |most| len.min(most[index]));
        let backing = backing(kind, &**file, looked_at.is_some());
        let region = match backing {
            Backing::Heap => Region::heap_to_grow(options.heap[index].max(len as usize)),
            _ => reserve_area(&**file, &path, options.reserve[index], len as usize, backing)?,
        };
        region.grow(len as usize / 8 * 8, file.fd()).map_err(io)?;
        regions.push((region, len, backing));
    }
    let loads =
        regions.iter().map(|(_, len, backing)| matches!(backing, Backing::Heap | Backing::Anonymous).then_some(*len));
    let loads: Vec<_> = loads.collect();
    let mut regions = regions.into_iter().map(|(region, ..)| region);
    let (Some(leaves), Some(records)) = (regions.next(), regions.next()) else { unreachable!("two areas") };
    let image = Image::new(leaves, records);
    for (index, area) in Area::ALL.into_iter().enumerate() {
        if let Some(len) = loads[index] {
            load(&*files[index], &image, area, len)
                .map_err(|error| MediumError::io("reading", &area_path(dir, area), error))?;
        }
    }
    Ok(image)
}

fn load(file: &dyn VfsFile, image: &Image, area: Area, len: u64) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    while at < len / 8 * 8 {
        let count = (len / 8 * 8 - at).min(buffer.len() as u64) as usize;
        read_exact_at(file, &mut buffer[..count], at)?;
        store(image, area.at(at), &buffer[..count]);
        at += count as u64;
    }
    Ok(())
}

/// Stores bytes into the image, before any other thread can see it.
pub(super) fn store(image: &Image, loc: u64, bytes: &[u8]) -> bool {
    let words = image.words(loc, bytes.len() / 8);
    for (word, bytes) in words.into_iter().flatten().zip(bytes.as_chunks::<8>().0) {
        word.fill(u64::from_le_bytes(*bytes));
    }
    words.is_some()
}

/// The backing of an area's region, for a kind of image and a kind of file.
fn backing(kind: ImageKind, file: &dyn VfsFile, read_only: bool) -> Backing {
    match (kind, file.fd().is_some(), read_only) {
        (_, false, _) => Backing::Heap,
        (_, true, true) => Backing::FileReadOnly,
        (ImageKind::Shared, true, false) => Backing::File,
        (ImageKind::Private, true, false) => Backing::Anonymous,
    }
}
