//! What only this server has: durability for each connection, snapshots, backups.

use crate::session::Session;
use crate::settings::Acknowledge;
use crate::shared::Shared;
use holm_commands::{Arguments, Outcome, Refusal, Reply, SYNTAX};

pub(super) fn acknowledge(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match arguments.get(1).map(<[u8]>::to_ascii_lowercase).as_deref() {
        None => {
            let mode = session.acknowledge.unwrap_or(shared.settings.acknowledge);
            return Ok(Reply::fixed(mode.name()));
        }
        // Weaker than the server's setting is nobody's.
        Some(b"synced") if arguments.len() == 2 => session.acknowledge = Some(Acknowledge::Synced),
        Some(b"default") if arguments.len() == 2 => session.acknowledge = None,
        Some(_) => return Err(SYNTAX),
    }
    Ok(Reply::OK)
}

pub(super) fn epoch(_: &mut Session, shared: &Shared, _: &Arguments<'_>) -> Outcome<Reply> {
    let epochs = shared.databases().holm().stats().epochs;
    Ok(Reply::Map(vec![
        (Reply::fixed("active"), Reply::Integer(epochs.active as i64)),
        (Reply::fixed("durable"), Reply::Integer(epochs.durable as i64)),
    ]))
}

pub(super) fn snapshot(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match &arguments[1].to_ascii_lowercase()[..] {
        b"begin" if session.snapshot.is_some() => Err(Refusal::text("ERR the connection has a snapshot already")),
        b"begin" => {
            session.snapshot = Some(shared.databases().holm().snapshot()?);
            Ok(Reply::OK)
        }
        b"end" => Ok(Reply::flag(session.snapshot.take().is_some())),
        _ => Err(SYNTAX),
    }
}

pub(super) fn backup(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let path = std::str::from_utf8(&arguments[1]).map_err(|_| Refusal::text("ERR the folder's name is not UTF-8"))?;
    shared.databases().holm().backup(path)?;
    Ok(Reply::OK)
}
