//! Commands about the server as a whole.

use super::connection::database;
use super::subcommands;
use crate::session::Session;
use crate::shared::{Shared, now_millis};
use holm_commands::{Arguments, Outcome, Refusal, Reply, SYNTAX, help, integer, parse_integer, wrong_words};

pub(super) fn time(_: &mut Session, _: &Shared, _: &Arguments<'_>) -> Outcome<Reply> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Ok(Reply::bulks([since.as_secs().to_string(), since.subsec_micros().to_string()]))
}

fn check_flush_option(arguments: &Arguments<'_>) -> Outcome<()> {
    match arguments.len() {
        1 => Ok(()),
        2 if arguments.is(1, "sync") || arguments.is(1, "async") => Ok(()),
        _ => Err(SYNTAX),
    }
}

pub(super) fn flushdb(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    check_flush_option(arguments)?;
    session.refuse_at_snapshot()?;
    session.before_write(shared);
    shared.replace_databases(|databases| databases.flush([session.database]))?;
    shared.tracking.flush(shared);
    Ok(Reply::OK)
}

pub(super) fn flushall(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    check_flush_option(arguments)?;
    session.refuse_at_snapshot()?;
    session.before_write(shared);
    shared.replace_databases(|databases| databases.flush(0..databases.count()))?;
    shared.tracking.flush(shared);
    Ok(Reply::OK)
}

pub(super) fn swapdb(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let number = |at: usize, which: &str| {
        let refusal = || Refusal::of(format!("ERR invalid {which} DB index"));
        integer(&arguments[at]).map_err(|_| refusal())?;
        database(shared, &arguments[at])
    };
    let (one, other) = (number(1, "first")?, number(2, "second")?);
    session.refuse_at_snapshot()?;
    session.before_write(shared);
    shared.replace_databases(|databases| databases.swap(one, other))?;
    shared.waiting.wake_all(&shared.mailboxes);
    Ok(Reply::OK)
}

pub(super) fn slowlog(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match (&arguments[1].to_ascii_lowercase()[..], arguments.len()) {
        (b"len", 2) => Ok(Reply::count(shared.slow_log.len())),
        (b"reset", 2) => {
            shared.slow_log.clear();
            Ok(Reply::OK)
        }
        (b"get", 2) => Ok(shared.slow_log.latest(10)),
        (b"get", 3) => match parse_integer(&arguments[2]).unwrap_or(i64::MIN) {
            -1 => Ok(shared.slow_log.latest(usize::MAX)),
            count @ 0.. => Ok(shared.slow_log.latest(count as usize)),
            _ => Err(Refusal::text("ERR count should be greater than or equal to -1")),
        },
        (b"help", _) => Ok(help("slowlog", subcommands::SLOWLOG)),
        _ => Err(wrong_words("slowlog", arguments)),
    }
}

pub(super) fn wait(_: &mut Session, _: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    integer(&arguments[1])?;
    let timeout = integer(&arguments[2]).map_err(|_| Refusal::text("ERR timeout is not an integer or out of range"))?;
    if timeout < 0 {
        return Err(Refusal::text("ERR timeout is negative"));
    }
    Ok(Reply::Integer(0))
}

pub(super) fn waitaof(session: &mut Session, _: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let local = integer(&arguments[1])?;
    integer(&arguments[2])?;
    integer(&arguments[3])?;
    if !(0..=1).contains(&local) {
        return Err(Refusal::text("ERR value is out of range, must be 0 or 1"));
    }
    session.wants_sync = true;
    Ok(Reply::Array(vec![Reply::Integer(1), Reply::Integer(0)]))
}

pub(super) fn lastsave(_: &mut Session, _: &Shared, _: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::Integer((now_millis() / 1_000) as i64))
}

pub(super) fn save(session: &mut Session, _: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if arguments.len() > 2 || arguments.len() == 2 && !arguments.is(1, "schedule") {
        return Err(SYNTAX);
    }
    // The reply is sent after the sync.
    session.wants_sync = true;
    Ok(match () {
        () if arguments.is(0, "save") => Reply::OK,
        () if arguments.is(0, "bgsave") => Reply::Status("Background saving started".into()),
        () => Reply::Status("Background append only file rewriting started".into()),
    })
}

pub(super) fn role(_: &mut Session, _: &Shared, _: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::Array(vec![Reply::fixed("master"), Reply::Integer(0), Reply::Array(Vec::new())]))
}

/// Clients that clean up after themselves remove all functions: there are none.
pub(super) fn function(_: &mut Session, _: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match &arguments[1].to_ascii_lowercase()[..] {
        b"flush" => Ok(Reply::OK),
        b"list" => Ok(Reply::Array(Vec::new())),
        _ => Err(Refusal::text("ERR there are no functions in holm-server")),
    }
}

pub(super) fn shutdown(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let is_known = |word: &[u8]| {
        ["nosave", "save", "now", "force"].iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
    };
    if !arguments.from(1).all(is_known) {
        return Err(SYNTAX);
    }
    session.is_closing = true;
    shared.stop();
    Ok(Reply::Several(Vec::new()))
}
