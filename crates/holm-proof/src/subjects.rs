//! All designs under test: those of the list, by name and together; the canaries; and the variants that have tests of
//! their own. With the feature `variants`, all variants together as well.
//!
//! Each subject compiles the trees of its design. With `HOLM_DESIGN=reef` in the environment of the build, only that
//! design exists, with the tests of its scenarios and of its row in the table of coverage.

#![allow(non_upper_case_globals, reason = "a design is spelled as its name in reports")]

use crate::subject::Subject;
use holm_designs::{designs, variants};

macro_rules! subjects {
    ($all:ident, $list:ident: $($name:ident)*) => {
        $(
            #[cfg(any(not(one_design), $name))]
            #[doc = concat!("`", stringify!($name), "`.")]
            pub static $name: Subject = Subject::of::<$list::$name>();
        )*
        /// All of these.
        pub static $all: &[&Subject] = &[$(#[cfg(any(not(one_design), $name))] &$name),*];
    };
}

macro_rules! of_designs {
    ($($name:ident)*) => { subjects! { DESIGNS, designs: $($name)* } };
}
holm_designs::for_each_design!(of_designs);

/// With durable nodes, which have scripts of their own.
pub mod durable {
    use super::{Subject, variants};
    subjects! { ALL, variants: fast_fair_all fast_fair_all_narrow isle_all isle_all_narrow wb_tree_all
    wb_tree_all_narrow }
}

/// Of one and two kilobytes, whose header differs from that of 512 bytes.
pub mod wide {
    use super::{Subject, variants};
    subjects! { ALL, variants: wb_tree_1k nv_tree_2k }
}

/// With the leaves' latches in the nodes above them.
pub mod locked {
    use super::{Subject, variants};
    subjects! { ALL, variants: isle_lock_array }
}

/// With leaves of more blocks than the list's, which have scripts of their own.
pub mod subnodes {
    use super::{Subject, variants};
    subjects! { ALL, variants: ss_tree_staying ss_tree_three ss_tree_four holm_three holm_four }
}

/// With a copy of each block's first line beside it, which every recovery renews.
pub mod mirrored {
    use super::{Subject, variants};
    subjects! { ALL, variants: holm_prints_aside }
}

/// With links that have versions, and a split that changes the leaf before.
pub mod chained {
    use super::{Subject, variants};
    subjects! { ALL, variants: bd_tree_chained }
}

/// The variants with tests of their own, which are in every build.
pub static APART: &[&[&Subject]] = &[durable::ALL, wide::ALL, locked::ALL, subnodes::ALL, mirrored::ALL, chained::ALL];

/// With known bugs. The canary without one is in no list.
pub mod faulty {
    use super::Subject;
    use holm_designs::designs::faulty;
    use holm_designs::leaf::canary::Bug;

    macro_rules! canaries {
        ($($name:ident: $bug:ident;)*) => {
            /// The canary without a bug.
            pub static canary: Subject = Subject::of::<faulty::canary>();
            $(
                #[doc = concat!("The canary with [`Bug::", stringify!($bug), "`].")]
                pub static $name: Subject = Subject::with_bug::<faulty::canary>(stringify!($name), Bug::$bug);
            )*
            /// All canaries with a bug.
            pub static CANARIES: &[&Subject] = &[$(&$name),*];
        };
    }
    canaries! {
        canary_unflushed: Unflushed;
        canary_early: Early;
        canary_torn: Torn;
        canary_lost: Lost;
        canary_unflushed_removal: UnflushedRemoval;
        canary_misaimed: Misaimed;
        canary_hollow: Hollow;
        canary_zero: Zero;
        canary_unmended: Unmended;
        canary_fleeting: Fleeting;
        canary_counted: Counted;
        canary_twice: Twice;
        canary_nowhere: Nowhere;
        canary_stuck: Stuck;
        canary_undead: Undead;
        canary_unswept: Unswept;
        canary_dangling: Dangling;
        canary_null: Null;
        canary_equal: Equal;
        canary_greatest: Greatest;
        canary_unlinked: Unlinked;
        canary_unfenced: Unfenced;
        canary_resurrects: Resurrects;
        canary_erodes: Erodes;
        canary_brim: Brim;
        canary_barren: Barren;
    }
    subjects! { OTHERS, faulty: ss_tree_hasty fast_fair_published bd_tree_forgetful }
}

/// All variants, in a program that is built with them.
#[cfg(feature = "variants")]
mod every {
    use super::{Subject, variants};
    macro_rules! of_variants {
        ($($name:ident)*) => { subjects! { ALL, variants: $($name)* } };
    }
    holm_designs::for_each_variant!(of_variants);
}

/// All variants; none in a program that is built without them.
#[cfg(feature = "variants")]
pub static VARIANTS: &[&Subject] = every::ALL;
/// All variants; none in a program that is built without them.
#[cfg(not(feature = "variants"))]
pub static VARIANTS: &[&Subject] = &[];
