//! Loading a file of keys and values before clients are served.

use anyhow::{Context, bail};
use holm_commands::{Arguments, At, CommandIndex, Cursors, Databases, OwnedArguments, TABLE};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// How many pairs one transaction stores.
const TOGETHER: usize = 256;

/// Stores the pairs of a file in database 0. Each line has a key, a tab and a value. Returns the number of pairs.
///
/// # Errors
/// The file cannot be read, a line has no tab, or the store fails.
pub(crate) fn load(databases: &Databases, path: &Path, now: u64) -> anyhow::Result<u64> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let (mut pairs, mut count) = (OwnedArguments::default(), 0);
    pairs.push(b"mset");
    for (index, line) in BufReader::new(file).split(b'\n').enumerate() {
        let line = line.with_context(|| format!("reading {}", path.display()))?;
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else {
            bail!("{}, line {}: a key, a tab and a value were expected", path.display(), index + 1);
        };
        pairs.push(&line[..tab]);
        pairs.push(&line[tab + 1..]);
        count += 1;
        if pairs.lend().len() > 2 * TOGETHER {
            store(databases, &pairs.lend(), now)?;
            pairs = OwnedArguments::default();
            pairs.push(b"mset");
        }
    }
    if pairs.lend().len() > 1 {
        store(databases, &pairs.lend(), now)?;
    }
    Ok(count)
}

fn store(databases: &Databases, arguments: &Arguments<'_>, now: u64) -> anyhow::Result<()> {
    let cursors = Cursors::default();
    let at = At { database: 0, now, seed: 0, cursors: &cursors };
    let index = CommandIndex::new(TABLE);
    let mset = index.find(b"mset").context("the table has no MSET")?;
    let stored = databases.execute(mset, arguments, at);
    stored.map(drop).map_err(|refusal| anyhow::anyhow!("{}", refusal.into_text()))
}
