//! How far our implementations of the papers' comparators are from the codes that were published for them.

use crate::plot::escaped;
use std::fmt::Write;

/// A design here beside a published code, in nanoseconds: an insert, an insert with 300 ns more for each line, a
/// search.
struct Beside {
    ours: &'static str,
    original: &'static str,
    here: [u32; 3],
    there: [u32; 3],
    flushes: &'static str,
    says: &'static str,
}

/// What a comparator may be slower than its original.
const FAIR: f64 = 1.2;

const ORIGINALS: [Beside; 4] = [
    Beside {
        ours: "LB, lb_tree",
        original: "LB+-Tree, its authors\u{2019} code",
        here: [839, 1139, 295],
        there: [542, 914, 331],
        flushes: "as many lines and fences",
        says: "The counts are equal: the difference is the path of a split. Where a figure compares by time with LB, \
               LB is slower here than its own code by up to this factor.",
    },
    Beside {
        ours: "FF, fast_fair",
        original: "FAST_FAIR, its authors\u{2019} code",
        here: [1297, 2030, 266],
        there: [946, 2160, 317],
        flushes: "half the fences",
        says: "Slower without an added latency, and not with it.",
    },
    Beside {
        ours: "FP, fp_tree",
        original: "FPTree, a public code",
        here: [1222, 1812, 223],
        there: [1421, 2155, 568],
        flushes: "not counted",
        says: "Searches compare fingerprints with vectors here. The form of the paper is the series FP, scalar.",
    },
    Beside {
        ours: "wB+, wb_tree",
        original: "wB+-Tree, a public code of others",
        here: [1375, 2246, 408],
        there: [1280, 2889, 476],
        flushes: "not counted",
        says: "Alike. The form of the paper, with durable inner nodes, is the series wB+_ALL.",
    },
];

/// Returns the section.
pub(super) fn originals() -> String {
    let mut text = String::from(
        "<h2 id=\"originals\">Beside the published codes <a class=\"top\" href=\"#top\">top</a></h2>\n<p>Where a code \
         of a comparator is public, how far ours is from it. Measured once, by a program of its own outside of this \
         repository, at commit df03db1, with a million pairs of 8 bytes: ours / theirs in nanoseconds. \
         No figure repeats it. More than 1.2 is <b>bold</b>: what this page then says against a paper that compares \
         itself with that tree by time is weaker by that factor. No code of the other comparators was measured.</p>\n\
         <div class=\"wide\"><table>\n<tr><th>ours</th><th>published</th><th>insert</th>\
         <th>insert at +300 ns a line</th><th>search</th><th>flushes, ours</th>\
         <th>why</th></tr>\n",
    );
    for Beside { ours, original, here, there, flushes, says } in &ORIGINALS {
        let _ = write!(text, "<tr><td>{}</td><td>{}</td>", escaped(ours), escaped(original));
        for (here, there) in here.iter().zip(there) {
            let ratio = f64::from(*here) / f64::from(*there);
            let shown = if ratio > FAIR { format!("<b>{ratio:.2}</b>") } else { format!("{ratio:.2}") };
            let _ = write!(text, "<td>{shown}<br><small>{here} / {there}</small></td>");
        }
        let _ = writeln!(text, "<td>{}</td><td>{}</td></tr>", escaped(flushes), escaped(says));
    }
    text + "</table></div>\n<p class=\"small\">Of public trees that no figure has: TLBTree inserts in 536 ns and \
            NBTree, which cannot recover, in 692 at +300 ns, where BORDERS needs 562 and 786. LB+-Tree searches in \
            331 ns, \
            BORDERS in 169.</p>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::synthesis::metrics::DESIGNS;

    #[test]
    fn each_comparator_is_a_design_and_unfair_ratios_are_bold() {
        for Beside { ours, .. } in &ORIGINALS {
            assert!(DESIGNS.iter().any(|(name, design)| format!("{name}, {design}") == *ours), "{ours}");
        }
        let page = originals();
        assert_eq!(page.matches("<td><b>").count(), 3, "LB by both inserts, FF by one");
        assert!(page.contains("<b>1.55</b>") && page.contains("<b>1.37</b>"));
    }
}
