//! [`Persistent`], the claim that a type consists of words only, and the macro that proves it field by field.
//!
//! `unsafe` is allowed in this file. An implementation of [`Persistent`] by hand vouches for the claim. All other
//! types use [`persistent!`](crate::persistent!), which admits only fields that are persistent themselves.

use crate::word::{Scratch, Word};
use std::sync::atomic::AtomicU64;

/// A type that consists of words only: any bits are valid, it has no pointers and no padding.
///
/// # Safety
///
/// The type is `repr(C)` or `repr(transparent)`, each field is `Persistent`, and it has no padding. A reference to it
/// may be made to any aligned eight-byte words, while other threads store to them atomically.
pub unsafe trait Persistent: Send + Sync + 'static {}

// SAFETY: one atomic word; any bits are a `u64`.
unsafe impl Persistent for Word {}
// SAFETY: as above.
unsafe impl Persistent for Scratch {}
// SAFETY: no bytes at all.
unsafe impl Persistent for () {}
// SAFETY: an array of persistent elements has neither padding nor pointers.
unsafe impl<T: Persistent, const N: usize> Persistent for [T; N] {}

/// Defines a struct that lies in an image. Each field must itself be [`Persistent`]; the size must be a whole number of
/// words (checked when compiled).
///
/// ```
/// holm_medium::persistent! {
///     /// A pair of words.
///     pub struct Pair { pub key: holm_medium::Word, pub payload: holm_medium::Word }
/// }
/// assert_eq!(size_of::<Pair>(), 16);
/// ```
///
/// Sizes are parameters, and behind them one type, whose bound promises what a field of it is made of:
///
/// ```
/// use holm_medium::{Persistent, Word, persistent};
/// pub trait Rest: Send + Sync + 'static { type Words: Persistent; }
/// persistent! {
///     pub struct Block<const PAIRS: usize; R: Rest> { pub pairs: [Word; PAIRS], pub rest: R::Words }
/// }
/// ```
///
/// A field that is not made of words does not compile:
///
/// ```compile_fail
/// holm_medium::persistent! { struct Bad { name: String } }
/// ```
#[macro_export]
macro_rules! persistent {
    ($(#[$meta:meta])* $vis:vis struct $name:ident
        $(<$(const $size:ident : usize),* $(; $kind:ident : $bound:path)?>)?
        { $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty),* $(,)? }) => {
        $(#[$meta])*
        #[repr(C)]
        $vis struct $name $(<$(const $size: usize,)* $($kind: $bound)?>)? {
            $($(#[$field_meta])* $field_vis $field: $type),*
        }

        const _: () = {
            const fn made_of_words<T: $crate::Persistent>() {}
            impl $(<$(const $size: usize,)* $($kind: $bound)?>)? $name $(<$($size,)* $($kind)?>)? {
                #[allow(dead_code, reason = "it exists to be type-checked")]
                const PROOF: () = { $(made_of_words::<$type>();)* };
            }
        };
        // SAFETY: `repr(C)`, and `PROOF` bounds every field by `Persistent`; words have one size and one alignment, so
        // fields of words leave no padding (a wider `align` on the struct pads only past the last field with bytes
        // that are never read as a field).
        unsafe impl $(<$(const $size: usize,)* $($kind: $bound)?>)? $crate::Persistent
            for $name $(<$($size,)* $($kind)?>)? {}
    };
}

/// The words of which a persistent value consists, in order.
#[inline]
pub fn words<T: Persistent>(what: &T) -> &[Word] {
    // SAFETY: `T` is `Persistent`: it consists of words only, without padding, which may be read as atomics while other
    // threads store to them. `Scratch` and `Word` are both `repr(transparent)` over `AtomicU64`. The words are those of
    // `what`, for as long as it is borrowed.
    unsafe { std::slice::from_raw_parts((&raw const *what).cast::<Word>(), size_of::<T>() / size_of::<Word>()) }
}

/// Words as the atomics that vector kernels read. The kernels cannot write through them: they take shared slices, and
/// their crate uses atomics for loads only.
#[inline]
pub fn atomics(words: &[Word]) -> &[AtomicU64] {
    // SAFETY: `Word` is `repr(transparent)` over `AtomicU64`; length and lifetime are the slice's own.
    let atomics = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<AtomicU64>(), words.len()) };
    // The loads of a kernel are not observed one by one: a caller that asks for the atomics counts as a reader of all
    // of them.
    #[cfg(feature = "observed")]
    atomics.iter().for_each(crate::observed::read);
    atomics
}

/// Scratch words as the atomics that vector kernels read.
#[inline]
pub fn scratch_atomics(words: &[Scratch]) -> &[AtomicU64] {
    // SAFETY: `Scratch` is `repr(transparent)` over `AtomicU64`; length and lifetime are the slice's own.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<AtomicU64>(), words.len()) }
}
