//! The table of `docs/designs/README.md` is what the list of designs says: one row for each, with exact counts. With
//! `HOLM_WRITE=1` in the environment, the test writes the table.

use crate::fixture::{TreeFixture, mixed};
use holm_designs::designs::CAPABILITIES;
use holm_tree::leaf::Capabilities;
use std::path::{Path, PathBuf};

/// Scattered keys that each tree gets.
const PAIRS: u64 = 20_000;

const HEADER: &str = "| design | from | durable | an insert flushes and fences |";

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/designs")
}

/// The page of a design: its own, or that of the design whose name its name begins with.
fn page(name: &str) -> String {
    let starts = (0..=name.len()).rev().filter(|end| name[*end..].is_empty() || name[*end..].starts_with('_'));
    let mut pages_of = starts.map(|end| format!("{}.md", &name[..end]));
    pages_of.find(|page| pages().join(page).is_file()).unwrap_or_else(|| panic!("{name} has no page"))
}

/// Lines flushed and fences of an insert on average, splits included.
fn counts(name: &str) -> String {
    let fixture = TreeFixture::of_words(name);
    let before = fixture.counts();
    (0..PAIRS).for_each(|number| assert_eq!(fixture.put(mixed(number), number), None));
    let spent = fixture.counts() - before;
    let [flushes, fences] = [spent.flushes, spent.fences].map(|count| count as f64 / PAIRS as f64);
    format!("{flushes:.2} / {fences:.2}")
}

fn row(name: &str, capabilities: Capabilities) -> String {
    let (durable, counts) = match capabilities {
        Capabilities { stores_pairs: false, .. } => ("never", "-".into()),
        Capabilities { per_epoch: true, .. } => ("at the end of the epoch", counts(name)),
        _ => ("when an operation returns", counts(name)),
    };
    format!("| [`{name}`]({}) | {} | {durable} | {counts} |", page(name), capabilities.source)
}

#[test]
fn the_table_of_designs_is_the_list() {
    let rows = CAPABILITIES.iter().map(|(name, capabilities)| row(name, *capabilities));
    let head = [HEADER, "|---|---|---|---|"].map(str::to_owned);
    let table = head.into_iter().chain(rows).collect::<Vec<_>>().join("\n") + "\n";
    let path = pages().join("README.md");
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = text.split_once(HEADER).expect("a table with this header");
    let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
    let wanted = format!("{before}{table}\n{after}");
    if std::env::var_os("HOLM_WRITE").is_some() {
        std::fs::write(&path, wanted).expect("the page can be written");
    } else {
        assert_eq!(text, wanted, "HOLM_WRITE=1 cargo test -p holm-designs --test trees overview writes the table");
    }
}
