//! What ACL answers about a user, or about rules. Lists of users are of who keeps them.

use crate::catalog::{CATEGORIES, Catalog, category};
use crate::check::check;
use crate::user::{User, is_name, join_selectors};
use holm_commands::{Arguments, Command, Outcome, Refusal, Reply, integer};

/// The most bits of ACL GENPASS.
const MOST_BITS: i64 = 4_096;

/// Answers ACL GETUSER.
pub fn describe(catalog: &Catalog, user: &User) -> Reply {
    let mut root = Vec::new();
    let mut others = Vec::new();
    for (index, selector) in user.selectors().iter().enumerate() {
        let fields = vec![
            (Reply::fixed("commands"), Reply::bulk(selector.commands(catalog))),
            (Reply::fixed("keys"), Reply::bulk(selector.keys())),
            (Reply::fixed("channels"), Reply::bulk(selector.channels())),
        ];
        if index == 0 { root = fields } else { others.push(Reply::Map(fields)) }
    }
    let mut fields = vec![
        (Reply::fixed("flags"), Reply::Set(user.flags().map(Reply::fixed).collect())),
        (Reply::fixed("passwords"), Reply::bulks(user.hashes())),
    ];
    fields.extend(root);
    fields.push((Reply::fixed("selectors"), Reply::Array(others)));
    Reply::Map(fields)
}

/// Answers ACL CAT.
pub fn categories() -> Reply {
    Reply::bulks(CATEGORIES.iter().copied())
}

/// Answers ACL CAT with a category.
///
/// # Errors
/// There is no such category.
pub fn commands_of(catalog: &Catalog, name: &[u8]) -> Outcome<Reply> {
    let number = std::str::from_utf8(name).ok().and_then(category);
    let unknown = || Refusal::of(format!("ERR Unknown category '{}'", name[..name.len().min(128)].escape_ascii()));
    let members = catalog.members(number.ok_or_else(unknown)?);
    Ok(Reply::bulks(members.map(|number| catalog.entry(number).name)))
}

/// Answers ACL GENPASS. The function fills bytes by chance, and returns whether it can.
///
/// # Errors
/// A wrong number of bits, or no chance.
pub fn make_password(arguments: &Arguments<'_>, fill: impl FnOnce(&mut [u8]) -> bool) -> Outcome<Reply> {
    let bits = arguments.get(2).map_or(Ok(256), integer)?;
    if !(1..=MOST_BITS).contains(&bits) {
        return Err(Refusal::of(format!(
            "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to \
             {MOST_BITS}"
        )));
    }
    let mut bytes = vec![0; (bits as usize).div_ceil(8)];
    if !fill(&mut bytes) {
        return Err(Refusal::text("ERR the system has no random bytes"));
    }
    let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate((bits as usize).div_ceil(4));
    Ok(Reply::bulk(text))
}

/// Reads the rules of ACL SETUSER.
///
/// # Errors
/// The name is none, or a parenthesis is open.
pub fn rules_of(arguments: &Arguments<'_>) -> Outcome<Vec<Vec<u8>>> {
    if !is_name(&arguments[2]) {
        return Err(Refusal::text("ERR Usernames can't contain spaces or null characters"));
    }
    join_selectors(arguments.from(3)).map_err(|open| {
        Refusal::of(format!("ERR Unmatched parenthesis in acl selector starting at '{}'.", open.escape_ascii()))
    })
}

/// Answers ACL DRYRUN of a user that is there, with a function that finds commands.
///
/// # Errors
/// There is no such user or command, or the command has a wrong number of words.
pub fn dry_run(
    catalog: &Catalog,
    user: Option<&User>,
    find: impl FnOnce(&[u8]) -> Option<Command<()>>,
    arguments: &Arguments<'_>,
) -> Outcome<Reply> {
    let absent = || Refusal::of(format!("ERR User '{}' not found", arguments[2].escape_ascii()));
    let user = user.ok_or_else(absent)?;
    let unknown = || Refusal::of(format!("ERR Command '{}' not found", arguments[3].escape_ascii()));
    let command = find(&arguments[3]).ok_or_else(unknown)?;
    let words = arguments.tail(3);
    if !command.accepts(words.len()) {
        return Err(Refusal::of(format!("ERR wrong number of arguments for '{}' command", command.name)));
    }
    Ok(match check(catalog, user, &command, &words) {
        Ok(()) => Reply::OK,
        Err(denied) => Reply::bulk(denied.explanation()),
    })
}

/// Returns why ACL does nothing: its first word is none, or others are missing.
pub fn unknown(arguments: &Arguments<'_>) -> Refusal {
    if arguments.is(1, "help") {
        return Refusal::text("ERR wrong number of arguments for 'acl|help' command");
    }
    Refusal::of(format!(
        "ERR unknown subcommand or wrong number of arguments for '{}'. Try ACL HELP.",
        arguments[1].escape_ascii()
    ))
}
