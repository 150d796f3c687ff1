//! Commands about the connection itself.

use crate::commands::unfollow_all;
use crate::session::{ReplyMode, Session};
use crate::shared::Shared;
use holm_accounts::{DEFAULT, Denied};
use holm_commands::{Arguments, Outcome, Protocol, Refusal, Reply, SYNTAX, parse_integer};

pub(super) fn ping(session: &mut Session, _: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if arguments.len() > 2 {
        return Err(Refusal::text("ERR wrong number of arguments for 'ping' command"));
    }
    if session.protocol == Protocol::Resp2 && session.is_subscribed() {
        return Ok(Reply::bulks([&b"pong"[..], arguments.at(1)]));
    }
    Ok(arguments.get(1).map_or(Reply::Status("PONG".into()), Reply::bulk))
}

pub(super) fn echo(_: &mut Session, _: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::bulk(&arguments[1]))
}

/// Becomes a user whose password is right.
fn enter(
    session: &mut Session,
    shared: &Shared,
    (user, password): (&[u8], &[u8]),
    command: &'static str,
) -> Outcome<()> {
    let Some(account) = shared.acl.authenticate(user, password) else {
        let denied = Denied::Password(command);
        let refusal = denied.refusal();
        session.note_denied(shared, denied, "toplevel", user);
        return Err(refusal);
    };
    session.enter(account);
    Ok(())
}

pub(super) fn auth(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (user, password) = match arguments.len() {
        2 if shared.acl.default_account().user().needs_no_password() => {
            return Err(Refusal::text(
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                 configuration is correct?",
            ));
        }
        2 => (DEFAULT, &arguments[1]),
        3 => (&arguments[1], &arguments[2]),
        _ => return Err(SYNTAX),
    };
    enter(session, shared, (user, password), "AUTH")?;
    Ok(Reply::OK)
}

pub(super) fn hello(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let version = match arguments.get(1).map(parse_integer) {
        None => None,
        Some(Some(2)) => Some(Protocol::Resp2),
        Some(Some(3)) => Some(Protocol::Resp3),
        Some(None) => return Err(Refusal::text("ERR Protocol version is not an integer or out of range")),
        Some(Some(_)) => return Err(Refusal::text("NOPROTO unsupported protocol version")),
    };
    let (mut credentials, mut name) = (None, None);
    let mut options = arguments.options(2);
    while let Some(word) = options.keyword() {
        let wrong = || Refusal::of(format!("ERR Syntax error in HELLO option '{}'", word.escape_ascii()));
        match &word[..] {
            b"AUTH" => credentials = Some((options.word().ok_or_else(wrong)?, options.word().ok_or_else(wrong)?)),
            b"SETNAME" => name = Some(options.word().ok_or_else(wrong)?),
            _ => return Err(wrong()),
        }
    }
    if let Some(credentials) = credentials {
        enter(session, shared, credentials, "HELLO")?;
    }
    if !session.is_authenticated {
        return Err(Refusal::text(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
             <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the \
             same time",
        ));
    }
    if let Some(name) = name {
        super::clients::set_name(session, name)?;
    }
    session.protocol = version.unwrap_or(session.protocol);
    let version = if session.protocol == Protocol::Resp3 { 3 } else { 2 };
    Ok(Reply::Map(vec![
        (Reply::fixed("server"), Reply::fixed("redis")),
        (Reply::fixed("version"), Reply::fixed(super::info::COMPATIBLE)),
        (Reply::fixed("proto"), Reply::Integer(version)),
        (Reply::fixed("id"), Reply::Integer(session.place.id as i64)),
        (Reply::fixed("mode"), Reply::fixed("standalone")),
        (Reply::fixed("role"), Reply::fixed("master")),
        (Reply::fixed("modules"), Reply::Array(Vec::new())),
    ]))
}

pub(super) fn quit(session: &mut Session, _: &Shared, _: &Arguments<'_>) -> Outcome<Reply> {
    session.is_closing = true;
    Ok(Reply::OK)
}

pub(super) fn reset(session: &mut Session, shared: &Shared, _: &Arguments<'_>) -> Outcome<Reply> {
    (session.queue, session.watched, session.snapshot, session.acknowledge) = (None, None, None, None);
    session.subscriptions.end_all(&shared.topics, session.place);
    unfollow_all(session, shared);
    session.end_tracking(shared);
    (session.database, session.protocol, session.reply_mode) = (0, Protocol::Resp2, ReplyMode::On);
    session.enter(shared.acl.default_account());
    session.is_authenticated = !shared.acl.needs_password();
    session.client.details().name.clear();
    Ok(Reply::Status("RESET".into()))
}

pub(super) fn select(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    session.database = database(shared, &arguments[1])?;
    Ok(Reply::OK)
}

/// Reads the number of a database.
pub(super) fn database(shared: &Shared, text: &[u8]) -> Outcome<u32> {
    let number = parse_integer(text).ok_or(Refusal::text("ERR value is not an integer or out of range"))?;
    let number = u32::try_from(number).ok().filter(|number| *number < shared.settings.databases);
    number.ok_or(Refusal::text("ERR DB index is out of range"))
}
