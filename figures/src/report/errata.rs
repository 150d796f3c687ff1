//! What does not hold as the papers, or the code that they publish, have it: each with the smallest case that shows it,
//! and the test that finds this case.

use crate::plot::escaped;
use std::fmt::Write;

struct Erratum {
    /// The paper, or the published code.
    of: &'static str,
    printed: &'static str,
    /// The operations, what of their stores is lost, and what is then found.
    shows: &'static str,
    here: &'static str,
    /// A file of the workspace and a test in it.
    test: [&'static str; 2],
}

const CANARY: &str = "crates/holm-proof/tests/explorer/canary.rs";
const SUBNODES: &str = "crates/holm-proof/tests/explorer/subnodes.rs";
const EPOCHS: &str = "crates/holm-proof/tests/explorer/epochs.rs";

const ERRATA: &[Erratum] = &[
    Erratum {
        of: "FAST-FAIR, its code",
        printed: "A removal flushes a line when it enters it: the condition of an insert, whose shift goes the \
                other way.",
        shows: "Of the keys 10, 20, 40, 50 and 60, 10 is removed. The removal has returned, and its last \
                store is lost: 10 is back.",
        here: "a removal flushes a line when it leaves it, and at its end.",
        test: [CANARY, "an_unflushed_removal_is_caught"],
    },
    Erratum {
        of: "FAST-FAIR",
        printed: "A null payload ends the leaf.",
        shows: "No crash is needed: with the pair (20, 0), 20 and the keys behind it are not found.",
        here: "the unique word of a pair, its key or its record, ends the leaf and marks a pair in transit.",
        test: [CANARY, "a_payload_of_zero_that_counts_as_nothing_is_caught"],
    },
    Erratum {
        of: "FAST-FAIR, Isle-Tree",
        printed: "Two neighbours with the same payload are a pair in transit.",
        shows: "No crash is needed: of two neighbours with equal payloads, readers and recovery give up one.",
        here: "the unique word marks it, as above.",
        test: [CANARY, "equal_payloads_taken_for_a_pair_in_transit_are_caught"],
    },
    Erratum {
        of: "SSTree",
        printed: "Two fences release a subnode whose predecessor is not the head subnode. No fence waits for \
                the flush of the link to it.",
        shows: "Of a leaf of three subnodes, the last pair of the last subnode is removed. Three epochs \
                later the subnode belongs to the right neighbour. The store that cleared the link is lost: \
                two leaves lead to one subnode. If its own leaf takes it again, its list is a cycle.",
        here: "a third fence.",
        test: [SUBNODES, "a_subnode_released_before_its_link_is_durably_gone_is_caught"],
    },
    Erratum {
        of: "BD+Tree",
        printed: "One epoch beside three bitmaps: when an epoch begins, a leaf rolls them over in several \
                stores.",
        shows: "50 is put in a new epoch. Of the two stores to the line the first is lost: its bitmaps \
                belong to no epoch that recovery knows. Stores to one line that persist in their order do \
                not show it.",
        here: "three words, each with an epoch and a bitmap; a rollover is one store.",
        test: [EPOCHS, "a_rollover_in_two_stores_needs_the_order_of_a_line"],
    },
    Erratum {
        of: "BD+Tree",
        printed: "An operation takes its epoch before it locks the leaf, and does not look at the clock again.",
        shows: "A put of 5 takes epoch 1 and waits. A put of 285 takes epoch 2, and readers see it without \
                5. Then 5 takes effect. The power fails when epoch 1 is durable: 5 is there, 285 is not. \
                That is no prefix of what readers saw.",
        here: "an operation looks at the clock once more under the latch, and takes effect only if its \
                epoch is still active.",
        test: [EPOCHS, "a_writer_that_does_not_validate_is_caught_by_a_crash"],
    },
];

/// Returns the section.
pub(super) fn errata() -> String {
    let mut text = String::from(
        "<h2 id=\"errata\">Errata <a class=\"top\" href=\"#top\">top</a></h2>\n<p>What does not hold as the papers, \
         or the code that they publish, have it. Each case is the smallest that the explorer of crashes has found, \
         and the test finds it again.</p>\n",
    );
    for Erratum { of, printed, shows, here, test: [_, test] } in ERRATA {
        let _ = writeln!(text, "<h3>{}: {}</h3>", escaped(of), escaped(printed));
        let _ = writeln!(text, "<p>{} Here: {} <small><code>{test}</code></small></p>", escaped(shows), escaped(here));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn each_erratum_has_a_test() {
        for Erratum { of, test: [file, test], .. } in ERRATA {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(text.contains(&format!("#[test]\nfn {test}()")), "{of}: {test} in {file}");
        }
    }
}
