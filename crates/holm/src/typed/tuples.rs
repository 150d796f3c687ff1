//! Tuples: one part after the other. Their first parts are prefixes.

use super::key::{AsKey, Key, Prefix};

/// A tuple of parts with a type of keys, and of what stands for it, each; the last one apart.
macro_rules! tuple {
    ($($part:ident $with:ident),*; $last:ident $last_with:ident) => {
        impl<$($part, $with: AsKey<$part>,)* $last, $last_with: AsKey<$last>> AsKey<($($part,)* $last,)>
            for ($($with,)* $last_with,)
        {
            #[allow(non_snake_case, reason = "parts are named as their types are")]
            fn encode(&self, bytes: &mut Vec<u8>, is_last: bool) {
                let ($($with,)* $last_with,) = self;
                $($with.encode(bytes, false);)*
                $last_with.encode(bytes, is_last);
            }
        }

        impl<$($part: Key,)* $last: Key> Key for ($($part,)* $last,) {
            fn decode(bytes: &mut &[u8], is_last: bool) -> Option<Self> {
                Some(($($part::decode(bytes, false)?,)* $last::decode(bytes, is_last)?,))
            }
        }
    };
}

tuple!(; A QA);
tuple!(A QA; B QB);
tuple!(A QA, B QB; C QC);
tuple!(A QA, B QB, C QC; D QD);
tuple!(A QA, B QB, C QC, D QD; E QE);
tuple!(A QA, B QB, C QC, D QD, E QE; F QF);

/// The first parts of longer tuples.
macro_rules! prefix {
    ($($part:ident $with:ident),* of $($rest:ident),*) => {
        impl<$($part, $with: AsKey<$part>,)* $($rest),*> Prefix<($($part,)* $($rest,)*)> for ($($with,)*) {
            #[allow(non_snake_case, reason = "parts are named as their types are")]
            fn encode_prefix(&self, bytes: &mut Vec<u8>) {
                let ($($with,)*) = self;
                $($with.encode(bytes, false);)*
            }
        }
    };
}

prefix!(A QA of B);
prefix!(A QA of B, C);
prefix!(A QA of B, C, D);
prefix!(A QA of B, C, D, E);
prefix!(A QA of B, C, D, E, F);
prefix!(A QA, B QB of C);
prefix!(A QA, B QB of C, D);
prefix!(A QA, B QB of C, D, E);
prefix!(A QA, B QB of C, D, E, F);
prefix!(A QA, B QB, C QC of D);
prefix!(A QA, B QB, C QC of D, E);
prefix!(A QA, B QB, C QC of D, E, F);
prefix!(A QA, B QB, C QC, D QD of E);
prefix!(A QA, B QB, C QC, D QD of E, F);
prefix!(A QA, B QB, C QC, D QD, E QE of F);
