//! COMMAND: what is known about commands.

use crate::commands::OWN;
use crate::session::Session;
use crate::shared::Shared;
use holm_commands::{Arguments, Command, FLAG_NAMES, Keys, Outcome, Refusal, Reply, TABLE};

/// Returns the descriptions of all commands with the titles of their families.
pub(crate) fn all() -> Vec<(&'static str, Command<()>)> {
    let data = TABLE.iter().flat_map(|group| group.commands.iter().map(|command| (group.title, command.about())));
    let own = OWN.iter().flat_map(|group| group.commands.iter().map(|command| (group.title, command.about())));
    data.chain(own).collect()
}

fn find(name: &[u8]) -> Option<(&'static str, Command<()>)> {
    all().into_iter().find(|(_, command)| command.name.as_bytes().eq_ignore_ascii_case(name))
}

fn describe(shared: &Shared, command: &Command<()>) -> Reply {
    let flags = FLAG_NAMES.iter().filter(|(flag, _)| command.flags & flag != 0);
    let (first, last, step) = match command.keys {
        Keys::Span(first, last, step) => (first, last, step),
        Keys::TargetAndCounted(_) | Keys::OneAndStore => (1, 1, 1),
        Keys::None | Keys::Counted(_) => (0, 0, 0),
    };
    let movable = (!matches!(command.keys, Keys::None | Keys::Span(..))).then_some("movablekeys");
    let flags = flags.map(|(_, name)| *name).chain(movable);
    let categories = shared.acl.catalog.categories_of(command.name).into_iter();
    Reply::Array(vec![
        Reply::fixed(command.name),
        Reply::Integer(i64::from(command.arity)),
        Reply::Set(flags.map(|name| Reply::Status(name.into())).collect()),
        Reply::Integer(i64::from(first)),
        Reply::Integer(i64::from(last)),
        Reply::Integer(i64::from(step)),
        Reply::Set(categories.map(|name| Reply::Status(format!("@{name}").into())).collect()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
    ])
}

fn document((group, command): &(&'static str, Command<()>)) -> (Reply, Reply) {
    let details = vec![
        (Reply::fixed("summary"), Reply::fixed(command.summary)),
        (Reply::fixed("since"), Reply::fixed("1.0.0")),
        (Reply::fixed("group"), Reply::fixed(group)),
    ];
    (Reply::fixed(command.name), Reply::Map(details))
}

pub(super) fn command(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let describe_all = || Reply::Array(all().iter().map(|(_, command)| describe(shared, command)).collect());
    match (&arguments.at(1).to_ascii_lowercase()[..], arguments.len()) {
        (_, 1) => Ok(describe_all()),
        (b"count", 2) => Ok(Reply::count(all().len())),
        (b"list", _) => Ok(Reply::bulks(all().iter().map(|(_, command)| command.name))),
        (b"info", 2) => Ok(describe_all()),
        (b"info", _) => {
            let found = arguments
                .from(2)
                .map(|name| find(name).map_or(Reply::NullArray, |(_, found)| describe(shared, &found)));
            Ok(Reply::Array(found.collect()))
        }
        (b"docs", 2) => Ok(Reply::Map(all().iter().map(document).collect())),
        (b"docs", _) => Ok(Reply::Map(arguments.from(2).filter_map(find).map(|found| document(&found)).collect())),
        (b"getkeys", 3..) => {
            let command = find(&arguments[2]).ok_or(Refusal::text("ERR Invalid command specified"))?.1;
            let words = arguments.tail(2);
            if !command.accepts(words.len()) {
                return Err(Refusal::text("ERR Invalid number of arguments specified for command"));
            }
            match command.keys {
                Keys::None => Err(Refusal::text("ERR The command has no key arguments")),
                _ => Ok(Reply::bulks(command.keys_of(&words))),
            }
        }
        _ => Err(Refusal::text("ERR unknown subcommand or wrong number of arguments. Try COMMAND COUNT.")),
    }
}
