//! CLIENT: this connection and the others.

use crate::clients::{Client, ClientKind};
use crate::commands::kill::kill;
use crate::commands::{subcommands, tracking};
use crate::mail::Mail;
use crate::pause::Paused;
use crate::session::{ReplyMode, Session};
use crate::shared::Shared;
use holm_commands::{Arguments, Outcome, Refusal, Reply, SYNTAX, help, integer, parse_integer, wrong_words};
use std::time::Duration;

/// Gives the connection a name.
pub(super) fn set_name(session: &Session, name: &[u8]) -> Outcome<()> {
    check_word(name, "Client names cannot contain spaces, newlines or special characters.")?;
    session.client.details().name = name.to_vec();
    Ok(())
}

fn check_word(word: &[u8], refusal: &'static str) -> Outcome<()> {
    if word.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(());
    }
    Err(Refusal::of(format!("ERR {refusal}")))
}

pub(super) fn client(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    session.note_details();
    match (&arguments[1].to_ascii_lowercase()[..], arguments.len()) {
        (b"id", 2) => Ok(Reply::Integer(session.place.id as i64)),
        (b"getname", 2) => {
            let name = session.client.details().name.clone();
            Ok(if name.is_empty() { Reply::Null } else { Reply::bulk(name) })
        }
        (b"setname", 3) => set_name(session, &arguments[2]).map(|()| Reply::OK),
        (b"setinfo", 4) => set_info(session, arguments),
        (b"info", 2) => Ok(Reply::Verbatim(session.client.line() + "\n")),
        (b"list", _) => list(shared, arguments),
        (b"kill", 3..) => kill(session, shared, arguments),
        (b"unblock", 3 | 4) => unblock(shared, arguments),
        (b"pause", 3 | 4) => pause(session, shared, arguments),
        (b"unpause", 2) => Ok(unpause(shared)),
        (b"reply", 3) => reply_mode(session, arguments),
        (b"no-evict" | b"no-touch", 3) if arguments.is(2, "on") || arguments.is(2, "off") => Ok(Reply::OK),
        (b"no-evict" | b"no-touch", 3) => Err(SYNTAX),
        (b"tracking", 3..) => tracking::tracking(session, shared, arguments),
        (b"caching", 3) => tracking::caching(session, arguments),
        (b"trackinginfo", 2) => Ok(tracking::info(session, shared)),
        (b"getredir", 2) => Ok(tracking::redirect(session)),
        (b"help", _) => Ok(help("client", subcommands::CLIENT)),
        _ => Err(wrong_words("client", arguments)),
    }
}

fn set_info(session: &Session, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let value = arguments[3].to_vec();
    let option = arguments[2].to_ascii_lowercase();
    check_word(&value, "the value cannot contain spaces, newlines or special characters.")?;
    let mut details = session.client.details();
    match &option[..] {
        b"lib-name" => details.library = value,
        b"lib-ver" => details.library_version = value,
        _ => return Err(Refusal::of(format!("ERR Unrecognized option '{}'", arguments[2].escape_ascii()))),
    }
    Ok(Reply::OK)
}

fn list(shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (mut ids, mut kind) = (None, None);
    match arguments.len() {
        2 => {}
        4.. if arguments.is(2, "id") => {
            let id = |text| parse_integer(text).ok_or(Refusal::text("ERR Invalid client ID"));
            ids = Some(arguments.from(3).map(id).collect::<Outcome<Vec<_>>>()?);
        }
        4 if arguments.is(2, "type") => kind = Some(ClientKind::read(&arguments[3])?),
        _ => return Err(SYNTAX),
    }
    let is_wanted = |client: &Client| {
        kind.is_none_or(|kind| client.details().kind() == kind)
            && ids.as_ref().is_none_or(|ids| ids.contains(&(client.place.id as i64)))
    };
    let clients = shared.clients.all();
    let lines = clients.iter().filter(|client| is_wanted(client)).map(|client| client.line() + "\n");
    Ok(Reply::Verbatim(lines.collect()))
}

fn unblock(shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let id = integer(&arguments[2])? as u64;
    let with_error = match arguments.get(3).map(<[u8]>::to_ascii_uppercase).as_deref() {
        None | Some(b"TIMEOUT") => false,
        Some(b"ERROR") => true,
        Some(_) => return Err(Refusal::text("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
    };
    let client = shared.clients.find(id).filter(|client| client.details().is_blocked);
    if let Some(client) = &client {
        shared.mailbox(client.place).send(Mail::Unblock { id, with_error });
    }
    Ok(Reply::flag(client.is_some()))
}

fn reply_mode(session: &mut Session, arguments: &Arguments<'_>) -> Outcome<Reply> {
    session.reply_mode = match &arguments[2].to_ascii_uppercase()[..] {
        b"ON" => ReplyMode::On,
        b"OFF" => ReplyMode::Off,
        // The reply to this very command is left out, and so is the next one.
        b"SKIP" if session.reply_mode == ReplyMode::On => ReplyMode::SkipNext,
        b"SKIP" => session.reply_mode,
        _ => return Err(SYNTAX),
    };
    Ok(Reply::OK)
}

/// Lets the commands of clients wait. The reply comes once no command runs any more that has not waited.
fn pause(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let paused = match arguments.get(3).map(<[u8]>::to_ascii_uppercase).as_deref() {
        None | Some(b"ALL") => Paused::All,
        Some(b"WRITE") => Paused::Writes,
        Some(_) => return Err(Refusal::text("ERR CLIENT PAUSE mode must be WRITE or ALL")),
    };
    let refusal = Refusal::text("ERR timeout is not an integer or out of range");
    let millis = u64::try_from(parse_integer(&arguments[2]).ok_or(refusal)?);
    let millis = millis.map_err(|_| Refusal::text("ERR timeout is negative"))?;
    shared.pause.begin(paused, Duration::from_millis(millis));
    session.is_late = true;
    Ok(Reply::OK)
}

fn unpause(shared: &Shared) -> Reply {
    shared.pause.end();
    shared.mailboxes.iter().for_each(|mailbox| mailbox.send(Mail::Resume));
    Reply::OK
}
