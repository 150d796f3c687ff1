//! `incr`: adds to the number under a key and prints the sum, which is durable by then.

use anyhow::Context;

use crate::args::{Incr, Writing};
use crate::exit::Exit;
use crate::formats::LIMITS;
use crate::{opened, output};

pub(crate) fn run(args: &Incr) -> anyhow::Result<Exit> {
    let (key, target) = (args.record.key()?, &args.record.target);
    LIMITS.allow(&key, &[])?;
    opened::closing(opened::writable(&target.database, &Writing::default(), true)?, |database| {
        let sum = database.keyspace(&target.keyspace)?.increment(key, args.by)?;
        database.sync().context("cannot make the sum durable")?;
        output::print(format!("{sum}\n"))?;
        Ok(Exit::Found)
    })
}
