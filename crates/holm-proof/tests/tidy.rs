//! Tidy: checks the rules of `STYLE.md` that a program can check, over every file that git tracks.
//!
//! One test reads the tree and lists all offences at once, each with its place and its remedy. A rule is a small
//! function from a source to offences. Beside each rule stand samples that it must and must not report, so that a rule
//! that finds nothing fails too. The workspace's lint table covers what needs a compiler (unused code, missing
//! documentation, undocumented `unsafe` blocks), and rustfmt covers indentation.

#![forbid(unsafe_code)]

#[path = "tidy/calls.rs"]
mod calls;
#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/history.rs"]
mod history;
#[path = "tidy/layout.rs"]
mod layout;
#[path = "tidy/lexer.rs"]
mod lexer;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/words.rs"]
mod words;
#[path = "tidy/workspace.rs"]
mod workspace;

use source::{Offence, Source};

/// Rules that check one file at a time.
const FILE_RULES: &[fn(&Source) -> Vec<Offence>] = &[
    calls::banned_calls,
    calls::unsafe_in_its_rooms,
    workspace::dependencies_give_reasons,
    layout::ascii,
    layout::columns,
    layout::file_length,
    layout::function_length,
    layout::no_tabs,
    layout::no_trailing_space,
    layout::opens_with_a_paragraph,
    words::no_registry_hosts,
    words::no_ticket_numbers,
    words::no_banned_words,
    words::no_workplace_paths,
];

#[test]
fn the_tree_is_tidy() {
    let sources = source::tracked();
    assert!(
        sources.iter().any(|source| source.path == "crates/holm-proof/tests/tidy.rs"),
        "the listing of the tree misses this very file: nothing was judged"
    );
    let mut offences: Vec<Offence> =
        sources.iter().flat_map(|source| FILE_RULES.iter().flat_map(|rule| rule(source))).collect();
    offences.extend(workspace::designs_have_pages(&sources));
    let designs: Vec<_> = holm_designs::designs::CAPABILITIES.iter().map(|(name, _)| *name).collect();
    offences.extend(workspace::designs_have_rows(&sources, &designs));
    offences.extend(workspace::pages_name_tests_that_exist(&sources));
    offences.extend(workspace::pages_quote_what_is_tested(&sources));
    offences.extend(circles::circles(&sources));
    offences.sort();
    let listed: String = offences.iter().map(|offence| format!("\n  {offence}")).collect();
    assert!(offences.is_empty(), "{} offences against STYLE.md:{listed}\n", offences.len());
}
