//! Subcommands: the second words of CLIENT, CONFIG and others, with their numbers of words.

use crate::arguments::Arguments;
use crate::refusal::{MOST_REPEATED, Outcome, Refusal};
use crate::reply::Reply;

/// What the second word of a command may be.
#[derive(Clone, Copy, Debug)]
pub struct Subcommand {
    /// The word, in small letters.
    pub name: &'static str,
    /// The number of words, the command's name included; negative for at least as many.
    pub arity: i32,
    /// The words behind it, as HELP shows them.
    pub usage: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
}

impl Subcommand {
    /// A line of a table.
    pub const fn new(name: &'static str, arity: i32, usage: &'static str, summary: &'static str) -> Self {
        Subcommand { name, arity, usage, summary }
    }
}

/// The subcommand that describes the others.
pub const HELP: Subcommand = Subcommand::new("help", 2, "", "Print this help.");

/// Refuses a second word that is no subcommand, and a wrong number of words.
pub(crate) fn check(command: &str, known: &[Subcommand], arguments: &Arguments<'_>) -> Outcome<()> {
    let Some(word) = arguments.get(1) else { return Ok(()) };
    let found = known.iter().find(|subcommand| word.eq_ignore_ascii_case(subcommand.name.as_bytes()));
    let found = found.ok_or_else(|| {
        let shown = word[..word.len().min(MOST_REPEATED)].escape_ascii();
        Refusal::of(format!("ERR unknown subcommand '{shown}'. Try {} HELP.", command.to_ascii_uppercase()))
    })?;
    let words = arguments.len() as i32;
    if if found.arity < 0 { words >= -found.arity } else { words == found.arity } {
        return Ok(());
    }
    Err(Refusal::of(format!("ERR wrong number of arguments for '{command}|{}' command", found.name)))
}

/// Returns the refusal of a subcommand whose words are not what it takes.
pub fn wrong_words(command: &str, arguments: &Arguments<'_>) -> Refusal {
    let word = arguments.at(1);
    let shown = word[..word.len().min(MOST_REPEATED)].escape_ascii();
    Refusal::of(format!(
        "ERR unknown subcommand or wrong number of arguments for '{shown}'. Try {} HELP.",
        command.to_ascii_uppercase()
    ))
}

/// Returns what HELP answers: how each subcommand is called, and what it does.
pub fn help(command: &str, known: &[Subcommand]) -> Reply {
    let head = format!("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", command.to_ascii_uppercase());
    let line = |subcommand: &Subcommand| {
        let call = format!("{} {}", subcommand.name.to_ascii_uppercase(), subcommand.usage);
        [call.trim_end().to_owned(), format!("    {}", subcommand.summary)]
    };
    let lines = std::iter::once(head).chain(known.iter().flat_map(line));
    Reply::Array(lines.map(|line| Reply::Status(line.into())).collect())
}
