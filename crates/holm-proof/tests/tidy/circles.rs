//! Circles of imports: in the crates listed here, no file imports a file that imports it, directly or through others.
//!
//! A file that lists its children and re-exports from them imports them; a path through such a re-export counts as an
//! import of the child. Tests do not count.

use crate::source::{Offence, Source};
use std::collections::{BTreeMap, BTreeSet};

/// The crates without circles.
const CRATES: &[&str] = &["crates/holm-medium/src/", "crates/holm/src/"];

/// An import that closes a circle on purpose.
struct Exception {
    /// The file that imports.
    from: &'static str,
    /// The file that it imports.
    to: &'static str,
    /// Why the two belong to each other.
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        from: "crates/holm/src/store.rs",
        to: "crates/holm/src/generation.rs",
        reason: "a store has the list of its open generations, and a generation reads from its store",
    },
    Exception {
        from: "crates/holm/src/engine.rs",
        to: "crates/holm/src/snapshot.rs",
        reason: "an engine lends its recent snapshot to several callers, and a snapshot keeps its engine open",
    },
];

/// The path of a module, without the crate's name: `["log", "half"]`.
type Module = Vec<String>;

/// One file of a crate, and its imports.
struct File<'a> {
    source: &'a Source,
    /// Each path that the file uses, and not only re-exports.
    uses: Vec<Module>,
    /// Names that others may take from this file although they belong to another: re-exports and aliases.
    passed_on: BTreeMap<String, Module>,
}

pub(crate) fn circles(sources: &[Source]) -> Vec<Offence> {
    CRATES.iter().flat_map(|root| circles_of(root, sources, EXCEPTIONS)).collect()
}

fn circles_of(root: &str, sources: &[Source], exceptions: &[Exception]) -> Vec<Offence> {
    let mut files = BTreeMap::new();
    for source in sources {
        let Some(name) = source.path.strip_prefix(root).and_then(|path| path.strip_suffix(".rs")) else { continue };
        if name != "tests" && !name.ends_with("/tests") {
            let module = if name == "lib" { vec![] } else { name.split('/').map(String::from).collect() };
            files.insert(module, read(source));
        }
    }
    let mut imports: BTreeMap<_, _> =
        files.iter().map(|(module, file)| (module, imports_of(module, file, &files))).collect();
    let stale = leave_out(exceptions.iter().filter(|it| it.from.starts_with(root)), &files, &mut imports);
    let reached: BTreeMap<_, _> = files.keys().map(|module| (module, reach(module, &imports))).collect();
    let in_circle = |module: &&Module| reached[module].contains(*module);
    let describe = |module: &Module| {
        let others = reached[module].iter().filter(|other| reached[**other].contains(module) && **other != module);
        others.map(|other| other.join("/")).collect::<Vec<_>>().join(", ")
    };
    let offence = |module: &Module| {
        let remedy = format!("imports in a circle with {}: move what both need to a file of its own", describe(module));
        files[module].source.offence(1, remedy)
    };
    files.keys().filter(in_circle).map(offence).chain(stale).collect()
}

/// Leaves the excepted imports out. Returns an offence for each exception that excepts nothing.
fn leave_out<'a, 'e>(
    exceptions: impl Iterator<Item = &'e Exception>,
    files: &'a BTreeMap<Module, File<'_>>,
    imports: &mut BTreeMap<&'a Module, BTreeSet<&'a Module>>,
) -> Vec<Offence> {
    let module_of = |path: &str| files.iter().find(|(_, file)| file.source.path == path).map(|(module, _)| module);
    let mut stale = Vec::new();
    for Exception { from, to, reason } in exceptions {
        let removed = module_of(from).zip(module_of(to)).is_some_and(|(from, to)| {
            let is_closed = reach(to, imports).contains(from);
            is_closed && imports.get_mut(from).is_some_and(|imported| imported.remove(to))
        });
        if let Some(file) = files.values().next().filter(|_| !removed) {
            let what = format!("{from} closes no circle with {to} ({reason}): take the exception out of the list");
            stale.push(file.source.offence(1, what));
        }
    }
    stale
}

fn read(source: &Source) -> File<'_> {
    let code: Vec<&str> =
        source.code_lines().filter(|(line, _)| !source.is_test(*line)).map(|(_, text)| text).collect();
    let code = code.join("\n");
    // Tests that only some builds have stand at the foot of a file too.
    let code = code.split("#[cfg(all(test").next().unwrap_or_default();
    let (mut uses, mut passed_on, mut rest) = (Vec::new(), BTreeMap::new(), String::new());
    for statement in code.split_inclusive(';') {
        let before = statement.rfind("use ").filter(|at| {
            let is_word = !statement[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            is_word && statement.ends_with(';')
        });
        let Some(at) = before else {
            rest.push_str(statement);
            continue;
        };
        let is_public = statement[..at].trim_end().ends_with("pub") || statement[..at].trim_end().ends_with(')');
        for (path, alias) in expand(statement[at + 4..].trim_end_matches(';')) {
            let is_alias = path.last() != Some(&alias);
            if is_public || is_alias {
                passed_on.insert(alias, path.clone());
            }
            if !is_public {
                uses.push(path);
            }
        }
        rest.push_str(&statement[..at]);
    }
    // `pub(in path)` says who sees an item, and imports nothing.
    let rest = rest.replace("(in crate::", "(").replace("(in super::", "(");
    let words = rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let paths = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    uses.extend(paths.map(|path| path.split("::").map(String::from).collect::<Module>()));
    File { source, uses, passed_on }
}

/// The paths of one `use`, each with the name that it has from then on.
fn expand(tree: &str) -> Vec<(Module, String)> {
    let tree = tree.trim();
    if let Some((prefix, inner)) = tree.split_once('{') {
        let prefix: Vec<_> = prefix.trim_end_matches(':').split("::").map(|word| word.trim().to_owned()).collect();
        let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
        let (mut depth, mut branches) = (0, vec![String::new()]);
        for c in inner.chars() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            match branches.last_mut() {
                Some(branch) if c != ',' || depth > 0 => branch.push(c),
                _ => branches.push(String::new()),
            }
        }
        let branches = branches.iter().filter(|branch| !branch.trim().is_empty()).flat_map(|branch| expand(branch));
        return branches.map(|(path, alias)| ([prefix.clone(), path].concat(), alias)).collect();
    }
    let (path, alias) = tree.split_once(" as ").unwrap_or((tree, tree.rsplit("::").next().unwrap_or(tree)));
    let path: Module = path.split("::").map(|word| word.trim().to_owned()).collect();
    vec![(path, alias.trim().to_owned())]
}

/// The other files that a file imports.
fn imports_of<'a>(module: &Module, file: &File<'_>, files: &'a BTreeMap<Module, File<'_>>) -> BTreeSet<&'a Module> {
    let owners = file.uses.iter().filter_map(|path| owner(absolute(module, path, files)?, files, 0));
    owners.filter(|owner| *owner != module && !owner.is_empty()).collect()
}

/// A path from the crate's root; `None` for a path into another crate.
fn absolute(module: &Module, path: &Module, files: &BTreeMap<Module, File<'_>>) -> Option<Module> {
    let ups = path.iter().take_while(|word| *word == "super").count();
    let base = &module[..module.len().saturating_sub(ups)];
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => Some([base, &path[ups..]].concat()),
        child => {
            files.contains_key(&[module.as_slice(), &[child.to_owned()]].concat()).then(|| [&module[..], path].concat())
        }
    }
}

/// The file that a path leads to, through re-exports.
fn owner<'a>(path: Module, files: &'a BTreeMap<Module, File<'_>>, depth: u32) -> Option<&'a Module> {
    let (len, (module, file)) =
        (0..=path.len()).rev().find_map(|len| Some((len, files.get_key_value(&path[..len])?)))?;
    let passed_on = path.get(len).and_then(|name| file.passed_on.get(name));
    match passed_on.and_then(|target| absolute(module, target, files)) {
        Some(target) if depth < 5 && target != path => owner(target, files, depth + 1),
        _ => Some(module),
    }
}

/// All files that a file imports, directly or through others.
fn reach<'a>(module: &Module, imports: &BTreeMap<&Module, BTreeSet<&'a Module>>) -> BTreeSet<&'a Module> {
    let (mut reached, mut open) = (BTreeSet::new(), Vec::from_iter(&imports[module]));
    while let Some(next) = open.pop() {
        if reached.insert(*next) {
            open.extend(&imports[*next]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "crates/reef/src/";

    fn found_but(files: &[(&str, &str)], exceptions: &[Exception]) -> usize {
        let sources: Vec<_> = files.iter().map(|(name, text)| Source::new(&format!("{ROOT}{name}"), text)).collect();
        circles_of(ROOT, &sources, exceptions).len()
    }

    fn found(files: &[(&str, &str)]) -> usize {
        found_but(files, &[])
    }

    #[test]
    fn an_import_with_a_reason_closes_no_circle() {
        let two = [("a.rs", "use crate::b::X;\n"), ("b.rs", "use crate::a::Y;\n")];
        let exception =
            Exception { from: "crates/reef/src/a.rs", to: "crates/reef/src/b.rs", reason: "they are one thing" };
        assert_eq!(found(&two), 2);
        assert_eq!(found_but(&two, &[exception]), 0);
    }

    #[test]
    fn an_exception_that_nothing_needs_is_caught() {
        let exception = |to| Exception { from: "crates/reef/src/a.rs", to, reason: "none" };
        let two = [("a.rs", "use crate::b::X;\n"), ("b.rs", "\n")];
        assert_eq!(found_but(&two, &[exception("crates/reef/src/b.rs")]), 1, "it closes no circle");
        assert_eq!(found_but(&two, &[exception("crates/reef/src/c.rs")]), 1, "there is no such file");
    }

    #[test]
    fn the_scope_of_an_item_is_no_import() {
        let child = ("a/b.rs", "pub(in crate::a) struct B;\npub(in super::c) struct C;\n");
        assert_eq!(found(&[("a.rs", "mod b;\nuse b::B;\n"), child]), 0);
    }

    #[test]
    fn a_circle_is_caught() {
        let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\n");
        let (to_b, to_c) = (("a.rs", "use crate::b::{X, Y};\n"), ("b.rs", "use super::c::Z;\n"));
        assert_eq!(found(&[lib, to_b, to_c, ("c.rs", "fn f() { crate::a::g() }\n")]), 3);
        assert_eq!(found(&[lib, to_b, to_c, ("c.rs", "\n")]), 0);
        assert_eq!(found(&[lib, to_b, to_c, ("c.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n")]), 0);
    }

    #[test]
    fn a_child_that_imports_its_parent_is_caught() {
        let parent = ("a.rs", "mod b;\nuse b::B;\npub struct A;\n");
        assert_eq!(found(&[parent, ("a/b.rs", "use super::A;\n")]), 2);
        assert_eq!(found(&[parent, ("a/b.rs", "use std::io;\n")]), 0);
    }

    #[test]
    fn a_parent_that_lists_its_children_is_none() {
        let parent = ("a.rs", "mod b;\nmod c;\npub use b::B;\npub(crate) use c::C;\nuse b as system;\n");
        let child = ("a/c.rs", "use super::B;\nuse super::system::X;\n");
        assert_eq!(found(&[parent, ("a/b.rs", "pub struct B;\n"), child]), 0);
        assert_eq!(found(&[parent, ("a/b.rs", "use crate::a::C;\n"), child]), 2);
    }
}
