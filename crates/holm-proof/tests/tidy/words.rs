//! What no text of the project contains, in code, comments or prose: the hosts of package registries, paths of one
//! person's machine, and numbers of tickets. All three outlive their meaning.

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
    fn tickets_are_caught() {
        for word in TICKETS {
            assert_eq!(no_ticket_numbers(&prose(&format!("fixes {word} {}\n", 12))).len(), 1);
            assert_eq!(no_ticket_numbers(&prose(&format!("Fixes {} #{}\n", word.to_uppercase(), 12))).len(), 1);
            assert_eq!(no_ticket_numbers(&prose(&format!("one {word} of 12, multi{word} 12\n"))).len(), 0);
        }
    }
}
