//! Strings of characters and bytes.
//!
//! A string that something follows needs an end that sorts before every byte: `00 01`. A zero byte within it is
//! `00 ff`, which sorts behind the end.

use super::key::{AsKey, Key, Prefix, taken};
use crate::slice::Slice;

const END: u8 = 1;
const ZERO: u8 = 0xff;

fn encode(text: &[u8], bytes: &mut Vec<u8>, is_last: bool) {
    if is_last {
        return bytes.extend_from_slice(text);
    }
    for &byte in text {
        bytes.push(byte);
        if byte == 0 {
            bytes.push(ZERO);
        }
    }
    bytes.extend_from_slice(&[0, END]);
}

fn decode(bytes: &mut &[u8], is_last: bool) -> Option<Vec<u8>> {
    if is_last {
        return Some(std::mem::take(bytes).to_vec());
    }
    let mut text = Vec::new();
    loop {
        let [byte] = taken(bytes)?;
        match byte {
            0 => match taken(bytes)? {
                [END] => return Some(text),
                [ZERO] => text.push(0),
                _ => return None,
            },
            byte => text.push(byte),
        }
    }
}

/// A string, and what stands for it.
macro_rules! text {
    ($($key:ty: $make:expr, $prefix:ty, $($borrowed:ty)*;)*) => {$(
        impl Key for $key {
            fn decode(bytes: &mut &[u8], is_last: bool) -> Option<Self> {
                let make: fn(Vec<u8>) -> Option<$key> = $make;
                decode(bytes, is_last).and_then(make)
            }
        }

        impl Prefix<$key> for $prefix {
            fn encode_prefix(&self, bytes: &mut Vec<u8>) {
                let text: &[u8] = self.as_ref();
                bytes.extend_from_slice(text);
            }
        }

        $(impl AsKey<$key> for $borrowed {
            fn encode(&self, bytes: &mut Vec<u8>, is_last: bool) {
                encode(self.as_ref(), bytes, is_last);
            }
        })*
    )*};
}

text! {
    String: |bytes| String::from_utf8(bytes).ok(), str, str String;
    Vec<u8>: Some, [u8], [u8] Vec<u8> Slice str String;
    Slice: |bytes| Some(bytes.into()), [u8], [u8] Vec<u8> Slice str String;
}

impl<const N: usize> AsKey<Vec<u8>> for [u8; N] {
    fn encode(&self, bytes: &mut Vec<u8>, is_last: bool) {
        encode(self, bytes, is_last);
    }
}

impl<const N: usize> AsKey<Slice> for [u8; N] {
    fn encode(&self, bytes: &mut Vec<u8>, is_last: bool) {
        encode(self, bytes, is_last);
    }
}

/// Bytes of a fixed number: they need no end.
impl<const N: usize> AsKey<[u8; N]> for [u8; N] {
    fn encode(&self, bytes: &mut Vec<u8>, _: bool) {
        bytes.extend_from_slice(self);
    }
}

impl<const N: usize> Key for [u8; N] {
    fn decode(bytes: &mut &[u8], _: bool) -> Option<Self> {
        taken(bytes)
    }
}
