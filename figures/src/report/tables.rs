//! The tables of the page in addition to figures: what survives which failure, which crashes were explored, and which
//! figures did not run.

use super::section::class;
use crate::catalog::Missing;
use crate::outcome::Verdict;
use crate::plot::escaped;
use holm_designs::designs::CAPABILITIES;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The store's modes: when a write returns, what a process crash loses, and what a power failure loses.
const MODES: [[&str; 4]; 3] = [
    ["Strict", "when it is synced", "nothing", "nothing"],
    ["Buffered", "at once", "nothing", "at most the writes of the last max(interval, sync) + sync"],
    ["OnSync", "at once", "nothing", "at most what came after the last completed sync"],
];

pub(super) fn durability() -> String {
    let row = |cells: &[&str; 4]| format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"));
    let modes: String = MODES.iter().map(row).collect();
    let designs =
        CAPABILITIES.iter().filter(|(_, capabilities)| capabilities.stores_pairs).map(|(name, capabilities)| {
            let when = if capabilities.per_epoch { "when its epoch has ended" } else { "when it returns" };
            let order = if capabilities.needs_line_order { "of a line, in their order" } else { "in any order" };
            format!(
                "<tr><td>{name}</td><td>{}</td><td>{when}</td><td>{order}</td></tr>\n",
                escaped(capabilities.source)
            )
        });
    format!(
        "<h2 id=\"durability\">Durability</h2>\n<div class=\"wide\"><table>\n<tr><th>mode of the store</th>\
         <th>a write returns</th><th>lost when the process dies</th><th>lost when the power fails</th></tr>\n{modes}\
         </table></div>\n<p>The figures above are of trees by themselves, in plain memory:</p>\n<div class=\"wide\">\
         <table>\n<tr><th>design</th><th>after</th><th>an operation is durable</th><th>stores may persist</th></tr>\n{}\
         </table></div>\n",
        designs.collect::<String>()
    )
}

/// A row of the output of `cargo xtask crash --table --json`.
#[derive(Deserialize)]
pub(super) struct Explored {
    pub(super) design: String,
    durable: String,
    model: String,
    changes: BTreeMap<String, Looked>,
    /// The violations that were found, and the seed. Older tables state neither.
    violations: Option<u64>,
    seed: Option<u64>,
}

/// What the crash program prints behind the rows: a design with a known bug, and the change at which it was found.
#[derive(Deserialize)]
struct Control {
    control: String,
    model: String,
    caught: Option<String>,
}

/// An element of that output.
#[derive(Deserialize)]
#[serde(untagged)]
enum Told {
    Explored(Explored),
    Control(Control),
}

/// A cell of such a row: the number of images, or why there are none.
#[derive(Deserialize)]
struct Looked {
    images: Option<u64>,
    #[serde(default)]
    whole: bool,
    /// Of the images, those that a crash within a recovery left.
    nested: Option<u64>,
    excused: Option<String>,
}

impl Explored {
    /// Returns the numbers of images of its cells.
    pub(super) fn images(&self) -> impl Iterator<Item = u64> {
        self.changes.values().filter_map(|cell| cell.images)
    }

    /// Returns the number of images that a crash within a recovery left; `None` if the table does not state it.
    fn nested(&self) -> Option<u64> {
        self.changes.values().filter_map(|cell| cell.nested).reduce(|all, some| all + some)
    }
}

/// Returns the rows of what the crash program has printed; `None` if there are none. Cargo may have printed something
/// before them.
pub(super) fn explored(told: &str) -> Option<Vec<Explored>> {
    Some(parts(told)?.0)
}

/// Returns the rows and the controls.
fn parts(told: &str) -> Option<(Vec<Explored>, Vec<Control>)> {
    let line = told.lines().find(|line| line.starts_with("[{"))?;
    let (mut rows, mut controls) = (vec![], vec![]);
    for part in serde_json::from_str::<Vec<Told>>(line).ok()? {
        match part {
            Told::Explored(row) => rows.push(row),
            Told::Control(control) => controls.push(control),
        }
    }
    Some((rows, controls))
}

/// In the order in which they are explored.
const CHANGES: [&str; 8] = ["insert", "update", "remove", "split", "merge", "root", "commit", "recovery"];

/// The columns behind them.
const COUNTS: [&str; 3] = ["nested", "violations", "seed"];

pub(super) fn crashes(told: Option<&str>) -> String {
    let heading = "<h2 id=\"crashes\">Crashes</h2>\n";
    let Some(told) = told else {
        return format!(
            "{heading}<p>Not part of this page: <code>cargo xtask report --crashes FILE</code> puts in what \
             <code>cargo xtask crash --table --json</code> has printed.</p>\n"
        );
    };
    let Some((rows, controls)) = parts(told) else { return format!("{heading}<pre>{}</pre>\n", escaped(told)) };
    let mut text = format!(
        "{heading}<p>Of each design, change and model of a crash, how many images were opened that an opening can tell \
         apart, and every one of them recovered to what the history allows. <b>+</b>: some moment had too many to \
         visit all. The model says what a crash may keep: <i>line</i>, of every line some prefix of its stores; \
         <i>word</i>, any of its words; <i>visible</i>, everything, for only the process has died. \
         <i>Nested</i> are the images that a second crash left, within the recovery from the first. Where there are \
         too many images, the seed determines which are opened.</p>\n<div \
         class=\"wide\"> <table class=\"counts\">\n<tr><th>design</th><th>durable</th><th>model</th>"
    );
    let columns = CHANGES.iter().chain(&COUNTS);
    columns.for_each(|column| text.push_str(&format!("<th>{column}</th>")));
    text.push_str("</tr>\n");
    let all_by = |row: &Explored| {
        let why = row.changes.values().next().and_then(|cell| cell.excused.clone());
        why.filter(|why| row.changes.values().all(|cell| cell.excused.as_ref() == Some(why)))
    };
    for row in rows {
        let _ = write!(text, "<tr><td>{}</td><td>{}</td><td>{}</td>", escaped(&row.design), row.durable, row.model);
        if let Some(why) = all_by(&row) {
            let _ = writeln!(
                text,
                "<td class=\"quiet\" colspan=\"{}\">{}</td></tr>",
                CHANGES.len() + COUNTS.len(),
                escaped(&why)
            );
            continue;
        }
        for change in CHANGES {
            let cell = row.changes.get(change);
            let why = cell.and_then(|cell| cell.excused.as_deref()).unwrap_or_default();
            let more = if cell.is_some_and(|cell| cell.whole) { "" } else { "+" };
            let _ = match cell.and_then(|cell| cell.images) {
                Some(images) => write!(text, "<td>{images}{more}</td>"),
                None => write!(text, "<td class=\"quiet\">{}</td>", escaped(why)),
            };
        }
        for count in [row.nested(), row.violations, row.seed] {
            let _ = write!(text, "<td>{}</td>", count.map_or("not stated".into(), |count| count.to_string()));
        }
        text.push_str("</tr>\n");
    }
    text + "</table></div>\n" + &controlled(&controls)
}

/// Returns the table of designs with known bugs, by model; nothing if the crash program has not printed any.
fn controlled(controls: &[Control]) -> String {
    if controls.is_empty() {
        return String::new();
    }
    const MODELS: [&str; 3] = ["line", "word", "visible"];
    let mut text = String::from(
        "<h3 id=\"controls\">Controls</h3>\n<p>Leaves with one known bug each, explored in the same way with fewer \
         images: the first change at which some image shows the bug. <i>By its test</i>: the scripts of this table do \
         not show it, or not under this model; a script of its own does.</p>\n<div class=\"wide\"><table>\n<tr><th>\
         leaf with a bug</th><th>line</th><th>word</th><th>visible</th></tr>\n",
    );
    for Control { control: name, .. } in controls.iter().filter(|control| control.model == MODELS[0]) {
        let _ = write!(text, "<tr><td>{}</td>", escaped(name));
        for model in MODELS {
            let it = controls.iter().find(|it| it.control == *name && it.model == model);
            let caught = it.and_then(|it| it.caught.as_deref()).unwrap_or("by its test");
            let _ = write!(text, "<td>{}</td>", escaped(caught));
        }
        text.push_str("</tr>\n");
    }
    text + "</table></div>\n"
}

/// Returns which figures of a family are not on the page, and why.
pub(super) fn missing(missing: &[Missing]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let rows = missing.iter().map(|missing| {
        let (id, title, why) = (missing.id, escaped(missing.title), escaped(missing.why));
        format!(
            "<tr><td class=\"id\">{id}</td><td>{title}</td><td class=\"{}\">{why}</td></tr>\n",
            class(Verdict::Unmeasured)
        )
    });
    format!(
        "<details class=\"missing\"><summary>{} figures of this paper are not \
         here</summary><table>\n{}</table></details>\n",
        missing.len(),
        rows.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_crash_program_prints_becomes_a_table() {
        let told = "== cargo run\n[{\"design\":\"reef\",\"durable\":\"epoch\",\"model\":\"line\",\"changes\":{\
                    \"insert\":{\"images\":9,\"stood_for\":138.0,\"whole\":true},\
                    \"split\":{\"images\":8,\"stood_for\":1e9,\"whole\":false,\"nested\":3},\"merge\":{\
                    \"excused\":\"has no merge\"}},\"violations\":0,\"seed\":7}, {\"design\":\"sand\",\
                    \"durable\":\"return\",\"model\":\"word\",\"changes\":{\
                    \"insert\":{\"excused\":\"needs line order\"},\"split\":{\"excused\":\"needs line order\"}}},\
                    {\"control\":\"rock\",\"model\":\"line\",\"caught\":\"split\"},\
                    {\"control\":\"rock\",\"model\":\"word\",\"caught\":null}]";
        let page = crashes(Some(told));
        let excused = format!("colspan=\"{}\">needs line order</td>", CHANGES.len() + COUNTS.len());
        let rock = "<tr><td>rock</td><td>split</td><td>by its test</td><td>by its test</td></tr>";
        let counts = "<td>3</td><td>0</td><td>7</td></tr>";
        for word in [rock, counts, "<td>reef</td>", "<td>9</td>", "<td>8+</td>", ">has no merge</td>", &excused] {
            assert!(page.contains(word), "{word}: {page}");
        }
        assert!(crashes(Some("a < b")).contains("<pre>a &lt; b</pre>"));
        assert!(crashes(None).contains("--crashes"));
    }
}
