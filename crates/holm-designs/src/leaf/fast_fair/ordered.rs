//! The form that holds: marks by the role of a word, and each line is durable before the shift leaves it.

use super::form::{FRONT, Form, starts_line};
use crate::guide::Guide;
use holm_medium::{Medium, Word, WriteHandle};
use holm_tree::keys::{Keys, Slot};
use holm_tree::pair::{Pair, unique_and_other};
use std::marker::PhantomData;

/// The form that the designs have.
pub struct Ordered<G>(PhantomData<G>);

impl<G: Guide> Form for Ordered<G> {
    type Guide = G;
    const FRONT_BY_MARK: bool = false;
    const FLUSHES_END: bool = true;

    #[inline(always)]
    fn flushes(to: usize, end: usize) -> bool {
        starts_line(to + 1) || to + 1 == end
    }

    #[inline(always)]
    fn words<K: Keys>(pair: &Pair) -> (&Word, &Word) {
        (pair.unique_word::<K>(), pair.other_word::<K>())
    }

    #[inline(always)]
    fn values<K: Keys>(slot: Slot) -> (u64, u64) {
        unique_and_other::<K>(slot)
    }

    #[inline(always)]
    fn front(home: &Word, _: &Pair) -> bool {
        home.read() & FRONT != 0
    }

    #[inline(always)]
    fn set_front<M: Medium>(handle: &mut WriteHandle<'_, M>, home: &Word, _: &Pair, counts: bool) {
        let rest = home.read() & !FRONT;
        handle.write(home, if counts { rest | FRONT } else { rest });
    }
}
