//! Every design over plain memory, in one program. `xtask` reads the machine code of this program, so it calls each
//! operation of each design at least once and nothing is optimized away.

#![forbid(unsafe_code)]

use holm_designs::designs;
use holm_medium::{
    Area, FIRST_EPOCH, Image, Mapped, MappedOptions, Medium, Result as Done, Storage, StorageOps, Word, WriteHandle,
};
use holm_search::Search;
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Index, SeekTarget, Words};
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;

/// A medium without effects: its flushes and fences compile to nothing, so nothing separates two stores.
struct Silent(Arc<Image>);

impl Medium for Silent {
    fn image(&self) -> &Arc<Image> {
        &self.0
    }
    fn flush(&self, _: u64) {}
    fn fence(&self) {}
    fn grow(&self, _: Area, _: u64) -> Done<()> {
        Ok(())
    }
}

/// Writes neighbouring words, which a compiler could combine into two vector stores.
#[inline(never)]
fn write_neighbours(handle: &mut WriteHandle<'_, Silent>, words: &[Word; 8], values: &[u64; 8]) {
    for (word, value) in words.iter().zip(values) {
        handle.write(word, *value);
    }
}

#[inline(never)]
fn fill_neighbours(handle: &mut WriteHandle<'_, Silent>, words: &[Word; 8], values: &[u64; 8]) {
    handle.fill(words, values.iter().copied());
}

fn neighbours() -> Result<(), Box<dyn Error>> {
    let writer = Storage::open(Silent(Arc::new(Image::heap(4096, 64))), FIRST_EPOCH)?;
    let words = writer.image().words(Area::Leaves.at(1024), 8).ok_or("within the image")?.try_into()?;
    let mut handle = writer.begin_write_at(FIRST_EPOCH);
    write_neighbours(&mut handle, words, &black_box([1; 8]));
    fill_neighbours(&mut handle, words, &black_box([2; 8]));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    for (name, _) in designs::CAPABILITIES {
        let medium = Mapped::heap(1 << 20, 64, MappedOptions::default());
        let writer = Arc::new(Storage::open(medium, FIRST_EPOCH)?);
        let index = designs::open(name, writer.clone(), Words, Search::detect()).ok_or("words suit every design")?;
        println!("{name}: {} pairs before a rebuild and after", work(&*index, &*writer)?);
    }
    neighbours()
}

/// Runs puts, removes and rebuilds; returns the number of pairs at the end.
fn work(index: &dyn Index<Words>, storage: &dyn StorageOps) -> Result<usize, Box<dyn Error>> {
    let root = index.create_tree(&mut storage.clock().pin()?, 1)?;
    for key in 0..500 {
        index.put(&root, &mut storage.clock().pin()?, key * 7 % 500, key + 1)?;
    }
    for key in 0..400 {
        index.remove(&root, &mut storage.clock().pin()?, key)?;
    }
    let rebuilt = index.rebuild(RecoveryPoint::Visible, storage.clock().active(), 1)?;
    let (mut pairs, mut edge) = (0, 0);
    for root in &rebuilt.roots {
        loop {
            let cursor = index.cursor_at(root, SeekTarget::Holding(edge));
            pairs += cursor.pairs.len();
            match cursor.edge {
                Some(high) => edge = high,
                None => break,
            }
        }
    }
    Ok(pairs)
}
