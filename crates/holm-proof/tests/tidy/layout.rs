//! The shape of files: width, length, characters, and the paragraph that opens each Rust file.

use crate::lexer;
use crate::source::{Offence, Source};

/// The columns that rustfmt keeps, and that strings and comments must keep too.
const COLUMNS: usize = 120;
/// The aim is 400; a longer file holds two nouns.
const FILE_LINES: usize = 600;
/// The aim is 60; a longer function fits on no screen.
const FUNCTION_LINES: usize = 80;

pub(crate) fn columns(source: &Source) -> Vec<Offence> {
    // Tables and links of prose cannot be broken.
    if source.is_prose() {
        return Vec::new();
    }
    source.lines_where("longer than 120 columns: break the line", |line| line.chars().count() > COLUMNS)
}

pub(crate) fn file_length(source: &Source) -> Vec<Offence> {
    let lines = source.text.lines().count();
    if !source.is_rust() || lines <= FILE_LINES {
        return Vec::new();
    }
    let remedy = format!("{lines} lines, at most {FILE_LINES} (aim at 400): give one of its nouns a file of its own");
    vec![source.offence(1, remedy)]
}

pub(crate) fn function_length(source: &Source) -> Vec<Offence> {
    let mut offences = Vec::new();
    for function in lexer::functions(&source.code) {
        let lines = function.lines.end() - function.lines.start() + 1;
        if lines > FUNCTION_LINES {
            let remedy = format!(
                "`{}` has {lines} lines, at most {FUNCTION_LINES} (aim at 60): name a step and take it out",
                function.name
            );
            offences.push(source.offence(*function.lines.start(), remedy));
        }
    }
    offences
}

pub(crate) fn ascii(source: &Source) -> Vec<Offence> {
    if !source.is_rust() && !source.is_toml() {
        return Vec::new();
    }
    source.lines_where("not ASCII: spell it, or use an escape", |line| !line.is_ascii())
}

pub(crate) fn no_tabs(source: &Source) -> Vec<Offence> {
    source.lines_where("a tab: use spaces, or `\\t` in a string", |line| line.contains('\t'))
}

pub(crate) fn no_trailing_space(source: &Source) -> Vec<Offence> {
    source.lines_where("white space at the end: remove it", |line| line.ends_with([' ', '\t', '\r']))
}

pub(crate) fn opens_with_a_paragraph(source: &Source) -> Vec<Offence> {
    let first = source.text.lines().next().unwrap_or_default();
    let says_something = first.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty());
    if !source.is_rust() || says_something {
        return Vec::new();
    }
    vec![source.offence(1, "open with a `//!` paragraph: what it is, what it promises, what it leaves to others")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> Source {
        Source::new("crates/x/src/a.rs", text)
    }

    #[test]
    fn width_is_kept() {
        let wide = "x".repeat(COLUMNS + 1);
        assert_eq!(columns(&rust(&wide)).len(), 1);
        assert_eq!(columns(&rust(&wide[1..])).len(), 0);
        assert_eq!(columns(&Source::new("docs/a.md", &wide)).len(), 0);
    }

    #[test]
    fn long_files_are_caught() {
        assert_eq!(file_length(&rust(&"\n".repeat(FILE_LINES + 1))).len(), 1);
        assert_eq!(file_length(&rust(&"\n".repeat(FILE_LINES))).len(), 0);
        assert_eq!(file_length(&Source::new("docs/a.md", &"\n".repeat(FILE_LINES + 1))).len(), 0);
    }

    #[test]
    fn long_functions_are_caught() {
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2));
        assert_eq!(function_length(&rust(&function(FUNCTION_LINES + 1))).len(), 1);
        assert_eq!(function_length(&rust(&function(FUNCTION_LINES))).len(), 0);
    }

    #[test]
    fn characters_are_plain() {
        assert_eq!(ascii(&rust("// caf\u{e9}\n")).len(), 1);
        assert_eq!(ascii(&Source::new("Cargo.toml", "# \u{2713}\n")).len(), 1);
        assert_eq!(ascii(&Source::new("README.md", "\u{2713}\n")).len(), 0);
        assert_eq!(no_tabs(&rust("\tx\n")).len(), 1);
        assert_eq!(no_tabs(&rust("    x\n")).len(), 0);
        assert_eq!(no_trailing_space(&rust("x \ny\r\nz\n")).len(), 2);
    }

    #[test]
    fn a_missing_paragraph_is_caught() {
        assert_eq!(opens_with_a_paragraph(&rust("use a::b;\n")).len(), 1);
        assert_eq!(opens_with_a_paragraph(&rust("//!\n")).len(), 1);
        assert_eq!(opens_with_a_paragraph(&rust("")).len(), 1);
        assert_eq!(opens_with_a_paragraph(&rust("//! A noun.\n")).len(), 0);
    }
}
