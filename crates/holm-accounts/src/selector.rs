//! A selector: a set of commands, together with patterns of keys and channels that they may be about.

use crate::access::{Access, BOTH, READS, Uses, WRITES};
use crate::catalog::{self, Catalog};
use crate::rule::{RuleError, has_spaces};
use holm_commands::matches;
use std::collections::BTreeMap;

/// What a rule about commands names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    Entry(usize),
    /// A command with this first argument.
    FirstWord(usize, String),
    Category(usize),
}

/// What a command asks for.
pub(crate) struct Wanted<'a> {
    /// The number of the command or subcommand.
    pub(crate) number: usize,
    /// The number of the command.
    pub(crate) command: usize,
    pub(crate) first_word: Option<&'a [u8]>,
    /// Clients that have not said who they are may use it.
    pub(crate) is_open: bool,
    pub(crate) uses: Uses<'a>,
    pub(crate) channels: Vec<&'a [u8]>,
    /// The channels are patterns.
    pub(crate) is_pattern: bool,
}

/// What a selector does not allow, the less relevant first; with the place among the keys or channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lacking {
    Command,
    Key(usize),
    Channel(usize),
}

/// A set of commands, keys and channels. A new one has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    /// A bit for each entry of the catalog.
    allowed: Vec<u64>,
    first_words: BTreeMap<usize, Vec<String>>,
    begins_with_all: bool,
    rules: Vec<(bool, Subject)>,
    all_keys: bool,
    keys: Vec<(Vec<u8>, Access)>,
    all_channels: bool,
    channels: Vec<Vec<u8>>,
}

impl Selector {
    /// Returns one that allows everything.
    pub(crate) fn everything(catalog: &Catalog) -> Self {
        let mut selector = Selector { all_keys: true, ..Selector::default() };
        selector.allow_all(catalog, true);
        selector.allow_all_channels(true);
        selector
    }

    /// Returns whether it allows everything.
    pub(crate) fn allows_all(&self, catalog: &Catalog) -> bool {
        self.all_keys && self.all_channels && (0..catalog.len()).all(|number| self.has(number))
    }

    fn has(&self, number: usize) -> bool {
        self.allowed.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    fn allow(&mut self, number: usize, allow: bool) {
        self.allowed.resize(self.allowed.len().max(number / 64 + 1), 0);
        let word = &mut self.allowed[number / 64];
        *word = *word & !(1 << (number % 64)) | u64::from(allow) << (number % 64);
    }

    fn allow_all(&mut self, catalog: &Catalog, allow: bool) {
        (0..catalog.len()).for_each(|number| self.allow(number, allow));
        self.first_words.clear();
        self.rules.clear();
        self.begins_with_all = allow;
    }

    pub(crate) fn allow_all_channels(&mut self, allow: bool) {
        self.all_channels = allow;
        self.channels.clear();
    }

    /// Applies a rule.
    pub(crate) fn apply(&mut self, catalog: &Catalog, rule: &[u8]) -> Result<(), RuleError> {
        match &rule.to_ascii_lowercase()[..] {
            b"allkeys" | b"~*" => (self.all_keys, self.keys) = (true, Vec::new()),
            b"resetkeys" => (self.all_keys, self.keys) = (false, Vec::new()),
            b"allchannels" | b"&*" => self.allow_all_channels(true),
            b"resetchannels" => self.allow_all_channels(false),
            b"allcommands" | b"+@all" => self.allow_all(catalog, true),
            b"nocommands" | b"-@all" => self.allow_all(catalog, false),
            [b'~', ..] => self.add_keys(&rule[1..], BOTH)?,
            [b'%', ..] => {
                let bar = rule.iter().position(|byte| *byte == b'~').ok_or(RuleError::Syntax)?;
                let access = match &rule[1..bar].to_ascii_uppercase()[..] {
                    b"R" => READS,
                    b"W" => WRITES,
                    b"RW" | b"WR" => BOTH,
                    _ => return Err(RuleError::Syntax),
                };
                self.add_keys(&rule[bar + 1..], access)?;
            }
            [b'&', ..] => self.add_channels(&rule[1..])?,
            [sign @ (b'+' | b'-'), ..] => {
                let name = std::str::from_utf8(&rule[1..]).map_err(|_| RuleError::Unknown)?;
                self.apply_to_commands(catalog, *sign == b'+', name)?;
            }
            _ => return Err(RuleError::Syntax),
        }
        Ok(())
    }

    fn add_keys(&mut self, pattern: &[u8], access: Access) -> Result<(), RuleError> {
        if self.all_keys {
            return Err(RuleError::KeysAfterAll);
        }
        if has_spaces(pattern) {
            return Err(RuleError::Syntax);
        }
        match self.keys.iter_mut().find(|(known, _)| known == pattern) {
            Some((_, known)) => *known |= access,
            None => self.keys.push((pattern.to_vec(), access)),
        }
        Ok(())
    }

    fn add_channels(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        if self.all_channels {
            return Err(RuleError::ChannelsAfterAll);
        }
        if has_spaces(pattern) {
            return Err(RuleError::Syntax);
        }
        if !self.channels.iter().any(|known| known == pattern) {
            self.channels.push(pattern.to_vec());
        }
        Ok(())
    }

    fn apply_to_commands(&mut self, catalog: &Catalog, allow: bool, name: &str) -> Result<(), RuleError> {
        if let Some(name) = name.strip_prefix('@') {
            let category = catalog::category(name).ok_or(RuleError::Unknown)?;
            self.note(allow, Subject::Category(category), |other| *other == Subject::Category(category));
            for number in catalog.members(category) {
                self.allow(number, allow);
                self.first_words.remove(&number);
            }
            return Ok(());
        }
        if let Some(number) = catalog.find(name) {
            let family: Vec<_> = catalog.family(number).collect();
            let changes =
                family.iter().any(|number| self.has(*number) != allow) || self.first_words.contains_key(&number);
            let is_replaced = |other: &Subject| match other {
                Subject::Entry(entry) | Subject::FirstWord(entry, _) => family.contains(entry),
                Subject::Category(_) => false,
            };
            if changes {
                self.note(allow, Subject::Entry(number), is_replaced);
            }
            family.iter().for_each(|number| self.allow(*number, allow));
            self.first_words.remove(&number);
            return Ok(());
        }
        let (command, word) = name.rsplit_once('|').filter(|_| allow).ok_or(RuleError::Unknown)?;
        let number = catalog.find(command).ok_or(RuleError::Unknown)?;
        match catalog.entry(number) {
            _ if command.contains('|') => return Err(RuleError::FirstWordOfSubcommand),
            entry if entry.has_subcommands => return Err(RuleError::Unknown),
            // A space would end the rule where users are written down.
            _ if word.is_empty() || has_spaces(word.as_bytes()) => return Err(RuleError::Syntax),
            _ => {}
        }
        let is_allowed = self.has(number);
        let words = self.first_words.entry(number).or_default();
        if !is_allowed && !words.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            words.push(word.to_owned());
            self.rules.push((true, Subject::FirstWord(number, word.to_ascii_lowercase())));
        }
        Ok(())
    }

    /// Adds a rule in place of those that have no effect any more.
    fn note(&mut self, allow: bool, subject: Subject, is_replaced: impl Fn(&Subject) -> bool) {
        self.rules.retain(|(_, other)| !is_replaced(other));
        self.rules.push((allow, subject));
    }

    /// Checks what a command asks for.
    pub(crate) fn check(&self, wanted: &Wanted<'_>) -> Result<(), Lacking> {
        let by_first_word = || {
            let (words, first) = (self.first_words.get(&wanted.command), wanted.first_word);
            words
                .zip(first)
                .is_some_and(|(words, first)| words.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(first)))
        };
        if !wanted.is_open && !self.has(wanted.number) && !by_first_word() {
            return Err(Lacking::Command);
        }
        let lacks = |(key, access): &(&[u8], Access)| !self.allows_key(key, *access);
        if let Some(index) = wanted.uses.keys.iter().position(lacks) {
            return Err(Lacking::Key(index));
        }
        if wanted.uses.others != 0 && !self.allows_each_key(wanted.uses.others) {
            return Err(Lacking::Key(wanted.uses.keys.len()));
        }
        match wanted.channels.iter().position(|channel| !self.allows_channel(channel, wanted.is_pattern)) {
            Some(index) => Err(Lacking::Channel(index)),
            None => Ok(()),
        }
    }

    /// Returns whether a key may be used.
    pub(crate) fn allows_key(&self, key: &[u8], access: Access) -> bool {
        let allows = |(pattern, has): &(Vec<u8>, Access)| has & access == access && matches(pattern, key);
        self.all_keys || self.keys.iter().any(allows)
    }

    /// Returns whether each key may be used.
    pub(crate) fn allows_each_key(&self, access: Access) -> bool {
        let allows = |(pattern, has): &(Vec<u8>, Access)| has & access == access && pattern == b"*";
        self.all_keys || self.keys.iter().any(allows)
    }

    /// Returns whether a channel may be used. A pattern must be among those of the selector as it is.
    pub(crate) fn allows_channel(&self, channel: &[u8], is_pattern: bool) -> bool {
        let allows = |pattern: &Vec<u8>| if is_pattern { pattern == channel } else { matches(pattern, channel) };
        self.all_channels || self.channels.iter().any(allows)
    }

    /// Returns the rules about commands.
    pub(crate) fn commands(&self, catalog: &Catalog) -> String {
        let mut text = if self.begins_with_all { "+@all" } else { "-@all" }.to_owned();
        for (allow, subject) in &self.rules {
            text.push_str(if *allow { " +" } else { " -" });
            match subject {
                Subject::Entry(number) => text.push_str(catalog.entry(*number).name),
                Subject::FirstWord(number, word) => text.push_str(&format!("{}|{word}", catalog.entry(*number).name)),
                Subject::Category(category) => text.push_str(&format!("@{}", catalog::CATEGORIES[*category])),
            }
        }
        text
    }

    /// Returns the rules about keys.
    pub(crate) fn keys(&self) -> Vec<u8> {
        if self.all_keys {
            return b"~*".to_vec();
        }
        let rule = |(pattern, access): &(Vec<u8>, Access)| {
            let sign = match *access {
                READS => "%R~",
                WRITES => "%W~",
                _ => "~",
            };
            [sign.as_bytes(), pattern].concat()
        };
        self.keys.iter().map(rule).collect::<Vec<_>>().join(&b' ')
    }

    /// Returns the rules about channels.
    pub(crate) fn channels(&self) -> Vec<u8> {
        if self.all_channels {
            return b"&*".to_vec();
        }
        self.channels.iter().map(|pattern| [b"&", &pattern[..]].concat()).collect::<Vec<_>>().join(&b' ')
    }

    /// Returns rules that make an equal selector of a new one.
    pub(crate) fn describe(&self, catalog: &Catalog) -> Vec<u8> {
        let reset: &[u8] = if self.all_channels { b"" } else { b"resetchannels" };
        let parts = [self.keys(), reset.to_vec(), self.channels(), self.commands(catalog).into_bytes()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&b' ')
    }
}
