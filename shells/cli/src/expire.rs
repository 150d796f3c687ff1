//! `expire`: prints when a key expires, or changes it, durably on return. The exit code is 1 if the key is absent.

use anyhow::Context;

use crate::args::Expire;
use crate::exit::Exit;
use crate::expiring::{millis, refusal, rfc_3339};
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
    if !keyspace.options().has_expiry() {
        return Err(refusal(&target.keyspace));
    }
    let Some(expiry) = keyspace.expiry(key)? else { return Ok(opened::shown(&database, Exit::Absent)) };
    output::print(millis(expiry).map_or_else(|| "never".into(), rfc_3339) + "\n")?;
    Ok(opened::shown(&database, Exit::Found))
}

fn change(args: &Expire) -> anyhow::Result<Exit> {
    let (key, target) = (args.record.key()?, &args.record.target);
    opened::closing(opened::existing(&target.database)?, |database| {
        let Some(keyspace) = database.existing_keyspace(&target.keyspace)? else {
            return opened::no_keyspace(&target.keyspace, &database.keyspaces()?);
        };
        if !keyspace.options().has_expiry() {
            return Err(refusal(&target.keyspace));
        }
        let found = match args.after {
            Some(lifetime) => keyspace.expire_in(&key, lifetime)?,
            None => keyspace.persist(&key)? || keyspace.contains_key(&key)?,
        };
        database.sync().context("cannot make the change durable")?;
        Ok(if found { Exit::Found } else { Exit::Absent })
    })
}
