//! The table of designs by metrics: what each leaf writes for each operation, how long inserts take, how many bytes a
//! pair has, and how many crashes were explored. All of it is gathered from figures and from the table of crashes.

use super::tables::{Explored, explored};
use crate::families::synthesis::metrics::DESIGNS;
use crate::outcome::Outcome;
use crate::plot::escaped;
use std::fmt::Write;

/// A column: its heading, the figure, the point there, and how many digits follow the point.
struct Column(&'static str, &'static str, f64, usize);

const COLUMNS: [Column; 13] = [
    Column("insert: blocks", "SYN-D1", 0.0, 2),
    Column("lines", "SYN-D2", 0.0, 2),
    Column("fences", "SYN-D3", 0.0, 2),
    Column("in order: blocks", "SYN-D1", 1.0, 2),
    Column("lines", "SYN-D2", 1.0, 2),
    Column("update: blocks", "SYN-D1", 2.0, 2),
    Column("lines", "SYN-D2", 2.0, 2),
    Column("removal: blocks", "SYN-D1", 3.0, 2),
    Column("lines", "SYN-D2", 3.0, 2),
    Column("bytes a pair", "SYN-D7", 0.0, 1),
    Column("ns an insert: +0 ns", "SYN-D8", 0.0, 0),
    Column("+300 ns", "SYN-D8", 300.0, 0),
    Column("+600 ns", "SYN-D8", 600.0, 0),
];

/// Returns the section; nothing if no figure of it was run.
pub(super) fn designs(outcomes: &[Outcome], crashes: Option<&str>) -> String {
    let value = |Column(_, id, x, _): &Column, name: &str| {
        let series = outcomes.iter().find(|outcome| outcome.id == *id)?.series.iter().find(|it| it.name == name)?;
        series.points.iter().find(|point| point.x.to_bits() == x.to_bits()).map(|point| point.spread.median)
    };
    let columns: Vec<_> =
        COLUMNS.iter().filter(|column| DESIGNS.iter().any(|(name, _)| value(column, name).is_some())).collect();
    if columns.is_empty() {
        return String::new();
    }
    let rows = crashes.and_then(explored).unwrap_or_default();
    let mut text = String::from(
        "<h2 id=\"designs\">Designs by metrics <a class=\"top\" href=\"#top\">top</a></h2>\n<p>For an operation on \
         keys and values of 8 bytes, splits included: blocks of 256 bytes behind a buffer of sixteen, lines flushed, \
         fences; bytes of leaves for a pair; nanoseconds an insert, with so many added to each line. <b>Bold</b>: the \
         least of the column among proven designs. A crash is counted once for each image that an opening can tell \
         apart; every one of them recovered to what its history allows.</p>\n<div \
         class=\"wide\">\
         <table class=\"matrix\">\n<tr><th>design</th>",
    );
    columns.iter().for_each(|column| text.push_str(&format!("<th>{}</th>", column.0)));
    text.push_str("<th>crashes explored</th></tr>\n");
    let proven = || DESIGNS.iter().filter(|(name, _)| !name.ends_with("not proven"));
    let least = |column: &Column| proven().filter_map(|(name, _)| value(column, name)).fold(f64::MAX, f64::min);
    for (name, design) in DESIGNS {
        let _ = write!(text, "<tr><td>{}</td>", escaped(name));
        for column in &columns {
            let cell = value(column, name).map(|value| {
                let shown = format!("{value:.*}", column.3);
                let is_least = value <= least(column) && !name.ends_with("not proven");
                if is_least { format!("<b>{shown}</b>") } else { shown }
            });
            let _ = write!(text, "<td>{}</td>", cell.unwrap_or_default());
        }
        let _ = writeln!(text, "<td>{}</td></tr>", crashes_of(&rows, design, name));
    }
    let leaves: Vec<_> =
        DESIGNS.iter().map(|(name, design)| format!("{} <code>{design}</code>", escaped(name))).collect();
    let without = outcomes.iter().all(|outcome| outcome.id != "SYN-D8");
    let times = if without { " Times at 0, 300 and 600 ns for each line are not measured yet: SYN-D8." } else { "" };
    text + &format!(
        "</table></div>\n<p class=\"small\">From the figures SYN-D1 to SYN-D3, SYN-D7 and SYN-D8, and the table of \
         crashes, where each design has the name of its leaf: {}. SYN-D4 to SYN-D6 and SYN-D9 have partial blocks, \
         blocks read, waits and searches. BD, HOLM, LINED and Montage are durable by epochs of a tenth of the \
         operations, the others when an operation returns. LINED is not the store's leaf: it would make the log of an \
         update at most 14 to 32 percent shorter, for 1.75 times the leaves (docs/designs/lined.md).{times}</p>\n",
        leaves.join(", ")
    )
}

/// Returns how many images of a design were opened.
fn crashes_of(rows: &[Explored], design: &str, name: &str) -> String {
    if name.ends_with("not proven") {
        return "not proven".into();
    }
    let images: u64 = rows.iter().filter(|row| row.design == design).flat_map(Explored::images).sum();
    if images == 0 { "by its tests alone".into() } else { images.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Point, Series, Spread};
    use crate::results::{CRASHES, RESULTS, parsed};
    use std::path::Path;

    #[test]
    fn the_least_proven_value_of_a_column_is_bold() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report");
        let mut lines: Vec<Outcome> = parsed(&kept.join(RESULTS)).expect("results");
        lines.retain(|outcome: &Outcome| outcome.id == "SYN-D2");
        let series = |name: &str, median| Series {
            name: name.into(),
            points: vec![Point { x: 0.0, samples: vec![], spread: Spread { least: median, median, greatest: median } }],
        };
        lines[0].series = vec![series("FF", 4.0), series("LB", 2.0), series("uTree, not proven", 1.0)];
        let crashes = std::fs::read_to_string(kept.join(CRASHES)).expect("kept crashes");
        let page = designs(&lines, Some(&crashes));
        assert!(
            page.contains("<td><b>2.00</b></td>") && page.contains("<td>4.00</td>") && page.contains("<td>1.00</td>")
        );
        assert_eq!(page.matches("<td>not proven</td>").count(), 3);
        assert!(!page.contains("insert: blocks"), "no column without values");
        assert_eq!(designs(&[], None), "");
    }
}
