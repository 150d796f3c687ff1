//! The designs that ship with the store, a line each, and the macro that makes such a list. Other crates have lists of
//! their own, which start with these.

use crate::inner::Sorted;
use crate::leaf::buffered::{Buffered, Fingerprints, Triple};

/// Makes a list of designs: their types, what is asked of one by its name, and a macro of the given name that goes
/// through all. A list may start with designs of another one.
#[macro_export]
macro_rules! designs {
    (
        $d:tt $each:ident $(after $($from:ident)::+ {$($other:ident),*})?:
        $($(#[$doc:meta])* $name:ident: leaf $leaf:ty, parent $parent:ty, upper $upper:ty;)*
    ) => {
        $(pub use $($from)::+::{$($other),*};)?
        $(
            $(#[$doc])*
            #[allow(non_camel_case_types, reason = "a design's type is spelled as its name in reports")]
            pub struct $name;
            impl $crate::Design for $name {
                const NAME: &'static str = stringify!($name);
                type Leaf = $leaf;
                type LeafParent = $parent;
                type Upper = $upper;
            }
        )*

        /// Every design of the list, by name, with its capabilities.
        pub const CAPABILITIES: &[(&str, $crate::leaf::Capabilities)] = &[
            $($((stringify!($other), <$other as $crate::Design>::CAPABILITIES),)*)?
            $((stringify!($name), <$name as $crate::Design>::CAPABILITIES)),*
        ];

        /// Every design of the list over a medium and for a kind of keys, in the order of the list.
        pub fn entries<M: holm_medium::Medium, K: $crate::Keys>() -> Vec<$crate::Entry<M, K>> {
            vec![$($($crate::Entry::of::<$other>(),)*)? $($crate::Entry::of::<$name>()),*]
        }

        /// The tree of a design over a medium, empty until it is rebuilt; `None` where no design of the list has that
        /// name, or the one that has does not suit the keys.
        pub fn open<M: holm_medium::Medium, K: $crate::Keys>(
            name: &str,
            writer: std::sync::Arc<holm_medium::Writer<M>>,
            keys: K,
            search: holm_search::Search,
        ) -> Option<Box<dyn $crate::Index<K>>> {
            let entry = entries::<M, K>().into_iter().find(|entry| entry.name == name)?;
            entry.capabilities.supports::<K>().then(|| (entry.open)(writer, keys, search))
        }

        /// Bytes of a design's leaf block; `None` where no design has that name.
        pub fn block_bytes(name: &str) -> Option<u32> {
            match name {
                $($(stringify!($other) => Some(size_of::<<$other as $crate::Design>::Leaf>() as u32),)*)?
                $(stringify!($name) => Some(size_of::<<$name as $crate::Design>::Leaf>() as u32),)*
                _ => None,
            }
        }

        /// Calls a macro with the name of every design of the list: what tests and benchmarks iterate with.
        #[macro_export]
        macro_rules! $each {
            ($d then:path) => { $d then! { $($($other)*)? $($name)* } };
        }
    };
}

designs! { $ for_each_shipped_design:
    /// BD+Tree: durability by epochs. The default of the store.
    buffered: leaf Buffered<1, (Triple, Fingerprints)>, parent Sorted<8>, upper Sorted<8>;
    /// BD+Tree's leaf with another block behind it before it is split: what the papers' leaves are together.
    holm: leaf Buffered<2, (Triple, Fingerprints)>, parent Sorted<8>, upper Sorted<8>;
}
