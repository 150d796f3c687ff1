//! COMMAND: what is known about commands.

use crate::commands::{OWN, subcommands};
use crate::session::Session;
use crate::shared::Shared;
use holm_commands::{
    Arguments, Command, FLAG_NAMES, Keys, Outcome, Refusal, Reply, SYNTAX, Subcommand, TABLE, WRITE, help, matches,
    wrong_words,
};

/// Returns the descriptions of all commands with the titles of their families.
pub(crate) fn all() -> Vec<(&'static str, Command<()>)> {
    let data = TABLE.iter().flat_map(|group| group.commands.iter().map(|command| (group.title, command.about())));
    let own = OWN.iter().flat_map(|group| group.commands.iter().map(|command| (group.title, command.about())));
    data.chain(own).collect()
}

fn find(name: &[u8]) -> Option<(&'static str, Command<()>)> {
    all().into_iter().find(|(_, command)| command.name.as_bytes().eq_ignore_ascii_case(name))
}

/// The groups of COMMAND DOCS, as clients know them, by family.
const GROUPS: &[(&str, &str)] = &[
    ("strings", "string"),
    ("bitmaps", "bitmap"),
    ("keys", "generic"),
    ("expiry", "generic"),
    ("hashes", "hash"),
    ("sets", "set"),
    ("sorted sets", "sorted-set"),
    ("lists", "list"),
    ("counting", "hyperloglog"),
    ("places", "geo"),
    ("channels", "pubsub"),
];

fn group_of(title: &'static str) -> &'static str {
    GROUPS.iter().find(|(family, _)| *family == title).map_or(title, |(_, group)| group)
}

/// Returns what is known about one subcommand, whose full name has a bar.
fn describe_subcommand(shared: &Shared, command: &Command<()>, subcommand: &Subcommand) -> Reply {
    let name = shared.acl.catalog.name_of(command.name, Some(subcommand.name.as_bytes()));
    describe_as(shared, command, (name, subcommand.arity), Vec::new())
}

fn describe(shared: &Shared, command: &Command<()>) -> Reply {
    let subcommands = command.subcommands.iter().map(|one| describe_subcommand(shared, command, one)).collect();
    describe_as(shared, command, (command.name, command.arity), subcommands)
}

/// Describes the command of a name, or the subcommand where there is a bar in it.
fn describe_named(shared: &Shared, name: &[u8]) -> Option<Reply> {
    let Some(bar) = name.iter().position(|byte| *byte == b'|') else {
        return Some(describe(shared, &find(name)?.1));
    };
    let (command, word) = (find(&name[..bar])?.1, &name[bar + 1..]);
    let found = command.subcommands.iter().find(|one| word.eq_ignore_ascii_case(one.name.as_bytes()))?;
    Some(describe_subcommand(shared, &command, found))
}

fn describe_as(
    shared: &Shared,
    command: &Command<()>,
    (name, arity): (&'static str, i32),
    subcommands: Vec<Reply>,
) -> Reply {
    let flags = FLAG_NAMES.iter().filter(|(flag, _)| command.flags & flag != 0);
    let (first, last, step) = match command.keys {
        Keys::Span(first, last, step) => (first, last, step),
        Keys::TargetAndCounted(_) | Keys::OneAndStore => (1, 1, 1),
        Keys::None | Keys::Counted(_) => (0, 0, 0),
    };
    let movable = (!matches!(command.keys, Keys::None | Keys::Span(..))).then_some("movablekeys");
    let flags = flags.map(|(_, name)| *name).chain(movable);
    let categories = shared.acl.catalog.categories_of(name).into_iter();
    Reply::Array(vec![
        Reply::fixed(name),
        Reply::Integer(i64::from(arity)),
        Reply::Set(flags.map(|name| Reply::Status(name.into())).collect()),
        Reply::Integer(i64::from(first)),
        Reply::Integer(i64::from(last)),
        Reply::Integer(i64::from(step)),
        Reply::Set(categories.map(|name| Reply::Status(format!("@{name}").into())).collect()),
        Reply::Set(Vec::new()),
        Reply::Set(Vec::new()),
        Reply::Array(subcommands),
    ])
}

fn document((group, command): &(&'static str, Command<()>)) -> (Reply, Reply) {
    let details = vec![
        (Reply::fixed("summary"), Reply::fixed(command.summary)),
        (Reply::fixed("since"), Reply::fixed("1.0.0")),
        (Reply::fixed("group"), Reply::fixed(group_of(group))),
    ];
    (Reply::fixed(command.name), Reply::Map(details))
}

/// Returns the names that a filter of COMMAND LIST lets through.
fn list(shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let names = || all().into_iter().map(|(_, command)| command.name);
    if arguments.len() == 2 {
        return Ok(Reply::bulks(names()));
    }
    let wanted = arguments.get(4).filter(|_| arguments.is(2, "filterby") && arguments.len() == 5).ok_or(SYNTAX)?;
    match &arguments[3].to_ascii_lowercase()[..] {
        // There are no modules.
        b"module" => Ok(Reply::Array(Vec::new())),
        b"aclcat" => {
            let is_of = |category: &&str| wanted.eq_ignore_ascii_case(category.as_bytes());
            let is_meant = |name: &&str| shared.acl.catalog.categories_of(name).iter().any(is_of);
            Ok(Reply::bulks(names().filter(is_meant)))
        }
        b"pattern" => {
            let pattern = wanted.to_ascii_lowercase();
            Ok(Reply::bulks(names().filter(|name| matches(&pattern, name.as_bytes()))))
        }
        _ => Err(SYNTAX),
    }
}

/// Returns the keys of a whole command, each with its flags if they are wanted.
fn keys(arguments: &Arguments<'_>, with_flags: bool) -> Outcome<Reply> {
    let command = find(&arguments[2]).ok_or(Refusal::text("ERR Invalid command specified"))?.1;
    let words = arguments.tail(2);
    if !command.accepts(words.len()) {
        return Err(Refusal::text("ERR Invalid number of arguments specified for command"));
    }
    if command.keys == Keys::None {
        return Err(Refusal::text("ERR The command has no key arguments"));
    }
    let keys = command.keys_of(&words);
    if keys.is_empty() {
        return Err(Refusal::text("ERR Invalid arguments specified for command"));
    }
    let described = |(at, key): (usize, &&[u8])| {
        let of_target = match command.keys {
            Keys::TargetAndCounted(_) => at == 0,
            Keys::OneAndStore => at > 0,
            _ => command.flags & WRITE != 0,
        };
        let flags = if of_target { ["RW", "update"] } else { ["RO", "access"] };
        let flags = flags.into_iter().map(|flag| Reply::Status(flag.into())).collect();
        Reply::Array(vec![Reply::bulk(*key), Reply::Set(flags)])
    };
    Ok(match with_flags {
        true => Reply::Array(keys.iter().enumerate().map(described).collect()),
        false => Reply::bulks(keys),
    })
}

pub(super) fn command(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let describe_all = || Reply::Array(all().iter().map(|(_, command)| describe(shared, command)).collect());
    match (&arguments.at(1).to_ascii_lowercase()[..], arguments.len()) {
        (_, 1) => Ok(describe_all()),
        (b"count", 2) => Ok(Reply::count(all().len())),
        (b"list", _) => list(shared, arguments),
        (b"info", 2) => Ok(describe_all()),
        (b"info", _) => {
            let found = arguments.from(2).map(|name| describe_named(shared, name).unwrap_or(Reply::Null));
            Ok(Reply::Array(found.collect()))
        }
        (b"docs", 2) => Ok(Reply::Map(all().iter().map(document).collect())),
        (b"docs", _) => Ok(Reply::Map(arguments.from(2).filter_map(find).map(|found| document(&found)).collect())),
        (b"getkeys", _) => keys(arguments, false),
        (b"getkeysandflags", _) => keys(arguments, true),
        (b"help", _) => Ok(help("command", subcommands::COMMAND)),
        _ => Err(wrong_words("command", arguments)),
    }
}
