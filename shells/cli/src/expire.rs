//! `expire`: prints when a key expires, or changes it, durably on return. The exit code is 1 if the key is absent.

use std::time::Duration;

use anyhow::Context;
use holm::Keyspace;

use crate::args::Expire;
use crate::exit::Exit;
use crate::expiring::{may_expire, millis, refusal, rfc_3339};
use crate::{opened, output};

pub(crate) fn run(args: &Expire) -> anyhow::Result<Exit> {
    if args.after.is_some() || args.never { change(args) } else { show(args) }
}

fn show(args: &Expire) -> anyhow::Result<Exit> {
    let (key, target) = (args.record.key()?, &args.record.target);
    let database = opened::readable(&target.database)?;
    let Some(keyspace) = database.existing_keyspace(&target.keyspace)? else {
        return opened::no_keyspace(&target.keyspace, &database.keyspaces()?);
    };
    if !may_expire(keyspace.options()) {
        return Err(refusal(&target.keyspace));
    }
    let Some(expiry) = keyspace.expiry(key)? else { return Ok(Exit::Absent) };
    output::print(millis(expiry).map_or_else(|| "never".into(), rfc_3339) + "\n")?;
    Ok(Exit::Found)
}

fn change(args: &Expire) -> anyhow::Result<Exit> {
    let (key, target) = (args.record.key()?, &args.record.target);
    opened::closing(opened::existing(&target.database)?, |database| {
        let Some(keyspace) = database.existing_keyspace(&target.keyspace)? else {
            return opened::no_keyspace(&target.keyspace, &database.keyspaces()?);
        };
        if !may_expire(keyspace.options()) {
            return Err(refusal(&target.keyspace));
        }
        let found = match args.after {
            Some(lifetime) => renew(&keyspace, &key, lifetime)?,
            None => keyspace.persist(&key)? || keyspace.contains_key(&key)?,
        };
        database.sync().context("cannot make the change durable")?;
        Ok(if found { Exit::Found } else { Exit::Absent })
    })
}

/// Lets a key expire after some time, and returns whether it is present. No other process has the database open, so
/// nothing comes between the two steps. The second one is atomic under any crash, and unlike a transaction it takes
/// values of every length.
fn renew(keyspace: &Keyspace, key: &[u8], lifetime: Duration) -> holm::Result<bool> {
    let value = keyspace.get(key)?;
    value.map_or(Ok(false), |value| keyspace.insert_for(key, value, lifetime).map(|()| true))
}
