//! Just enough of Rust's lexer: it distinguishes code from comments, strings and characters, and finds where functions
//! and test items begin and end. It keeps lines where they are, and terminates on any text; it does not parse.

use std::ops::RangeInclusive;

/// A function with a body, from the line of its `fn` to the line of its closing brace, counted from one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) lines: RangeInclusive<usize>,
}

/// The text with every character of comments, strings and character literals replaced by a space.
pub(crate) fn code_of(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let (end, is_code) = token(&chars, at);
        code.extend(chars[at..end].iter().map(|&c| if is_code || c == '\n' { c } else { ' ' }));
        at = end;
    }
    code
}

/// Where the token at `at` ends, and whether it is code. Always advances.
fn token(chars: &[char], at: usize) -> (usize, bool) {
    let second = chars.get(at + 1).copied();
    match chars[at] {
        '/' if second == Some('/') => (end_of_line(chars, at), false),
        '/' if second == Some('*') => (end_of_block_comment(chars, at), false),
        '"' => (end_of_string(chars, at), false),
        '\'' => end_of_quote(chars, at),
        c if is_word(c) => {
            let end = at + chars[at..].iter().take_while(|&&c| is_word(c)).count();
            let word: String = chars[at..end].iter().collect();
            match end_of_raw_string(chars, end) {
                Some(raw_end) if ["r", "br", "cr"].contains(&word.as_str()) => (raw_end, false),
                _ => (end, true),
            }
        }
        _ => (at + 1, true),
    }
}

fn end_of_line(chars: &[char], at: usize) -> usize {
    at + chars[at..].iter().take_while(|&&c| c != '\n').count()
}

fn end_of_block_comment(chars: &[char], at: usize) -> usize {
    let (mut depth, mut end) = (1, at + 2);
    while depth > 0 && end < chars.len() {
        let pair = (chars[end], chars.get(end + 1).copied());
        let step = match pair {
            ('/', Some('*')) => 1,
            ('*', Some('/')) => -1,
            _ => 0,
        };
        depth += step;
        end += if step == 0 { 1 } else { 2 };
    }
    end.min(chars.len())
}

fn end_of_string(chars: &[char], at: usize) -> usize {
    let mut end = at + 1;
    while end < chars.len() && chars[end] != '"' {
        end += if chars[end] == '\\' { 2 } else { 1 };
    }
    (end + 1).min(chars.len())
}

/// A character literal is blanked; the quote of a lifetime or label is code and one character long.
fn end_of_quote(chars: &[char], at: usize) -> (usize, bool) {
    if chars.get(at + 1) == Some(&'\\') {
        let rest = chars.get(at + 3..).unwrap_or_default();
        let end = at + 3 + rest.iter().take_while(|&&c| c != '\'').count() + 1;
        (end.min(chars.len()), false)
    } else if chars.get(at + 2) == Some(&'\'') {
        (at + 3, false)
    } else {
        (at + 1, true)
    }
}

/// The end of `#*"..."#*`, if that is what begins at `at`.
fn end_of_raw_string(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at..].iter().take_while(|&&c| c == '#').count();
    if chars.get(at + hashes) != Some(&'"') {
        return None;
    }
    let mut end = at + hashes + 1;
    while end < chars.len() {
        let closes = chars[end] == '"' && chars[end + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
        if closes {
            return Some(end + 1 + hashes);
        }
        end += 1;
    }
    Some(chars.len())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `line` contains `needle` as a separate word. Only an end that is itself a word character must be free.
pub(crate) fn has_word(line: &str, needle: &str) -> bool {
    positions(line, needle).next().is_some()
}

fn positions<'a>(text: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(needle).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back().filter(|_| needle.starts_with(is_word));
        let after = text[at + needle.len()..].chars().next().filter(|_| needle.ends_with(is_word));
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

fn line_of(code: &str, at: usize) -> usize {
    1 + code[..at.min(code.len())].matches('\n').count()
}

/// Every function with a body, in blanked code.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for at in positions(code, "fn") {
        let rest = code[at + 2..].trim_start();
        let name: String = rest.chars().take_while(|&c| is_word(c) || c == '$').collect();
        // Without a name it is the type of a function pointer.
        if let (false, Some(open)) = (name.is_empty(), body(code, at)) {
            found.push(Function { name, lines: line_of(code, at)..=line_of(code, closing_brace(code, open)) });
        }
    }
    found
}

/// Where the braces of the item at `at` open; `None` if it ends in a semicolon first.
fn body(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (offset, c) in code[at..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth <= 0 => return Some(at + offset),
            ';' if depth <= 0 => return None,
            _ => {}
        }
    }
    None
}

fn closing_brace(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (offset, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return open + offset;
        }
    }
    code.len()
}

/// The lines of every item under `#[cfg(test)]`, in blanked code.
pub(crate) fn test_items(code: &str) -> Vec<RangeInclusive<usize>> {
    let marks = code.match_indices("#[cfg(test)]").map(|(at, mark)| (at, at + mark.len()));
    marks
        .filter_map(|(at, end)| Some(line_of(code, at)..=line_of(code, closing_brace(code, body(code, end)?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked() {
        let text = "a /* b /* c */ d */ e // f\n\"g \\\" h\" i r#\"j \" k\"# l 'm' '\\'' 'n: loop br\"o\" p";
        let words: Vec<String> = code_of(text).split_whitespace().map(str::to_owned).collect();
        assert_eq!(words, ["a", "e", "i", "l", "'n:", "loop", "p"]);
        assert_eq!(code_of(text).matches('\n').count(), 1);
    }

    #[test]
    fn lexing_terminates_on_any_text() {
        for text in ["\"open", "r#\"open\"", "/* open", "'", "'\\", "\"\\", "r", "r#", "{", "fn f() {", "/", "fn"] {
            assert_eq!(code_of(text).chars().count(), text.chars().count(), "{text}");
            functions(text);
        }
    }

    #[test]
    fn functions_are_measured() {
        let code = "trait T {\n    fn no(&self);\n    fn yes(&self) {\n        if a { b }\n    }\n}\nlet f: fn(u8);\n";
        assert_eq!(functions(code), [Function { name: "yes".into(), lines: 3..=5 }]);
    }

    #[test]
    fn words_stand_alone() {
        assert!(has_word("unsafe {", "unsafe") && has_word("dbg!(x)", "dbg!("));
        assert!(!has_word("unsafe_code", "unsafe") && !has_word("eprintln!(", "println!("));
    }
}
