//! What does not hold as the papers, or the code that they publish, have it: each with the smallest case that shows it,
//! and the test that finds this case.

use crate::plot::escaped;
use std::fmt::Write;

struct Erratum {
    /// The paper, or the published code.
    of: &'static str,
    printed: &'static str,
    /// What has run: the tree itself, or a model of it.
    ran: &'static str,
    /// The operations, what of their stores is lost, and what is then found.
    shows: &'static str,
    /// The words of the lines that have lost a store, in the words of the explorer, and what each is.
    words: &'static [[&'static str; 2]],
    here: &'static str,
    /// A file of the workspace and a test in it.
    test: [&'static str; 2],
}

const CANARY: &str = "crates/holm-proof/tests/explorer/canary.rs";
const SUBNODES: &str = "crates/holm-proof/tests/explorer/subnodes.rs";
const EPOCHS: &str = "crates/holm-proof/tests/explorer/epochs.rs";

/// A small leaf of the tests, with one bug at a time. It is none of the papers' trees.
const MODEL_LEAF: &str = "A model leaf of the tests with this bug, not the accused tree.";

const ERRATA: &[Erratum] = &[
    Erratum {
        of: "FAST-FAIR, its code",
        printed: "A removal flushes a line when it enters it: the condition of an insert, whose shift goes the \
                other way.",
        ran: MODEL_LEAF,
        shows: "Of the keys 10, 20, 40, 50 and 60, 10 is removed. The removal has returned, and its last \
                store is lost: 10 is back.",
        words: &[["0x200 was 0x1f, stored 0x1e, left 0x1f", "the bitmap of five slots, which has lost the removal"]],
        here: "a removal flushes a line when it leaves it, and at its end.",
        test: [CANARY, "an_unflushed_removal_is_caught"],
    },
    Erratum {
        of: "FAST-FAIR",
        printed: "A null payload ends the leaf.",
        ran: MODEL_LEAF,
        shows: "No crash is needed: with the pair (20, 0), 20 and the keys behind it are not found.",
        words: &[],
        here: "the unique word of a pair, its key or its record, ends the leaf and marks a pair in transit.",
        test: [CANARY, "a_payload_of_zero_that_counts_as_nothing_is_caught"],
    },
    Erratum {
        of: "FAST-FAIR, Isle-Tree",
        printed: "Two neighbours with the same payload are a pair in transit.",
        ran: MODEL_LEAF,
        shows: "No crash is needed: of two neighbours with equal payloads, readers and recovery give up one.",
        words: &[],
        here: "the unique word marks it, as above.",
        test: [CANARY, "equal_payloads_taken_for_a_pair_in_transit_are_caught"],
    },
    Erratum {
        of: "SSTree",
        printed: "Two fences release a subnode whose predecessor is not the head subnode. No fence waits for \
                the flush of the link to it.",
        ran: "SSTree, with three subnodes and the paper's fences: ss_tree_hasty.",
        shows: "Of a leaf of three subnodes, the last pair of the last subnode is removed. Three epochs \
                later the subnode belongs to the right neighbour. The store that cleared the link is lost: \
                two leaves lead to one subnode. If its own leaf takes it again, its list is a cycle.",
        words: &[[
            "0x300 was 0x500000100000002, stored 0x500000100000000, left 0x500000100000002",
            "the header of a subnode: its link still leads to number 2",
        ]],
        here: "a third fence.",
        test: [SUBNODES, "a_subnode_released_before_its_link_is_durably_gone_is_caught"],
    },
    Erratum {
        of: "BD+Tree",
        printed: "One epoch beside three bitmaps: when an epoch begins, a leaf rolls them over in several \
                stores.",
        ran: "BD+Tree, with the paper's fields in two words: bd_tree_literal.",
        shows: "50 is put in a new epoch. Of the two stores to the line the first is lost: its bitmaps \
                belong to no epoch that recovery knows. Stores to one line that persist in their order do \
                not show it.",
        words: &[
            ["0x200 was 0x4000001f, stored 0x5000003f, left 0x5000003f", "the epoch and the bitmap: the later store"],
            ["0x208 was 0x4, stored 0x1f000000005, left 0x4", "the bitmaps of the two epochs before: the lost store"],
        ],
        here: "three words, each with an epoch and a bitmap; a rollover is one store.",
        test: [EPOCHS, "a_rollover_in_two_stores_needs_the_order_of_a_line"],
    },
    Erratum {
        of: "BD+Tree",
        printed: "An operation takes its epoch before it locks the leaf, and does not look at the clock again.",
        ran: "BD+Tree of this workspace, with a writer that does not look again. Every store is left.",
        shows: "A put of 5 takes epoch 1 and waits. A put of 285 takes epoch 2, and readers see it without \
                5. Then 5 takes effect. The power fails when epoch 1 is durable: 5 is there, 285 is not. \
                That is no prefix of what readers saw.",
        words: &[],
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
         and the test finds it again. A case says whether the accused tree itself has run or a model of it. Where a \
         store is lost, its words follow: by their place in bytes, what each was before the operations, what \
         was stored, and what is left.</p>\n",
    );
    for Erratum { of, printed, ran, shows, words, here, test: [_, test] } in ERRATA {
        let _ = writeln!(text, "<h3>{}: {}</h3>", escaped(of), escaped(printed));
        let _ = writeln!(text, "<p>{} Here: {}</p>", escaped(shows), escaped(here));
        for [word, meaning] in *words {
            let _ = writeln!(text, "<p class=\"small\"><code>{}</code>: {}</p>", escaped(word), escaped(meaning));
        }
        let _ = writeln!(text, "<p class=\"small\">{} <code>{test}</code></p>", escaped(ran));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn each_erratum_has_a_test_that_finds_its_words() {
        for Erratum { of, words, test: [file, test], .. } in ERRATA {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let start = text.find(&format!("#[test]\nfn {test}()")).unwrap_or_else(|| panic!("{of}: {test} in {file}"));
            let body = text[start..].split("\n}\n").next().expect("a function");
            for [word, _] in *words {
                assert!(body.contains(word), "{of}: {test} does not find {word}");
            }
        }
    }
}
