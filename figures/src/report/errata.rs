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

const PUBLISHED: &str = "crates/holm-proof/tests/explorer/published.rs";
const SUBNODES: &str = "crates/holm-proof/tests/explorer/subnodes.rs";
const EPOCHS: &str = "crates/holm-proof/tests/explorer/epochs.rs";

const AS_PUBLISHED: &str = "FAST-FAIR with the marks and flushes of its code: fast_fair_published. Random scripts find \
                            it, too: the crash program repeats one with --replay fast_fair_published:line:line:2.";

const WITH_ITS_MARKS: &str = "FAST-FAIR with the marks and flushes of its code: fast_fair_published.";

const ERRATA: &[Erratum] = &[
    Erratum {
        of: "FAST-FAIR, its code",
        printed: "A removal flushes a line when it enters it: the condition of an insert, whose shift goes the \
                other way.",
        ran: AS_PUBLISHED,
        shows: "Of the keys 10, 20, 30 and 40, 10 is removed. The first three slots lie in one line, the fourth in \
                the next. The line of the fourth is flushed, that of the others is not, and it loses its stores: 10 \
                is still there, and 40, which nothing has removed, is in neither line.",
        words: &[
            ["0x230 was 0x1e, stored 0x28, left 0x1e", "the key of the third slot: 40 is lost, 30 is left"],
            ["0x238 was 0x3, stored 0x4, left 0x3", "its payload"],
        ],
        here: "a removal flushes a line when it leaves it, and at its end.",
        test: [PUBLISHED, "a_published_removal_loses_another_pair"],
    },
    Erratum {
        of: "FAST-FAIR, its code",
        printed: "A removal that enters no further line flushes nothing.",
        ran: WITH_ITS_MARKS,
        shows: "Of the keys 10, 20, 30, 40 and 50, 50 is removed. The removal has returned, and its last store is \
                lost: 50 is back.",
        words: &[["0x258 was 0x5, stored 0x0, left 0x5", "the payload of the fifth slot, which has lost the removal"]],
        here: "as above.",
        test: [PUBLISHED, "a_published_removal_that_has_returned_is_lost"],
    },
    Erratum {
        of: "FAST-FAIR, its code",
        printed: "An insert flushes the null payload behind the pairs if that word begins a line. No payload does: a \
                pair begins with its key.",
        ran: WITH_ITS_MARKS,
        shows: "A split has moved the upper half of 30 pairs, and behind the null that ends the lower half its pairs \
                are still in their slots. Inserts into the lower half reach the end of a line. The next one's line is \
                flushed, and the null that it wrote into the line behind it is lost: the pairs from there on, 20 to \
                30 of 30, are in two leaves.",
        words: &[["0x348 was 0x14, stored 0x0, left 0x14", "the payload behind the last pair: that of a moved one"]],
        here: "that line is flushed before the last slot of the line before it holds a pair.",
        test: [PUBLISHED, "a_published_insert_brings_back_what_a_split_has_moved"],
    },
    Erratum {
        of: "FAST-FAIR",
        printed: "A null payload ends the leaf.",
        ran: WITH_ITS_MARKS,
        shows: "Every store is left. Of the pairs (10, 1), (20, 2), (25, 0) and (30, 3), recovery finds two: 25 and \
                30 are lost.",
        words: &[],
        here: "the unique word of a pair, its key or its record, ends the leaf and marks a pair in transit.",
        test: [PUBLISHED, "a_published_payload_of_zero_ends_the_leaf"],
    },
    Erratum {
        of: "FAST-FAIR, Isle-Tree",
        printed: "Two neighbours with the same payload are a pair in transit.",
        ran: "FAST-FAIR with the marks and flushes of its code: fast_fair_published. Isle-Tree with these marks has \
              not run.",
        shows: "Every store is left. Of the pairs (10, 1), (20, 2), (25, 3) and (30, 3), recovery gives up 30.",
        words: &[],
        here: "the unique word marks it, as above.",
        test: [PUBLISHED, "published_equal_payloads_count_once"],
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
