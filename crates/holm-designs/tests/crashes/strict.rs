//! Every crash of every operation on one leaf of each design that is durable when an operation returns.

use crate::names::Names;
use crate::operations::every_operation;
use holm_designs::designs;
use holm_tree::leaf::{Capabilities, Leaf as _};
use holm_tree::{Design, Words};

macro_rules! tests {
    ($($name:ident)*) => {
        $(
            mod $name {
                use super::*;

                type Leaf = <designs::$name as Design>::Leaf;
                const CAPABILITIES: Capabilities = <designs::$name as Design>::CAPABILITIES;
                const STRICT: bool = CAPABILITIES.stores_pairs && !CAPABILITIES.per_epoch;

                #[test]
                fn words_survive_every_crash_of_every_operation() {
                    if STRICT {
                        every_operation::<Leaf, _>(&Words, 2);
                    }
                }

                #[test]
                fn keys_with_few_heads_survive_every_crash() {
                    if STRICT && !Leaf::NEEDS_WHOLE_KEYS {
                        every_operation::<Leaf, _>(&Names::default(), 0);
                    }
                }
            }
        )*
    };
}

holm_designs::for_each_design!(tests);
