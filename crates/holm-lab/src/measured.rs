//! Trees with keys and payloads of 8 bytes over plain memory, for measurements below the store.
//!
//! A measurement runs a list of keys. Its loop over them is compiled here, with the design, so the only dynamic call is
//! the one per list: lookups inside a loop are inlined and overlap. A dynamic call per lookup would cost five to nine
//! nanoseconds, and no two lookups would overlap.

mod memory;
mod tree;

use holm_designs::{designs, for_each_design, for_each_variant, variants};
use holm_medium::{Counts, Latency, Result, Word};
use holm_tree::Design;
use holm_tree::leaf::Capabilities;
pub use memory::Memory;
use std::time::Duration;
use tree::Tree;

/// The options of a measured tree.
#[derive(Clone, Copy, Debug)]
pub struct TreeSetup {
    /// Pairs that the tree will hold.
    pub pairs: u64,
    /// The emulated latency of write-backs.
    pub latency: Latency,
    /// The interval between ends of epochs, if the design is durable per epoch.
    pub epoch: Duration,
    /// Whether lines are flushed at all.
    pub flush: bool,
    /// Counts the calls to the medium. The owner then ends epochs itself, because the counts must not depend on when an
    /// epoch happens to end.
    pub count: bool,
}

/// What an operation of a recorded trace does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Looks the key up.
    Get,
    /// Puts a payload under the key.
    Put,
    /// Removes the key.
    Remove,
}

/// An operation of a recorded trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The key.
    pub key: u64,
    /// What is done with it.
    pub what: What,
}

/// A tree that runs lists of keys. Every method may run on many threads at once, except [`MeasuredTree::rebuild`].
///
/// While a list runs, epochs are pinned as the design needs it. A design that is durable per epoch pins one for each
/// operation that writes. For a design that is durable on return, the epoch only decides when freed memory is reused,
/// so one guard serves many operations.
pub trait MeasuredTree: Send + Sync {
    /// Puts under each key the key with the bits of `mask` flipped.
    ///
    /// # Errors
    /// The medium's error if it cannot grow.
    fn put(&self, keys: &[u64], mask: u64) -> Result<()>;
    /// Puts each key, as [`MeasuredTree::put`] does, and passes on the time of each put. The call to `each` is not
    /// part of that time.
    ///
    /// # Errors
    /// As [`MeasuredTree::put`].
    fn put_timed(&self, keys: &[u64], mask: u64, each: &mut dyn FnMut(Duration)) -> Result<()>;
    /// Removes each key.
    ///
    /// # Errors
    /// The medium's.
    fn remove(&self, keys: &[u64]) -> Result<()>;
    /// Looks up each key. Returns the sum of the payloads.
    fn get(&self, keys: &[u64]) -> u64;
    /// Looks up each key only after the payload of the key before it is known. The payloads are what
    /// [`MeasuredTree::put`] has put with this mask.
    fn get_dependent(&self, keys: &[u64], mask: u64);
    /// Looks up the keys in groups of `together`.
    fn get_many(&self, keys: &[u64], together: usize);
    /// Scans `count` pairs from each key on, or as many as exist. Returns the number of pairs, and a number that
    /// depends on each pair.
    fn scan(&self, keys: &[u64], count: usize) -> (usize, u64);
    /// Puts and looks up in turns, where a put and the lookup after it share a guard.
    ///
    /// # Errors
    /// As [`MeasuredTree::put`].
    fn mix(&self, keys: &[u64]) -> Result<()>;
    /// Runs a recorded trace.
    ///
    /// # Errors
    /// As [`MeasuredTree::put`].
    fn replay(&self, requests: &[Request]) -> Result<()>;

    /// Waits until everything is durable, if a thread ends epochs.
    ///
    /// # Errors
    /// The medium's.
    fn settle(&self) -> Result<()>;
    /// Ends an epoch, for callers that count.
    ///
    /// # Errors
    /// The medium's.
    fn end_epoch(&self) -> Result<()>;
    /// Rebuilds all volatile state from the leaves, as a separate tree. Passes on the number of its pairs before that
    /// tree is dropped, which takes time, too. No other thread uses this tree meanwhile.
    ///
    /// # Errors
    /// `Corrupt`, which would be a bug.
    fn rebuild(&self, threads: usize, rebuilt: &mut dyn FnMut(u64)) -> Result<()>;
    /// Returns the number of pairs.
    fn pairs(&self) -> u64;
    /// Returns the calls to the medium so far, if it counts them.
    fn counts(&self) -> Counts;
    /// Returns the first block that was never allocated. It moves when a leaf splits, unless there is a free block.
    fn frontier(&self) -> u32;
    /// Returns the bytes of memory that the tree uses in addition to its leaves.
    fn volatile_bytes(&self) -> u64;
    /// Returns the bytes of leaf blocks in use.
    fn leaf_bytes(&self) -> u64;
    /// Returns the words of all leaves, and of `more` blocks that may be allocated next, for callers that observe which
    /// words are read.
    fn words(&self, more: u32) -> &[Word];
}

/// A design that can be measured.
#[derive(Clone, Copy, Debug)]
pub struct Measurable {
    /// The name in reports and on command lines.
    pub name: &'static str,
    /// Whether the list of variants has it, not the list of designs.
    pub is_variant: bool,
    /// What the design assumes and offers.
    pub capabilities: Capabilities,
    create: fn(TreeSetup) -> Result<Box<dyn MeasuredTree>>,
}

impl Measurable {
    fn of<D: Design>(is_variant: bool) -> Self {
        let create = |setup| Ok(Box::new(Tree::<D>::new(setup)?) as Box<dyn MeasuredTree>);
        Measurable { name: D::NAME, is_variant, capabilities: D::CAPABILITIES, create }
    }

    /// Creates an empty tree, and a thread that ends its epochs if the options ask for it.
    ///
    /// # Errors
    /// The medium's error if there is not enough memory.
    pub fn create(&self, setup: TreeSetup) -> Result<Box<dyn MeasuredTree>> {
        (self.create)(setup)
    }
}

/// Returns every design and then every variant.
#[must_use]
pub fn all() -> Vec<Measurable> {
    let mut all = Vec::new();
    macro_rules! listed {
        ($($name:ident)*) => { $(all.push(Measurable::of::<designs::$name>(false));)* };
    }
    macro_rules! varied {
        ($($name:ident)*) => { $(all.push(Measurable::of::<variants::$name>(true));)* };
    }
    for_each_design!(listed);
    for_each_variant!(varied);
    all
}

/// Returns the key of a number. The map is one-to-one and scatters.
#[inline]
#[must_use]
pub fn word(number: u64) -> u64 {
    let mixed = |word: u64, shift: u32, factor: u64| (word ^ word >> shift).wrapping_mul(factor);
    let word = mixed(number.wrapping_add(0x9E37_79B9_7F4A_7C15), 30, 0xBF58_476D_1CE4_E5B9);
    let word = mixed(word, 27, 0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}
