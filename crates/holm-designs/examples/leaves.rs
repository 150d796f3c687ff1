//! Every design over plain memory, in one program. `xtask` reads the machine code of this program, so it calls each
//! operation of each design at least once and nothing is optimized away.

#![forbid(unsafe_code)]

use holm_designs::designs;
use holm_medium::{Area, FIRST_EPOCH, Ground, Image, Mapped, MappedOptions, Medium, Pen, Pool, Result as Done, Word};
use holm_search::Search;
use holm_tree::leaf::Cut;
use holm_tree::{Index, Toward, Words};
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
fn write_neighbours(pen: &mut Pen<'_, Silent>, words: &[Word; 8], values: &[u64; 8]) {
    for (word, value) in words.iter().zip(values) {
        pen.write(word, *value);
    }
}

#[inline(never)]
fn fill_neighbours(pen: &mut Pen<'_, Silent>, words: &[Word; 8], values: &[u64; 8]) {
    pen.fill(words, values.iter().copied());
}

fn neighbours() -> Result<(), Box<dyn Error>> {
    let quill = Pool::open(Silent(Arc::new(Image::heap(4096, 64))), FIRST_EPOCH)?;
    let words = quill.image().words(Area::Leaves.at(1024), 8).ok_or("within the image")?.try_into()?;
    let mut pen = quill.cut_at(FIRST_EPOCH);
    write_neighbours(&mut pen, words, &black_box([1; 8]));
    fill_neighbours(&mut pen, words, &black_box([2; 8]));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    for (name, _) in designs::CARDS {
        let medium = Mapped::heap(1 << 20, 64, MappedOptions::default());
        let quill = Arc::new(Pool::open(medium, FIRST_EPOCH)?);
        let index = designs::open(name, quill.clone(), Words, Search::detect()).ok_or("words suit every design")?;
        println!("{name}: {} pairs before a rebuild and after", work(&*index, &*quill)?);
    }
    neighbours()
}

/// Runs puts, removes and rebuilds; returns the number of pairs at the end.
fn work(index: &dyn Index<Words>, ground: &dyn Ground) -> Result<usize, Box<dyn Error>> {
    let root = index.plant(&mut ground.clock().check_in()?, 1)?;
    for key in 0..500 {
        index.put(&root, &mut ground.clock().check_in()?, key * 7 % 500, key + 1, None)?;
    }
    for key in 0..400 {
        index.remove(&root, &mut ground.clock().check_in()?, key, None)?;
    }
    let rebuilt = index.rebuild(Cut::Visible, ground.clock().active(), 1)?;
    let (mut pairs, mut edge) = (0, 0);
    for root in &rebuilt.roots {
        loop {
            let view = index.view(root, Toward::Holding(edge));
            pairs += view.pairs.len();
            match view.edge {
                Some(high) => edge = high,
                None => break,
            }
        }
    }
    Ok(pairs)
}
