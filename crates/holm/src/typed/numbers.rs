//! Numbers, truth values and characters.

use super::key::{AsKey, Key, taken};
use std::cmp::Reverse;

/// A number as big-endian bytes, by a mapping to an unsigned one that keeps the order, and its inverse.
macro_rules! number {
    ($($number:ty as $bits:ty: $to:expr, $from:expr;)*) => {$(
        impl AsKey<$number> for $number {
            fn encode(&self, bytes: &mut Vec<u8>, _: bool) {
                let to: fn($number) -> $bits = $to;
                bytes.extend_from_slice(&to(*self).to_be_bytes());
            }
        }

        impl Key for $number {
            fn decode(bytes: &mut &[u8], _: bool) -> Option<Self> {
                let from: fn($bits) -> Option<$number> = $from;
                from(<$bits>::from_be_bytes(taken(bytes)?))
            }
        }
    )*};
}

number! {
    u8 as u8: |number| number, Some;
    u16 as u16: |number| number, Some;
    u32 as u32: |number| number, Some;
    u64 as u64: |number| number, Some;
    u128 as u128: |number| number, Some;
    usize as u64: |number| number as u64, |bits| bits.try_into().ok();
    i8 as u8: |number| number as u8 ^ (1 << 7), |bits| Some((bits ^ (1 << 7)) as i8);
    i16 as u16: |number| number as u16 ^ (1 << 15), |bits| Some((bits ^ (1 << 15)) as i16);
    i32 as u32: |number| number as u32 ^ (1 << 31), |bits| Some((bits ^ (1 << 31)) as i32);
    i64 as u64: |number| number as u64 ^ (1 << 63), |bits| Some((bits ^ (1 << 63)) as i64);
    i128 as u128: |number| number as u128 ^ (1 << 127), |bits| Some((bits ^ (1 << 127)) as i128);
    isize as u64: |number| number as i64 as u64 ^ (1 << 63), |bits| ((bits ^ (1 << 63)) as i64).try_into().ok();
    bool as u8: u8::from, |bits| (bits < 2).then_some(bits == 1);
    char as u32: u32::from, char::from_u32;
    // A negative number has its highest bit, and the greater its other bits, the less it is.
    f32 as u32: |number| sorted32(number.to_bits()), |bits| Some(f32::from_bits(unsorted32(bits)));
    f64 as u64: |number| sorted64(number.to_bits()), |bits| Some(f64::from_bits(unsorted64(bits)));
}

fn sorted32(bits: u32) -> u32 {
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn unsorted32(bits: u32) -> u32 {
    if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits }
}

fn sorted64(bits: u64) -> u64 {
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn unsorted64(bits: u64) -> u64 {
    if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits }
}

impl<K, Q: AsKey<K>> AsKey<Option<K>> for Option<Q> {
    fn encode(&self, bytes: &mut Vec<u8>, is_last: bool) {
        bytes.push(self.is_some().into());
        if let Some(value) = self {
            value.encode(bytes, is_last);
        }
    }
}

impl<K: Key> Key for Option<K> {
    fn decode(bytes: &mut &[u8], is_last: bool) -> Option<Self> {
        match bool::decode(bytes, false)? {
            true => K::decode(bytes, is_last).map(Some),
            false => Some(None),
        }
    }
}

impl<K, Q: AsKey<K>> AsKey<Reverse<K>> for Reverse<Q> {
    fn encode(&self, bytes: &mut Vec<u8>, _: bool) {
        let begin = bytes.len();
        // Always with its end: a string would otherwise sort before what it begins, flipped or not.
        self.0.encode(bytes, false);
        bytes[begin..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

impl<K: Key> Key for Reverse<K> {
    fn decode(bytes: &mut &[u8], _: bool) -> Option<Self> {
        let flipped: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let mut rest = &flipped[..];
        let key = K::decode(&mut rest, false)?;
        *bytes = &bytes[flipped.len() - rest.len()..];
        Some(Reverse(key))
    }
}
