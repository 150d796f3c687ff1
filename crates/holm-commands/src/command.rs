//! What is known about a command before it runs.

use crate::arguments::Arguments;
use crate::refusal::{Outcome, Refusal};
use crate::subcommand::{self, Subcommand};

/// It only reads.
pub const READ: u32 = 1;
/// It may change keys.
pub const WRITE: u32 = 2;
/// It reads so little that it needs no transaction.
pub const DIRECT: u32 = 4;
/// It takes constant or logarithmic time.
pub const FAST: u32 = 8;
/// It may wait for others.
pub const BLOCKING: u32 = 16;
/// It concerns the server.
pub const ADMIN: u32 = 32;
/// Clients that have not said who they are may use it.
pub const NO_AUTH: u32 = 64;
/// It is about messages between clients.
pub const PUBSUB: u32 = 128;
/// It concerns the connection.
pub const CONNECTION: u32 = 256;
/// It is not queued within MULTI, but carried out at once.
pub const UNQUEUED: u32 = 512;
/// It cannot be part of a transaction.
pub const ALONE: u32 = 1024;

/// It writes, and what it looks up counts as read.
pub const COUNTED: u32 = 2048;

/// Some of its subcommands are about the server.
pub const SERVED: u32 = 4096;

/// The flags with the names that the command COMMAND answers.
pub const FLAG_NAMES: &[(u32, &str)] = &[
    (READ, "readonly"),
    (WRITE, "write"),
    (FAST, "fast"),
    (BLOCKING, "blocking"),
    (ADMIN, "admin"),
    (NO_AUTH, "no_auth"),
    (PUBSUB, "pubsub"),
];

/// Where the keys are among the words of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// There are none.
    None,
    /// From the first to the last, each step; a negative last counts from the end.
    Span(i16, i16, i16),
    /// A number at this index says how many keys follow it.
    Counted(u8),
    /// As `Counted`, and one more key at the first index.
    TargetAndCounted(u8),
    /// The first word after the name, and the one behind the last option STORE or STOREDIST.
    OneAndStore,
}

/// The first word after the name is the key.
pub const ONE: Keys = Keys::Span(1, 1, 1);
/// All words after the name are keys.
pub const ALL: Keys = Keys::Span(1, -1, 1);
/// The first two words after the name are keys.
pub const TWO: Keys = Keys::Span(1, 2, 1);

/// A command: what it is called, how it is called, and what carries it out.
#[derive(Clone, Copy, Debug)]
pub struct Command<F> {
    /// The name, in small letters.
    pub name: &'static str,
    /// The number of words, the name included; negative for at least as many.
    pub arity: i32,
    /// What kind of command it is.
    pub flags: u32,
    /// Where its keys are.
    pub keys: Keys,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What its second word may be; empty if that is an argument.
    pub subcommands: &'static [Subcommand],
    /// What carries it out.
    pub run: F,
}

/// A line of a table.
pub const fn of<F>(
    name: &'static str,
    arity: i32,
    flags: u32,
    keys: Keys,
    run: F,
    summary: &'static str,
) -> Command<F> {
    Command { name, arity, flags, keys, summary, subcommands: &[], run }
}

/// A line of a table, of a command with subcommands. Its summary is the list of them.
pub const fn container<F: Copy>(command: Command<F>, subcommands: &'static [Subcommand]) -> Command<F> {
    Command { subcommands, ..command }
}

impl<F> Command<F> {
    /// Returns the same description without what carries it out.
    pub fn about(&self) -> Command<()> {
        let Command { name, arity, flags, keys, summary, subcommands, .. } = *self;
        Command { name, arity, flags, keys, summary, subcommands, run: () }
    }

    /// Refuses a number of words that is wrong, and a second word that should be a subcommand and is none. That is
    /// known before the command runs, so a command of this kind is not queued.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, arguments: &Arguments<'_>) -> Outcome<()> {
        if !self.accepts(arguments.len()) {
            return Err(Refusal::of(format!("ERR wrong number of arguments for '{}' command", self.name)));
        }
        match self.subcommands {
            [] => Ok(()),
            known => subcommand::check(self.name, known, arguments),
        }
    }

    /// Returns whether a number of words is right.
    pub fn accepts(&self, words: usize) -> bool {
        if self.arity < 0 { words as i32 >= -self.arity } else { words as i32 == self.arity }
    }

    /// Returns the keys among the words of a command.
    pub fn keys_of<'a>(&self, arguments: &Arguments<'a>) -> Vec<&'a [u8]> {
        let counted = |at: u8| {
            let count = crate::number::parse_integer(arguments.at(usize::from(at)));
            let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
            arguments.from(usize::from(at) + 1).take(count).collect::<Vec<_>>()
        };
        match self.keys {
            Keys::None => Vec::new(),
            Keys::Span(first, last, step) => {
                let end = if last < 0 { arguments.len() as i64 + i64::from(last) } else { i64::from(last) };
                let indices = (i64::from(first)..=end).step_by(step.max(1) as usize);
                indices.filter_map(|index| arguments.get(index as usize)).collect()
            }
            Keys::Counted(at) => counted(at),
            Keys::TargetAndCounted(at) => [vec![arguments.at(1)], counted(at)].concat(),
            Keys::OneAndStore => {
                let is_option = |at: &usize| arguments.is(*at, "store") || arguments.is(*at, "storedist");
                let target = (2..arguments.len().saturating_sub(1)).rfind(is_option).map(|at| arguments.at(at + 1));
                std::iter::once(arguments.at(1)).chain(target).collect()
            }
        }
    }
}

/// A family of commands.
#[derive(Clone, Copy, Debug)]
pub struct Group<F: 'static> {
    /// What it is documented as.
    pub title: &'static str,
    /// The commands.
    pub commands: &'static [Command<F>],
}

/// Commands by name.
#[derive(Debug)]
pub struct CommandIndex<F: 'static> {
    sorted: Vec<&'static Command<F>>,
    /// Each command at the place of its name's hash, or at the next one that was free. At least half are free.
    places: Vec<Option<&'static Command<F>>>,
}

/// Returns a number that names in any case share.
fn hash(name: &[u8]) -> usize {
    let hash = name.iter().fold(name.len() as u64, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    (hash >> 32) as usize
}

impl<F> CommandIndex<F> {
    /// Returns an index over a table.
    pub fn new(groups: &[Group<F>]) -> Self {
        let mut sorted: Vec<_> = groups.iter().flat_map(|group| group.commands.iter()).collect();
        sorted.sort_by_key(|command| command.name);
        let mut places = vec![None; (sorted.len() * 2).next_power_of_two()];
        for command in &sorted {
            let mut at = hash(command.name.as_bytes()) % places.len();
            while places[at].is_some() {
                at = (at + 1) % places.len();
            }
            places[at] = Some(*command);
        }
        CommandIndex { sorted, places }
    }

    /// Finds a command by its name in any case.
    pub fn find(&self, name: &[u8]) -> Option<&'static Command<F>> {
        let mask = self.places.len() - 1;
        let mut at = hash(name) & mask;
        while let Some(command) = self.places[at] {
            if command.name.as_bytes().eq_ignore_ascii_case(name) {
                return Some(command);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Iterates over the commands in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &'static Command<F>> {
        self.sorted.iter().copied()
    }
}
