//! CLIENT: this connection and the others.

use crate::clients::Client;
use crate::mail::Mail;
use crate::session::{ReplyMode, Session};
use crate::shared::Shared;
use holm_commands::{Arguments, Outcome, Refusal, Reply, SYNTAX, integer, parse_integer};

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
    let wrong = || {
        let name = arguments[1].escape_ascii();
        Refusal::of(format!("ERR unknown subcommand or wrong number of arguments for '{name}'. Try CLIENT HELP."))
    };
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
        (b"reply", 3) => reply_mode(session, arguments),
        (b"no-evict" | b"no-touch", 3) if arguments.is(2, "on") || arguments.is(2, "off") => Ok(Reply::OK),
        (b"no-evict" | b"no-touch", 3) => Err(SYNTAX),
        (b"help", 2) => Ok(Reply::bulks([
            "CLIENT ID | GETNAME | SETNAME name | SETINFO LIB-NAME|LIB-VER value | INFO",
            "CLIENT LIST [ID id ...] | KILL address | KILL ID id | KILL ADDR address | UNBLOCK id [TIMEOUT|ERROR]",
            "CLIENT REPLY ON|OFF|SKIP | NO-EVICT ON|OFF | NO-TOUCH ON|OFF",
        ])),
        _ => Err(wrong()),
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
    let mut ids = None;
    match arguments.len() {
        2 => {}
        4.. if arguments.is(2, "id") => {
            let id = |text| parse_integer(text).ok_or(Refusal::text("ERR Invalid client ID"));
            ids = Some(arguments.from(3).map(id).collect::<Outcome<Vec<_>>>()?);
        }
        4 if arguments.is(2, "type") => {
            let known = ["normal", "master", "replica", "slave", "pubsub"].iter().any(|kind| arguments.is(3, kind));
            if !known {
                return Err(Refusal::of(format!("ERR Unknown client type '{}'", arguments[3].escape_ascii())));
            }
        }
        _ => return Err(SYNTAX),
    }
    let is_wanted = |client: &Client| {
        let details = client.details();
        let of_type = match arguments.get(3).filter(|_| arguments.is(2, "type")) {
            None => true,
            Some(kind) if kind.eq_ignore_ascii_case(b"pubsub") => details.channels + details.patterns > 0,
            Some(kind) if kind.eq_ignore_ascii_case(b"normal") => details.channels + details.patterns == 0,
            Some(_) => false,
        };
        of_type && ids.as_ref().is_none_or(|ids| ids.contains(&(client.place.id as i64)))
    };
    let clients = shared.clients.all();
    let lines = clients.iter().filter(|client| is_wanted(client)).map(|client| client.line() + "\n");
    Ok(Reply::Verbatim(lines.collect()))
}

fn kill(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (mut id, mut address, mut user, mut skips_me) = (None, None, None, true);
    if arguments.len() == 3 {
        (address, skips_me) = (Some(&arguments[2]), false);
    }
    let mut options = arguments.options(if arguments.len() == 3 { 3 } else { 2 });
    while let Some(word) = options.keyword() {
        let value = options.word().ok_or(SYNTAX)?;
        match &word[..] {
            b"ID" => id = Some(parse_integer(value).ok_or(Refusal::text("ERR client-id should be greater than 0"))?),
            b"ADDR" => address = Some(value),
            b"SKIPME" => skips_me = !value.eq_ignore_ascii_case(b"no"),
            b"USER" if shared.acl.find(value).is_none() => {
                return Err(Refusal::of(format!("ERR No such user '{}'", value.escape_ascii())));
            }
            b"USER" => user = Some(value),
            b"TYPE" | b"LADDR" => {}
            _ => return Err(SYNTAX),
        }
    }
    let is_meant = |client: &Client| {
        id.is_none_or(|id| client.place.id as i64 == id)
            && address.is_none_or(|address| client.address.as_bytes() == address)
            && user.is_none_or(|user| client.details().user() == user)
            && !(skips_me && client.place == session.place)
    };
    let mut count = 0;
    for client in shared.clients.all().iter().filter(|client| is_meant(client)) {
        count += 1;
        if client.place == session.place {
            session.is_closing = true;
        } else {
            shared.mailbox(client.place).send(Mail::Close { id: client.place.id });
        }
    }
    match (arguments.len(), count) {
        (3, 0) => Err(Refusal::text("ERR No such client")),
        (3, _) => Ok(Reply::OK),
        _ => Ok(Reply::count(count)),
    }
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
