//! What no text of the project contains, in code, comments or prose: the hosts of package registries, paths of one
//! person's machine, and numbers of tickets. All three outlive their meaning. And the words that STYLE.md bans from
//! documents and comments.

use crate::lexer;
use crate::source::{Offence, Source};

/// Spelled in two pieces, because this file is checked too.
const REGISTRY_HOSTS: &[&str] =
    &[concat!("crates", ".io"), concat!("pypi", ".org"), concat!("npmjs", ".com"), concat!("npmjs", ".org")];
const WORKPLACES: &[&str] = &[concat!("/", "work/"), concat!("/", "home/")];
const TICKETS: &[&str] = &["issue", "task"];

pub(crate) fn no_registry_hosts(source: &Source) -> Vec<Offence> {
    source.lines_where("the host of a package registry: name the crate, its home is in the lock file", |line| {
        REGISTRY_HOSTS.iter().any(|host| line.contains(host))
    })
}

pub(crate) fn no_workplace_paths(source: &Source) -> Vec<Offence> {
    source.lines_where("a path of one machine: make it relative, or take it from the environment", |line| {
        WORKPLACES.iter().any(|path| line.match_indices(path).any(|(at, _)| starts_a_path(&line[..at])))
    })
}

/// `a/b` within a relative path is not a path of a machine.
fn starts_a_path(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "_-.}".contains(c))
}

pub(crate) fn no_ticket_numbers(source: &Source) -> Vec<Offence> {
    source.lines_where("a ticket's number: tell its story instead", |line| {
        let line = line.to_ascii_lowercase();
        TICKETS
            .iter()
            .any(|word| line.match_indices(word).any(|(at, _)| is_ticket(&line[..at], &line[at + word.len()..])))
    })
}

/// A separate word, one space, perhaps a number sign, and a digit.
fn is_ticket(before: &str, after: &str) -> bool {
    let number = after.strip_prefix(' ').map(|rest| rest.strip_prefix('#').unwrap_or(rest));
    !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        && number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// In two pieces each, as above.
const BANNED: &[&str] = &[
    concat!("who", "ever"),
    concat!("so ", "many"),
    concat!("to", "ld"),
    concat!("gives ", "birth"),
    concat!("bo", "rn"),
    concat!("kee", "per"),
    concat!("stran", "ger"),
];

/// Words that name a person where a thread, a writer or a reader is meant, and metaphors.
pub(crate) fn no_banned_words(source: &Source) -> Vec<Offence> {
    if source.path == "STYLE.md" {
        return vec![];
    }
    source.lines_where("a word that STYLE.md bans: name the subject, and what it does", |line| {
        let prose = match (source.is_prose(), line.find("//")) {
            (true, _) => line,
            (false, Some(at)) if source.is_rust() => &line[at..],
            (false, _) => return false,
        };
        let prose = prose.to_ascii_lowercase();
        BANNED.iter().any(|word| lexer::has_word(&prose, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Source {
        Source::new("docs/a.md", text)
    }

    #[test]
    fn hosts_of_registries_are_caught() {
        for host in REGISTRY_HOSTS {
            assert_eq!(no_registry_hosts(&prose(&format!("see https://{host}/holm\n"))).len(), 1, "{host}");
        }
        assert_eq!(no_registry_hosts(&prose("see the registry\n")).len(), 0);
    }

    #[test]
    fn paths_of_a_machine_are_caught() {
        for path in WORKPLACES {
            assert_eq!(no_workplace_paths(&prose(&format!("run `{path}holm`\n"))).len(), 1, "{path}");
            assert_eq!(no_workplace_paths(&prose(&format!("run `net{path}holm`\n"))).len(), 0, "{path}");
        }
    }

    #[test]
    fn banned_words_are_caught() {
        for word in BANNED {
            assert_eq!(no_banned_words(&prose(&format!("A thread, {word} it is.\n"))).len(), 1, "{word}");
            assert_eq!(no_banned_words(&Source::new("a.rs", &format!("let a = 1; // {word}\n"))).len(), 1, "{word}");
            assert_eq!(
                no_banned_words(&Source::new("a.rs", &format!("let {} = 1;\n", word.replace(' ', "_")))).len(),
                0
            );
        }
    }

    #[test]
    fn tickets_are_caught() {
        for word in TICKETS {
            assert_eq!(no_ticket_numbers(&prose(&format!("fixes {word} {}\n", 12))).len(), 1);
            assert_eq!(no_ticket_numbers(&prose(&format!("Fixes {} #{}\n", word.to_uppercase(), 12))).len(), 1);
            assert_eq!(no_ticket_numbers(&prose(&format!("one {word} of 12, multi{word} 12\n"))).len(), 0);
        }
    }
}
