//! An incremental backup applied to a copy that stands at its base.

use super::base::Base;
use super::reader::{Item, StreamReader};
use super::restore::{keyspace_of, put};
use super::staged::{Staging, StoredStream};
use super::{BackupInfo, files_of};
use crate::engine::{Engine, Reader};
use crate::error::{Error, Result};
use crate::iter::Iter;
use crate::keyspace_tree::KeyspaceTree;
use crate::mark::{self, MARK};
use crate::operation::Operation;
use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::ops::Bound;
use std::sync::Arc;

/// The bytes that are read from a stored stream at once.
const READ_AT_ONCE: usize = 256 << 10;

/// Brings a database to the state of a stream.
pub(super) fn apply(engine: &Arc<Engine>, stream: &mut dyn Read) -> Result<BackupInfo> {
    let staging = Staging::new(engine, &*files_of(&engine.store)?.vfs);
    let Some(_applying) = engine.increments.begin() else {
        return Err(Error::Invalid { what: "another backup is being applied".into() });
    };
    // An earlier call may have met a full disk half-way.
    complete_staged(engine, &staging)?;
    let stored = staging.begin()?;
    let verified = {
        let mut stored = stored.store(stream);
        verify(engine, &mut stored).map_err(|error| stored.explain(error))
    };
    match verified {
        Ok(Verified::New) => redo(engine, &staging, &staging.complete(stored)?),
        Ok(Verified::Applied(info)) => staging.discard().map(|()| info),
        Err(error) => {
            // The error says more than a failure to clean up would; the next call or open removes the file.
            let _ = staging.discard();
            Err(error)
        }
    }
}

/// At open: applies the stream that an interrupted call has left, and removes one that it had not read to its end.
pub(crate) fn complete(engine: &Arc<Engine>) -> Result<()> {
    let Some(files) = &engine.store.files else { return Ok(()) };
    let staging = Staging::new(engine, &*files.vfs);
    staging.discard()?;
    complete_staged(engine, &staging)
}

fn complete_staged(engine: &Arc<Engine>, staging: &Staging<'_>) -> Result<()> {
    let Some(stored) = staging.staged()? else { return Ok(()) };
    // It was verified before it got this name. If it is damaged since, nothing of it is applied.
    read_through(&stored).map_err(|error| stored.named_in(error))?;
    redo(engine, staging, &stored).map(drop)
}

fn read_through(stored: &StoredStream) -> Result<()> {
    let mut reader = BufReader::with_capacity(READ_AT_ONCE, stored.reader());
    StreamReader::begin(&mut reader)?.finish().map(drop)
}

/// What a stream that was read to its end is to the database.
enum Verified {
    New,
    /// The database has it already.
    Applied(BackupInfo),
}

/// Reads a stream to its end. Verifies the stream, and that the database stands at its base.
fn verify(engine: &Arc<Engine>, stream: &mut dyn Read) -> Result<Verified> {
    let mut stream = StreamReader::begin(stream)?;
    let header = *stream.header();
    let base = Base::read(engine)?;
    let mut refused = Base::check(engine, &header).err();
    if !base.is_some_and(|base| base.may_be_result_of(&header)) {
        refused.take().map_or(Ok(()), Err)?;
    }
    let (mut tree, mut mark, mut names) = (None, None, BTreeSet::new());
    while let Some(item) = stream.next()? {
        match item {
            Item::Keyspace { name, .. } => {
                tree = engine.catalog.find_keyspace(&engine.store, name)?;
                names.insert(name.to_owned());
            }
            Item::Keep { count, least, greatest } if refused.is_none() => {
                let range = (Bound::Included(least), Bound::Included(greatest));
                let found = tree.as_ref().map_or(Ok(0), |tree| stored_pairs(engine, tree, range).count_pairs())?;
                if found != count {
                    let place = format!("from \"{}\" to \"{}\"", least.escape_ascii(), greatest.escape_ascii());
                    let (found, expected) = (format!("{found} pairs {place}"), format!("{count}"));
                    refused = Some(Error::WrongBase { found, expected });
                }
            }
            Item::Mark(number) => mark = Some(number),
            Item::Pair { .. } | Item::Keep { .. } => {}
        }
    }
    let end = stream.finish()?;
    if let Some(base) = base.filter(|base| base.is_result_of(&end)) {
        let Some(found) = base.difference(engine, &end, (&names, mark))? else {
            return Ok(Verified::Applied(end.info));
        };
        if header.base > 0 || refused.is_some() {
            let or_empty = if header.base > 0 { "" } else { ", or an empty database" };
            let expected = format!("a copy that nobody has written since it took this backup{or_empty}");
            return Err(Error::WrongBase { found, expected });
        }
        // A whole backup, and all that it had brought is gone. A crash from here on must not take it for applied.
        Base::forget(engine)?;
    }
    refused.map_or(Ok(()), Err)?;
    // Only this database itself can have raised the mark further.
    if let Some(present) = mark::read(&engine.store, &engine.catalog)?.filter(|present| Some(*present) > mark) {
        let expected = mark.map_or_else(|| "no mark".into(), |mark| format!("at most the mark {mark}"));
        return Err(Error::WrongBase { found: format!("the mark {present}"), expected });
    }
    // Once more: to read a stream takes time, in which others may have written to what it keeps.
    Base::check(engine, &header)?;
    Ok(Verified::New)
}

/// Iterates over what a copy has, expired pairs included: a sweep of the original makes them go.
fn stored_pairs(engine: &Arc<Engine>, tree: &Arc<KeyspaceTree>, range: (Bound<&[u8]>, Bound<&[u8]>)) -> Iter {
    Iter::new::<&[u8]>(Reader::Writable(engine.clone()), tree.clone(), range).stored()
}

/// Applies a complete stream, makes its effects durable, and removes it. To do so once more changes nothing.
fn redo(engine: &Arc<Engine>, staging: &Staging<'_>, stored: &StoredStream) -> Result<BackupInfo> {
    let info = match applied(engine, stored)? {
        Some(info) => info,
        None => reconcile(engine, stored)?,
    };
    staging.finish()?;
    Ok(info)
}

/// Returns what a stream has if the database stands at its result already.
fn applied(engine: &Engine, stored: &StoredStream) -> Result<Option<BackupInfo>> {
    let mut reader = BufReader::with_capacity(READ_AT_ONCE, stored.reader());
    let stream = StreamReader::begin(&mut reader)?;
    let Some(base) = Base::read(engine)?.filter(|base| base.may_be_result_of(stream.header())) else {
        return Ok(None);
    };
    let end = stream.finish()?;
    Ok(base.is_result_of(&end).then_some(end.info))
}

/// Brings a database to the state of a complete stream, durably.
fn reconcile(engine: &Arc<Engine>, stored: &StoredStream) -> Result<BackupInfo> {
    let mut reader = BufReader::with_capacity(READ_AT_ONCE, stored.reader());
    let mut stream = StreamReader::begin(&mut reader)?;
    let mut names = BTreeSet::new();
    let (mut current, mut mark): (Option<Reconciliation<'_>>, _) = (None, None);
    while let Some(item) = stream.next()? {
        match item {
            Item::Keyspace { name, options } => {
                current.take().map_or(Ok(()), Reconciliation::end)?;
                names.insert(name.to_owned());
                current = Some(Reconciliation::begin(engine, keyspace_of(engine, name, options)?));
            }
            // The reader refuses pairs of no keyspace.
            Item::Pair { key, value } => current.iter_mut().try_for_each(|keyspace| keyspace.pair(key, value))?,
            Item::Keep { least, greatest, .. } => {
                current.iter_mut().try_for_each(|keyspace| keyspace.keep(least, greatest))?
            }
            Item::Mark(number) => mark = Some(number),
        }
    }
    current.take().map_or(Ok(()), Reconciliation::end)?;
    for name in engine.catalog.keyspace_names(&engine.store)? {
        if !names.contains(&name) {
            engine.catalog.drop_keyspace(&engine.store, &name)?;
        }
    }
    // Last: a reader, or a follower of a feed, that sees the mark has all that was committed with it.
    mark.map_or(Ok(()), |mark: u64| put(engine, engine.catalog.own(), MARK, &mark.to_le_bytes()))?;
    let end = stream.finish()?;
    Base::record(engine, &end)?;
    Ok(end.info)
}

/// A keyspace that is brought to the state of a stream, in the order of keys. What the stream neither gives nor keeps
/// goes.
struct Reconciliation<'a> {
    engine: &'a Arc<Engine>,
    tree: Arc<KeyspaceTree>,
    /// The pairs that the keyspace has, beyond those that are as the stream has them.
    present: Iter,
    /// The key of the next of them; `None` if it is not read yet.
    next: Option<Vec<u8>>,
}

impl<'a> Reconciliation<'a> {
    fn begin(engine: &'a Arc<Engine>, tree: Arc<KeyspaceTree>) -> Self {
        let present = stored_pairs(engine, &tree, (Bound::Unbounded, Bound::Unbounded));
        Reconciliation { engine, tree, present, next: None }
    }

    /// Returns the next key that the keyspace has.
    fn peek(&mut self) -> Result<Option<&[u8]>> {
        if self.next.is_none() {
            self.next = self.present.next_ref().transpose()?.map(|(key, _)| key.to_vec());
        }
        Ok(self.next.as_deref())
    }

    /// Removes what lies before a key, or all that is left.
    fn skip_to(&mut self, until: Option<&[u8]>) -> Result<()> {
        while self.peek()?.is_some_and(|key| until.is_none_or(|until| key < until)) {
            if let Some(key) = self.next.take() {
                let mut operation = Operation::begin(&self.engine.store)?;
                operation.remove(&self.tree, &key)?;
                operation.finish_later();
            }
        }
        Ok(())
    }

    fn pair(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.skip_to(Some(key))?;
        self.next.take_if(|next| next == key);
        put(self.engine, &self.tree, key, value)
    }

    fn keep(&mut self, least: &[u8], greatest: &[u8]) -> Result<()> {
        self.skip_to(Some(least))?;
        let beyond = (Bound::Excluded(greatest), Bound::Unbounded);
        self.present = stored_pairs(self.engine, &self.tree, beyond);
        self.next = None;
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        self.skip_to(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;
    use crate::backup::format::Header;
    use crate::backup::writer::StreamWriter;

    /// A stream with a name that no keyspace can have was stored as one to be applied, and could not be. Each later
    /// opening tried again, and failed.
    #[test]
    fn a_name_that_no_keyspace_can_have_is_refused_before_anything_changes() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["\0reefs", &"r".repeat(256)] {
            let mut bytes = Vec::new();
            let mut stream = StreamWriter::begin(&mut bytes, &Header { uuid: [7; 16], base: 0, epoch: 9 }).unwrap();
            stream.keyspace(name, 0).unwrap();
            stream.pair(b"north", b"coral").unwrap();
            stream.end().unwrap();
            let db = Database::open(folder.path()).unwrap();
            let refused = db.apply(&mut &bytes[..]);
            db.close().unwrap();
            Database::open(folder.path()).unwrap();
            assert!(matches!(refused, Err(Error::Corrupt { .. })), "{refused:?}");
        }
    }
}
