//! The designs that ship with the store, one line each, and the macro that makes such a list. Lists of other crates
//! start with these.

use crate::inner::Sorted;
use crate::leaf::buffered::{Buffered, Clustered, Fingerprints, Triple};

/// Makes a list of designs: their types, their properties by name, and a macro of the given name that iterates over
/// them. A list may start with the designs of another one.
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

        /// Every design of the list: its name and its capabilities.
        pub const CAPABILITIES: &[(&str, $crate::leaf::Capabilities)] = &[
            $($((stringify!($other), <$other as $crate::Design>::CAPABILITIES),)*)?
            $((stringify!($name), <$name as $crate::Design>::CAPABILITIES)),*
        ];

        /// Returns every design of the list, for a medium and a kind of keys, in list order.
        pub fn entries<M: holm_medium::Medium, K: $crate::Keys>() -> Vec<$crate::Entry<M, K>> {
            vec![$($($crate::Entry::of::<$other>(),)*)? $($crate::Entry::of::<$name>()),*]
        }

        /// Opens a design's tree set over a medium, empty until it is rebuilt. `None` if no design of the list has that
        /// name, or if the design does not support the keys.
        pub fn open<M: holm_medium::Medium, K: $crate::Keys>(
            name: &str,
            writer: std::sync::Arc<holm_medium::Writer<M>>,
            keys: K,
            search: holm_search::Search,
        ) -> Option<Box<dyn $crate::Index<K>>> {
            let entry = entries::<M, K>().into_iter().find(|entry| entry.name == name)?;
            entry.capabilities.supports::<K>().then(|| (entry.open)(writer, keys, search))
        }

        /// Returns the bytes of a design's leaf block; `None` if no design has that name.
        pub fn block_bytes(name: &str) -> Option<u32> {
            match name {
                $($(stringify!($other) => Some(size_of::<<$other as $crate::Design>::Leaf>() as u32),)*)?
                $(stringify!($name) => Some(size_of::<<$name as $crate::Design>::Leaf>() as u32),)*
                _ => None,
            }
        }

        /// Calls a macro with the name of every design of the list, for tests and benchmarks.
        #[macro_export]
        macro_rules! $each {
            ($d then:path) => { $d then! { $($($other)*)? $($name)* } };
        }
    };
}

designs! { $ for_each_shipped_design:
    /// BD+Tree: durable per epoch. The default of the store.
    buffered: leaf Buffered<1, (Triple, Fingerprints)>, parent Sorted<8>, upper Sorted<8>;
    /// BD+Tree's leaf, which may have one overflow block before it is split: it joins the papers' leaf designs.
    holm: leaf Buffered<2, (Triple, Fingerprints)>, parent Sorted<8>, upper Sorted<8>;
    /// BD+Tree's leaf in a page of 4 KiB that has the records of its pairs, for data larger than memory.
    clustered: leaf Buffered<1, Clustered>, parent Sorted<8>, upper Sorted<8>;
}
