//! Std's atomics, with a step before each access. Shuttle's own would keep a vector clock in each, which nothing here
//! asks for: clocks have millions of atomics.

use super::step;
pub use std::sync::atomic::{Ordering, compiler_fence, fence};

macro_rules! atomics {
    ($($name:ident: $value:ty;)*) => {
        $(
            /// Std's atomic of this name, with a step before each access.
            #[derive(Default)]
            #[repr(transparent)]
            pub struct $name(std::sync::atomic::$name);

            #[allow(missing_docs, reason = "as std's")]
            impl $name {
                pub const fn new(value: $value) -> Self {
                    $name(std::sync::atomic::$name::new(value))
                }

                pub fn get_mut(&mut self) -> &mut $value {
                    self.0.get_mut()
                }

                pub fn into_inner(self) -> $value {
                    self.0.into_inner()
                }

                #[inline]
                pub fn load(&self, order: Ordering) -> $value {
                    step();
                    self.0.load(order)
                }

                #[inline]
                pub fn store(&self, value: $value, order: Ordering) {
                    step();
                    self.0.store(value, order);
                }

                #[inline]
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.swap(value, order)
                }

                #[inline]
                pub fn compare_exchange(
                    &self,
                    found: $value,
                    new: $value,
                    order: Ordering,
                    failed: Ordering,
                ) -> Result<$value, $value> {
                    step();
                    self.0.compare_exchange(found, new, order, failed)
                }

                #[inline]
                pub fn compare_exchange_weak(
                    &self,
                    found: $value,
                    new: $value,
                    order: Ordering,
                    failed: Ordering,
                ) -> Result<$value, $value> {
                    self.compare_exchange(found, new, order, failed)
                }

                #[inline]
                pub fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.fetch_and(value, order)
                }

                #[inline]
                pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.fetch_or(value, order)
                }

                /// In two accesses, as std's: another thread may come between, and then it begins anew.
                pub fn fetch_update(
                    &self,
                    set: Ordering,
                    fetch: Ordering,
                    mut change: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    let mut found = self.load(fetch);
                    while let Some(new) = change(found) {
                        match self.compare_exchange(found, new, set, fetch) {
                            Err(other) => found = other,
                            done => return done,
                        }
                    }
                    Err(found)
                }
            }

            impl std::fmt::Debug for $name {
                fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    std::fmt::Debug::fmt(&self.0, out)
                }
            }
        )*
    };
}

macro_rules! integers {
    ($($name:ident: $value:ty;)*) => {
        atomics! { $($name: $value;)* }
        $(
            #[allow(missing_docs, reason = "as std's")]
            impl $name {
                #[inline]
                pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.fetch_add(value, order)
                }

                #[inline]
                pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.fetch_sub(value, order)
                }

                #[inline]
                pub fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.fetch_max(value, order)
                }

                #[inline]
                pub fn fetch_min(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.fetch_min(value, order)
                }
            }
        )*
    };
}

atomics! { AtomicBool: bool; }

integers! {
    AtomicI64: i64;
    AtomicU8: u8;
    AtomicU32: u32;
    AtomicU64: u64;
    AtomicUsize: usize;
}
