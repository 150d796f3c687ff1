//! Rules about the workspace as a whole: each design has its page, each dependency its reason.

use crate::source::{Offence, Source};

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
