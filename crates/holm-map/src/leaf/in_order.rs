//! The slots of one leaf in the order of their keys: what an iterator holds of the leaf that it is in.

use holm_search::{Lane, LaneKernels, MASK_LANES};

/// Slots in the order of their keys.
pub trait Slots: Clone + Default {
    /// The number of slots.
    fn len(&self) -> usize;

    /// Returns the slot at a position below [`Slots::len`].
    fn slot(&self, at: usize) -> usize;
}

/// The slots of a leaf that has at most [`MASK_LANES`]: they need no memory of their own.
#[derive(Clone)]
pub struct FewSlots {
    pub(super) slots: [u8; MASK_LANES],
    pub(super) count: usize,
}

impl Default for FewSlots {
    #[inline(always)]
    fn default() -> Self {
        Self { slots: [0; MASK_LANES], count: 0 }
    }
}

impl Slots for FewSlots {
    #[inline(always)]
    fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn slot(&self, at: usize) -> usize {
        usize::from(self.slots[at % MASK_LANES])
    }
}

/// The slots of a leaf of any size.
impl Slots for Vec<u32> {
    fn len(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn slot(&self, at: usize) -> usize {
        self[at] as usize
    }
}

/// Returns the selected indices of `lanes` in the order of the lanes.
#[inline(always)]
pub(super) fn in_order<X: LaneKernels, L: Lane>(x: X, lanes: &[L; MASK_LANES], which: u64) -> [u8; MASK_LANES] {
    let count = which.count_ones() as usize;
    if which & which.wrapping_add(1) == 0 && lanes[..count].is_sorted() {
        return std::array::from_fn(|at| at as u8);
    }
    let (mut order, certain) = x.order(lanes, which);
    if !certain {
        order[..count].sort_unstable_by_key(|place| lanes[usize::from(*place) % MASK_LANES]);
    }
    order
}
