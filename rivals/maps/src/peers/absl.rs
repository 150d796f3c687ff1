//! `absl::btree_map`, the C++ peer. This is one of the files where `unsafe` is allowed: a foreign interface.

use crate::peer::{Peer, Value, Wholly};
use holm_map::Real;
use std::ffi::{c_char, c_void};

/// A map of pairs of one type, and the calls to it.
macro_rules! peer {
    ($name:ident, $key:ty, $bytes:literal, $raw:ty, $as_raw:expr,
     $new:ident $free:ident $insert:ident $get:ident $remove:ident $scan:ident $of_sorted:ident $copy:ident $sum:ident
     $sum_back:ident) => {
        unsafe extern "C" {
            fn $new() -> *mut c_void;
            fn $free(map: *mut c_void);
            fn $insert(map: *mut c_void, key: $raw, value: *const c_char);
            fn $get(map: *const c_void, key: $raw) -> u64;
            fn $remove(map: *mut c_void, key: $raw) -> usize;
            fn $scan(map: *const c_void, from: $raw, count: usize) -> u64;
            fn $of_sorted(pairs: *const c_void, count: usize) -> *mut c_void;
            fn $copy(map: *const c_void) -> *mut c_void;
            fn $sum(map: *const c_void) -> u64;
            fn $sum_back(map: *const c_void) -> u64;
        }

        /// An owned map.
        pub(crate) struct $name(*mut c_void);

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: created by `new`, and given up here.
                unsafe { $free(self.0) };
            }
        }

        impl Peer<$key, $bytes> for $name {
            fn new(_: usize) -> Self {
                // SAFETY: creates an empty map; C++ ends the process if there is no memory.
                Self(unsafe { $new() })
            }

            fn insert(&mut self, key: $key, value: Value<$bytes>) {
                // SAFETY: this thread owns the map. The call reads as many bytes as the value has, and copies them.
                unsafe { $insert(self.0, $as_raw(key), value.as_ptr().cast()) };
            }

            fn get(&self, key: $key) -> u64 {
                // SAFETY: the map exists, and no other thread changes it while it is borrowed.
                unsafe { $get(self.0, $as_raw(key)) }
            }

            fn remove(&mut self, key: $key) -> bool {
                // SAFETY: this thread owns the map.
                unsafe { $remove(self.0, $as_raw(key)) > 0 }
            }

            fn scan(&self, from: $key, count: usize) -> u64 {
                // SAFETY: as in `get`.
                unsafe { $scan(self.0, $as_raw(from), count) }
            }
        }

        impl Wholly<$key, $bytes> for $name {
            fn of_sorted(pairs: &[($key, Value<$bytes>)]) -> Self {
                const { assert!(size_of::<($key, Value<$bytes>)>() == size_of::<$raw>() + $bytes) };
                const { assert!(std::mem::offset_of!(($key, Value<$bytes>), 0) == 0) };
                // SAFETY: a pair is the number and behind it the value, without gaps, as the line above checks. The
                // call copies as many pairs as there are.
                Self(unsafe { $of_sorted(pairs.as_ptr().cast(), pairs.len()) })
            }

            fn copy(&self) -> Self {
                // SAFETY: the map exists, and the call makes another one.
                Self(unsafe { $copy(self.0) })
            }

            fn sum(&self) -> u64 {
                // SAFETY: as in `get`.
                unsafe { $sum(self.0) }
            }

            fn sum_back(&self) -> u64 {
                // SAFETY: as in `get`.
                unsafe { $sum_back(self.0) }
            }
        }
    };
}

peer!(AbslWhole, u64, 8, u64, |key| key,
    absl_u64_new absl_u64_free absl_u64_insert absl_u64_get absl_u64_remove absl_u64_scan
    absl_u64_of_sorted absl_u64_copy absl_u64_sum absl_u64_sum_back);
peer!(AbslReal, Real<f32>, 28, f32, Real::<f32>::get,
    absl_f32_new absl_f32_free absl_f32_insert absl_f32_get absl_f32_remove absl_f32_scan
    absl_f32_of_sorted absl_f32_copy absl_f32_sum absl_f32_sum_back);
