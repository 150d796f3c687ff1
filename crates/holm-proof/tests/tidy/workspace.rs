//! Rules about the workspace as a whole: each design has its page, each dependency its reason.

use crate::source::{Offence, Source};
use std::collections::BTreeSet;

const LEAVES: &str = "crates/holm-designs/src/leaf/";

/// A leaf is a file or a folder of `leaf/`; its page is the one thing that no list can generate.
pub(crate) fn designs_have_pages(sources: &[Source]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for source in sources {
        let Some(rest) = source.path.strip_prefix(LEAVES).filter(|_| source.is_rust()) else { continue };
        let name = rest.split('/').next().unwrap_or(rest).trim_end_matches(".rs");
        let page = format!("docs/designs/{name}.md");
        if name != "mod" && name != "tests" && !sources.iter().any(|other| other.path == page) {
            offences.push(source.offence(1, format!("a design without a page: write {page}")));
        }
    }
    offences
}

const TABLE: &str = "docs/designs/README.md";

/// Each design of the list has a row in the table of designs, and no row is of another. A test of `holm-designs`
/// compares the rest of each row.
pub(crate) fn designs_have_rows(sources: &[Source], designs: &[&str]) -> Vec<Offence> {
    let Some(page) = sources.iter().find(|source| source.path == TABLE) else { return Vec::new() };
    let rows = page.text.lines().enumerate().filter_map(|(index, line)| {
        let (name, _) = line.strip_prefix("| [`")?.split_once('`')?;
        Some((index + 1, name))
    });
    let rows: Vec<_> = rows.collect();
    let missing = designs.iter().filter(|design| rows.iter().all(|(_, name)| name != *design));
    let missing = missing.map(|design| page.offence(1, format!("no row for the design {design}")));
    let strange = rows.iter().filter(|(_, name)| !designs.contains(name));
    missing.chain(strange.map(|(line, name)| page.offence(*line, format!("no design is named {name}")))).collect()
}

/// The page of the worked example, and the sources that it quotes.
const QUOTING: &str = "docs/new-leaf.md";
const QUOTED: &str = "crates/holm-proof/tests/worked";

/// Each block of Rust on the page of the worked example occurs in the example line by line; indentation does not count.
pub(crate) fn pages_quote_what_is_tested(sources: &[Source]) -> Vec<Offence> {
    let lines_of = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let quoted = sources.iter().filter(|source| source.path.starts_with(QUOTED) && source.is_rust());
    let quoted: Vec<_> = quoted.map(|source| lines_of(&source.text)).collect();
    let Some(page) = sources.iter().find(|source| source.path == QUOTING) else { return Vec::new() };
    let lines = lines_of(&page.text);
    let mut offences = Vec::new();
    let mut index = 0;
    while let Some(start) = lines[index..].iter().position(|line| line == "```rust").map(|at| index + at + 1) {
        let end = lines[start..].iter().position(|line| line == "```").map_or(lines.len(), |at| start + at);
        let block = &lines[start..end];
        if block.is_empty() || !quoted.iter().any(|text| text.windows(block.len()).any(|window| window == block)) {
            offences.push(page.offence(start, format!("{QUOTED} does not contain this block: quote it as it is")));
        }
        index = end;
    }
    offences
}

/// The pages that say which test has a promise or catches a bug.
const PROVING: [&str; 3] = ["docs/durability.md", "docs/hazards.md", "docs/mutants.md"];

/// The names of these pages that look like tests are functions of some source. Names of other things have fewer words.
pub(crate) fn pages_name_tests_that_exist(sources: &[Source]) -> Vec<Offence> {
    let is_of_names = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let rust = sources.iter().filter(|source| source.is_rust());
    let functions: BTreeSet<_> = rust
        .flat_map(|source| source.text.split("fn ").skip(1))
        .filter_map(|rest| rest.split(|c| !is_of_names(c)).next())
        .collect();
    let mut offences = Vec::new();
    for page in sources.iter().filter(|source| PROVING.contains(&&*source.path)) {
        for (index, line) in page.text.lines().enumerate() {
            // Every second piece stands between backticks.
            for quoted in line.split('`').skip(1).step_by(2) {
                let name = quoted.rsplit("::").next().unwrap_or(quoted);
                let is_test = name.chars().all(is_of_names) && name.split('_').count() > 3;
                if is_test && !functions.contains(name) {
                    offences.push(page.offence(index + 1, format!("no function is named {name}")));
                }
            }
        }
    }
    offences
}

/// In the workspace's table of dependencies, a comment precedes each line or each run of lines. The workspace's own
/// crates, given by path, need no reason.
pub(crate) fn dependencies_give_reasons(source: &Source) -> Vec<Offence> {
    let mut offences = Vec::new();
    if source.path != "Cargo.toml" {
        return offences;
    }
    let (mut in_table, mut explained) = (false, false);
    for (index, line) in source.text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            (in_table, explained) = (line == "[workspace.dependencies]", false);
        } else if line.is_empty() {
            explained = false;
        } else if line.starts_with('#') {
            explained = true;
        } else if in_table && !explained && !line.contains("path =") && line.contains(" = ") {
            offences.push(source.offence(index + 1, "a dependency without a reason: say in a comment above why"));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_without_a_page_is_caught() {
        let leaf = |path: &str| Source::new(&format!("{LEAVES}{path}"), "//! A leaf.\n");
        let page = Source::new("docs/designs/reef.md", "# Reef\n");
        assert_eq!(designs_have_pages(&[leaf("reef.rs")]).len(), 1);
        assert_eq!(designs_have_pages(&[leaf("reef/split.rs")]).len(), 1);
        assert_eq!(designs_have_pages(&[leaf("reef.rs"), leaf("reef/split.rs"), page]).len(), 0);
        assert_eq!(designs_have_pages(&[leaf("mod.rs")]).len(), 0);
    }

    #[test]
    fn a_design_without_a_row_and_a_row_without_a_design_are_caught() {
        let page = |text: &str| [Source::new(TABLE, text)];
        let table = "| design |\n|---|\n| [`reef`](reef.md) |\n";
        assert_eq!(designs_have_rows(&page(table), &["reef"]).len(), 0);
        assert_eq!(designs_have_rows(&page(table), &["reef", "atoll"]).len(), 1);
        assert_eq!(designs_have_rows(&page(table), &[]).len(), 1);
    }

    #[test]
    fn a_quotation_that_differs_is_caught() {
        let source = || Source::new("crates/holm-proof/tests/worked/a.rs", "fn a() {\n    b();\n}\n");
        let count = |block: &str| {
            let page = Source::new(QUOTING, &format!("# A\n\n```rust\n{block}```\n\ntext\n"));
            pages_quote_what_is_tested(&[source(), page]).len()
        };
        assert_eq!([count("fn a() {\n    b();\n}\n"), count("b();\n"), count("c();\n"), count("")], [0, 0, 1, 1]);
    }

    #[test]
    fn a_test_that_is_only_on_a_page_is_caught() {
        let source = || Source::new("a.rs", "#[test]\nfn no_reef_is_lost() {}\n");
        let count = |line: &str| pages_name_tests_that_exist(&[source(), Source::new(PROVING[0], line)]).len();
        assert_eq!(count("| reefs | `no_reef_is_lost`, `reefs::no_reef_is_lost` |\n"), 0);
        assert_eq!(count("`sync_all`, `fn no_reef`, a no_reef_is_found, `no reef is found`\n"), 0);
        assert_eq!(count("| reefs | `no_reef_is_found`, and `tests::a_reef_is_lost` |\n"), 2);
    }

    #[test]
    fn a_dependency_without_a_reason_is_caught() {
        let count = |lines: &str| {
            let table =
                format!("[workspace.dependencies]\nours = {{ path = \"ours\" }}\n\n{lines}\n[profile]\nlto = 1\n");
            dependencies_give_reasons(&Source::new("Cargo.toml", &table)).len()
        };
        assert_eq!(count("rand = \"1\"\n"), 1);
        assert_eq!(count("# seeds\nrand = \"1\"\nrand_pcg = \"1\"\n"), 0);
        assert_eq!(count("# seeds\nrand = \"1\"\n\nlog = \"1\"\n"), 1);
    }
}
