//! The published form, in which the proof finds what it loses: every payload is a mark, and lines are flushed where the
//! published code flushes them.

use super::form::{Form, starts_line};
use crate::guide::Guide;
use holm_medium::{Medium, Word, WriteHandle};
use holm_tree::keys::{Keys, Slot};
use holm_tree::pair::Pair;
use std::marker::PhantomData;

/// The marks and flushes of the public code.
pub struct Published<G>(PhantomData<G>);

impl<G: Guide> Form for Published<G> {
    type Guide = G;
    const FRONT_BY_MARK: bool = true;
    const FLUSHES_END: bool = false;

    #[inline(always)]
    fn flushes(to: usize, _: usize) -> bool {
        starts_line(to)
    }

    #[inline(always)]
    fn words<K: Keys>(pair: &Pair) -> (&Word, &Word) {
        (&pair.payload, &pair.head)
    }

    #[inline(always)]
    fn values<K: Keys>(slot: Slot) -> (u64, u64) {
        (slot.payload, slot.head)
    }

    #[inline(always)]
    fn front(_: &Word, first: &Pair) -> bool {
        first.payload.read() != 0
    }

    #[inline(always)]
    fn set_front<M: Medium>(handle: &mut WriteHandle<'_, M>, _: &Word, first: &Pair, counts: bool) {
        // The payload that an insert stores lets the slot count by itself.
        if !counts {
            handle.write(&first.payload, 0);
        }
    }
}
