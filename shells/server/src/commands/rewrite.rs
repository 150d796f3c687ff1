//! CONFIG REWRITE: the file of options gets the values that CONFIG SET has given.

use crate::replace_file::replace_file;
use crate::settings::name_of_line;
use holm_commands::{Outcome, Refusal};
use std::path::Path;

/// An option that CONFIG SET may change.
pub(super) struct Changeable {
    pub(super) name: &'static str,
    /// The value that the server began with.
    pub(super) begun_with: String,
    pub(super) value: String,
}

/// Returns the lines of a file with the present values of options. All other lines stay as they are. An option that has
/// no line gets one if it was changed.
fn rewritten(text: &str, options: &[Changeable]) -> Vec<Vec<u8>> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for Changeable { name, begun_with, value } in options {
        let line = format!("{name} {value}");
        // The last of several lines is the one that counts.
        match lines.iter().rposition(|line| name_of_line(line) == Some(name)) {
            Some(at) => lines[at] = line,
            None if value != begun_with => lines.push(line),
            None => {}
        }
    }
    lines.into_iter().map(String::into_bytes).collect()
}

/// Writes the present values of options to the file that the server has read its options from.
///
/// # Errors
/// There is no such file, or it cannot be read or replaced: it is as it was.
pub(super) fn rewrite(file: Option<&Path>, options: &[Changeable]) -> Outcome<()> {
    let file = file.ok_or(Refusal::text("ERR The server is running without a config file"))?;
    let text = std::fs::read_to_string(file);
    let replaced = text.and_then(|text| replace_file(file, &rewritten(&text, options)));
    replaced.map_err(|error| Refusal::of(format!("ERR Rewriting config file: {}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::{Changeable, rewritten};

    #[test]
    fn other_lines_stay_and_the_last_of_an_option_changes() {
        let option = |name, begun_with: &str, value: &str| Changeable {
            name,
            begun_with: begun_with.to_owned(),
            value: value.to_owned(),
        };
        let options = [option("a", "1", "7"), option("b", "2", "2"), option("c", "3", "8"), option("d", "4", "4")];
        let text = "# a comment\na 0\n\n  a   1\nother \"x y\"\nd 9";
        let lines = rewritten(text, &options).into_iter().map(|line| String::from_utf8(line).unwrap());
        assert_eq!(lines.collect::<Vec<_>>().join("\n"), "# a comment\na 0\n\na 7\nother \"x y\"\nd 4\nc 8");
    }
}
