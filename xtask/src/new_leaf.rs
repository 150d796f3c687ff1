//! `new-leaf NAME`: a leaf in one file and one line.
//!
//! It writes the leaf's file and its page from templates, and adds its `mod` line, its line in the list of designs and
//! its row in the table of designs. The lines are derived from the existing ones, so this file need not know the syntax
//! of a list: the module is sorted among the others, and the design is a copy of the list's last line under the new
//! name. The command writes nothing unless it can write everything.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

const LEAF: &str = include_str!("../templates/leaf.rs.txt");
const PAGE: &str = include_str!("../templates/design.md.txt");
const MODULES: &str = "crates/holm-designs/src/leaf.rs";
const DESIGNS: &str = "crates/holm-designs/src/designs.rs";
const TABLE: &str = "docs/designs/README.md";
/// The rest of a row for the template's leaf; a test of `holm-designs` compares the counts.
const ROW: &str = "the template | when an operation returns | 2.36 / 2.15 |";

/// Creates a leaf in the workspace at `root`.
///
/// # Errors
/// The name is not snake case or is taken, or a list has lost its shape. The message says what to do.
pub(crate) fn create(root: &Path, name: &str) -> Result<()> {
    check_name(name)?;
    let leaf = root.join(format!("crates/holm-designs/src/leaf/{name}.rs"));
    let page = root.join(format!("docs/designs/{name}.md"));
    if let Some(taken) = [&leaf, &page].into_iter().find(|path| path.exists()) {
        bail!("{} is there already", taken.display());
    }
    let read = |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"));
    let modules = add_module(&read(MODULES)?, name).with_context(|| format!("add `mod {name};` to {MODULES}"))?;
    let designs = add_design(&read(DESIGNS)?, name).with_context(|| format!("add a line for {name} to {DESIGNS}"))?;
    let table = add_row(&read(TABLE)?, name).with_context(|| format!("add a row for {name} to {TABLE}"))?;
    let files = [
        (leaf, fill(LEAF, name)),
        (page, fill(PAGE, name)),
        (root.join(MODULES), modules),
        (root.join(DESIGNS), designs),
        (root.join(TABLE), table),
    ];
    for (path, text) in files {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.strip_prefix(root).unwrap_or(&path).display());
    }
    println!("next: HOLM_DESIGN={name} cargo test -p holm-proof --test explorer {name}");
    Ok(())
}

/// Checks the name, which becomes a file, a module and a design: snake case suits all three.
fn check_name(name: &str) -> Result<()> {
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !plain || !name.starts_with(|c: char| c.is_ascii_lowercase()) || name.ends_with('_') || name.contains("__") {
        bail!("found {name:?}, expected a name in snake case, such as `coral_reef`");
    }
    Ok(())
}

/// `coral_reef` as a type: `CoralReef`.
fn type_name(name: &str) -> String {
    let capitalised = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('_').map(capitalised).collect()
}

fn fill(template: &str, name: &str) -> String {
    template.replace("{name}", name).replace("{Name}", &type_name(name))
}

/// Adds `mod name;` in alphabetical order, with the visibility of its neighbours.
fn add_module(text: &str, name: &str) -> Result<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let modules: Vec<usize> = (0..lines.len()).filter(|&index| module(&lines[index]).is_some()).collect();
    let Some(&last) = modules.last() else { bail!("no line of the form `mod name;`") };
    if modules.iter().any(|&index| module(&lines[index]) == Some(name)) {
        bail!("a module {name} is there already");
    }
    let model = module(&lines[last]).unwrap_or_default().to_owned();
    let line = lines[last].replace(&format!("mod {model};"), &format!("mod {name};"));
    let place = modules.iter().copied().find(|&index| module(&lines[index]) > Some(name)).unwrap_or(last + 1);
    lines.insert(place, line);
    Ok(lines.join("\n") + "\n")
}

/// Returns the module that an unindented line declares.
fn module(line: &str) -> Option<&str> {
    let (visibility, rest) = line.split_once("mod ")?;
    let visible = ["", "pub ", "pub(crate) ", "pub(super) "].contains(&visibility);
    rest.strip_suffix(';').filter(|_| visible)
}

/// Adds a copy of the last line of `designs! { .. }` with the new name and type, and a comment above it.
fn add_design(text: &str, name: &str) -> Result<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let opens = lines.iter().position(|line| line.contains("designs!")).context("no `designs!` at the margin")?;
    let closes = (opens..lines.len()).find(|&index| lines[index].starts_with('}')).context("`designs!` never ends")?;
    let design = |line: &str| line.split_once(':').map(|(design, _)| design.trim().to_owned());
    let rows = opens + 1..closes;
    if rows.clone().any(|index| design(&lines[index]).as_deref() == Some(name)) {
        bail!("a design {name} is there already");
    }
    let is_row = |index: &usize| design(&lines[*index]).is_some_and(|design| check_name(&design).is_ok());
    let last = rows.rev().find(is_row).context("no line of the form `name: leaf ..;`")?;
    let old = design(&lines[last]).unwrap_or_default();
    let (new_type, old_type) = (type_name(name), type_name(&old));
    // If the line spells the type with its path, the type needs no import. The list imports the module `leaf`.
    let spelled = if lines[last].contains(&format!("::{old_type}")) {
        new_type.clone()
    } else {
        format!("leaf::{name}::{new_type}")
    };
    let row = lines[last].replace(&old, name).replace(&old_type, &spelled);
    if !row.contains(&spelled) {
        bail!("the last line, that of {old}, does not name a type {old_type}");
    }
    lines.insert(last + 1, row);
    lines.insert(last + 1, format!("    /// {new_type}: see its page."));
    Ok(lines.join("\n") + "\n")
}

/// Adds a row below the last one of the table of designs.
fn add_row(text: &str, name: &str) -> Result<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let head = lines.iter().position(|line| line.starts_with("| design |")).context("no table of designs")?;
    let end = (head..lines.len()).find(|&index| !lines[index].starts_with('|')).unwrap_or(lines.len());
    lines.insert(end, format!("| [`{name}`]({name}.md) | {ROW}"));
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_snake_case() {
        for good in ["reef", "coral_reef", "reef2"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "Reef", "coral-reef", "2reef", "_reef", "reef_", "a__b", "../reef"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        assert_eq!(type_name("coral_reef"), "CoralReef");
    }

    #[test]
    fn modules_stay_sorted() {
        let text = "//! Leaves.\n\npub mod buffered;\npub mod isle;\n\nuse a::b;\n";
        let planted = add_module(text, "coral_reef").unwrap();
        assert_eq!(planted, "//! Leaves.\n\npub mod buffered;\npub mod coral_reef;\npub mod isle;\n\nuse a::b;\n");
        assert!(add_module(&planted, "coral_reef").is_err());
        assert!(add_module(text, "reef").unwrap().contains("pub mod isle;\npub mod reef;\n"));
        assert!(add_module("use a::b;\n", "reef").is_err());
    }

    #[test]
    fn designs_take_the_last_line_as_their_model() {
        let text = "x::designs! { $ each:\n    /// Sorted: shifts.\n    fast_fair: leaf FastFair<7>, parent T;\n}\n";
        let planted = add_design(text, "coral_reef").unwrap();
        let row = "    coral_reef: leaf leaf::coral_reef::CoralReef<7>, parent T;\n}\n";
        assert!(planted.ends_with(row), "{planted}");
        assert!(planted.contains("    fast_fair: leaf FastFair<7>, parent T;\n    /// CoralReef: see its page.\n"));
        assert!(add_design(&planted, "coral_reef").is_err());
        let again = add_design(&planted, "atoll").unwrap();
        assert!(again.ends_with("    atoll: leaf leaf::atoll::Atoll<7>, parent T;\n}\n"), "{again}");
        assert!(add_design("x::designs! { $ each:\n}\n", "reef").is_err());
    }

    #[test]
    fn a_row_follows_the_last_one() {
        let text = "# Designs\n\n| design | from |\n|---|---|\n| [`isle`](isle.md) | a |\n\nText.\n";
        let planted = add_row(text, "reef").unwrap();
        assert!(planted.contains(&format!("| a |\n| [`reef`](reef.md) | {ROW}\n\nText.\n")), "{planted}");
        assert!(add_row("# Designs\n", "reef").is_err());
    }

    #[test]
    fn templates_are_filled() {
        for template in [LEAF, PAGE] {
            let filled = fill(template, "coral_reef");
            assert!(filled.contains("coral_reef") || filled.contains("CoralReef"));
            assert!(!filled.contains("{name}") && !filled.contains("{Name}"));
        }
    }
}
