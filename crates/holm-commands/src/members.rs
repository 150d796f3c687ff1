//! Members with values, in the order of members: what hashes, sets and sorted sets consist of.
//!
//! A small collection lies whole in its key's record: lengths and bytes of each member and value, in order. One that
//! grows beyond 128 members or 4 KiB becomes rows, and stays so. A change of a member of a large collection also
//! changes the count of changes in the key's record, so that transactions which have read the key notice it.

use crate::context::Context;
use crate::entry::{Entry, check_name};
use crate::record::{Kind, NewRecord};
use crate::refusal::{Outcome, Refusal};
use crate::rows;
use crate::store::{Area, Visitor};
use crate::unwritten::Collection;
use crate::walk::{Bounds, contains, is_empty};
use holm::Slice;
use std::ops::{Bound, ControlFlow};

/// The most members, and the most bytes, of a collection within a record.
const MOST_INLINE: usize = 128;
const MOST_BYTES: usize = 4 << 10;

const WRONG_ROWS: Refusal = Refusal::text("ERR the record of a large collection is damaged");

/// The members of a key.
pub(crate) struct Members<'c, 'k> {
    context: &'c Context<'c>,
    entry: Entry<'k>,
    kind: Kind,
    form: Form,
    changed: bool,
}

/// Members that are changed and not written.
struct Unwritten {
    entry: Entry<'static>,
    kind: Kind,
    form: Form,
    expiry: Option<u64>,
}

enum Form {
    Inline(Vec<u8>),
    Rows { version: u64, changes: u64, count: u64 },
}

/// A member within a record: where it begins and ends there, and its value.
struct Found<'b> {
    from: usize,
    to: usize,
    member: &'b [u8],
    value: &'b [u8],
}

/// Reads the member that begins at a place within a record; `None` at its end.
fn member_at(body: &[u8], from: usize) -> Option<Found<'_>> {
    let &[a, b, c, d] = body.get(from..)?.first_chunk::<4>()?;
    let (start, member_len) = (from + 4, usize::from(u16::from_be_bytes([a, b])));
    let to = start + member_len + usize::from(u16::from_be_bytes([c, d]));
    let (member, value) = body.get(start..to)?.split_at(member_len);
    Some(Found { from, to, member, value })
}

/// Iterates over the members within a record.
fn inline(body: &[u8]) -> impl Iterator<Item = Found<'_>> {
    std::iter::successors(member_at(body, 0), |found| member_at(body, found.to))
}

/// Finds a member within a record, or where it would be inserted.
fn find<'b>(body: &'b [u8], member: &[u8]) -> Result<Found<'b>, usize> {
    let mut at = 0;
    for found in inline(body) {
        match found.member.cmp(member) {
            std::cmp::Ordering::Less => at = found.to,
            std::cmp::Ordering::Equal => return Ok(found),
            std::cmp::Ordering::Greater => break,
        }
    }
    Err(at)
}

impl<'c, 'k> Members<'c, 'k> {
    /// Reads the members of a key. A key that is absent has none.
    ///
    /// # Errors
    /// The key is of another kind.
    pub(crate) fn open(context: &'c Context<'c>, key: &'k [u8], kind: Kind) -> Outcome<Self> {
        let database = context.database.get();
        let is_meant = |left: &Unwritten| left.kind == kind && left.entry.key == key && left.entry.database == database;
        if let Some(left) = context.reopen(is_meant) {
            let Unwritten { entry, form, .. } = left;
            return Ok(Members { context, entry, kind, form, changed: true });
        }
        let entry = context.entry(key)?;
        let form = match entry.of(kind)? {
            None => Form::Inline(Vec::new()),
            Some(record) if !record.in_rows => Form::Inline(record.body().to_vec()),
            Some(record) => {
                let word = |at: usize| record.body().get(at..).and_then(|rest| rest.first_chunk::<8>());
                let word = |at| word(at).map(|bytes| u64::from_be_bytes(*bytes)).ok_or(WRONG_ROWS);
                Form::Rows { version: word(0)?, changes: word(8)?, count: word(16)? }
            }
        };
        Ok(Members { context, entry, kind, form, changed: false })
    }

    /// As [`Members::open`], of a key that is to be given other members in place of whatever it has.
    pub(crate) fn fresh(context: &'c Context<'c>, key: &'k [u8], kind: Kind) -> Outcome<Self> {
        let entry = context.uncounted(|| context.entry(key))?;
        Ok(Members { context, entry, kind, form: Form::Inline(Vec::new()), changed: true })
    }

    pub(crate) fn exists(&self) -> bool {
        self.len() > 0
    }

    pub(crate) fn is_in_rows(&self) -> bool {
        matches!(self.form, Form::Rows { .. })
    }

    pub(crate) fn len(&self) -> usize {
        match &self.form {
            Form::Inline(body) => {
                let (mut at, mut count) = (0, 0);
                while let Some(&[a, b, c, d]) = body.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
                    at += 4 + usize::from(u16::from_be_bytes([a, b])) + usize::from(u16::from_be_bytes([c, d]));
                    count += 1;
                }
                count
            }
            Form::Rows { count, .. } => *count as usize,
        }
    }

    fn database(&self) -> u32 {
        self.entry.database
    }

    /// Returns the value of a member.
    pub(crate) fn get(&self, member: &[u8]) -> Outcome<Option<Vec<u8>>> {
        match &self.form {
            Form::Inline(body) => Ok(find(body, member).ok().map(|found| found.value.to_vec())),
            Form::Rows { .. } if member.len() > crate::entry::MAX_NAME => Ok(None),
            Form::Rows { version, .. } => Ok(self.row(*version, member)?.map(|value| value.to_vec())),
        }
    }

    /// Returns the value of a member that is a row.
    fn row(&self, version: u64, member: &[u8]) -> Outcome<Option<Slice>> {
        let key = rows::key(rows::family(self.kind), version, member);
        self.context.store.get(self.database(), Area::Rows, &key)
    }

    pub(crate) fn contains(&self, member: &[u8]) -> Outcome<bool> {
        match &self.form {
            Form::Inline(body) => Ok(find(body, member).is_ok()),
            Form::Rows { .. } if member.len() > crate::entry::MAX_NAME => Ok(false),
            Form::Rows { version, .. } => Ok(self.row(*version, member)?.is_some()),
        }
    }

    /// Gives a member a value and returns whether it is new.
    pub(crate) fn insert(&mut self, member: &[u8], value: &[u8]) -> Outcome<bool> {
        check_name(member)?;
        self.changed = true;
        if let Form::Inline(body) = &self.form
            && body.len() + 4 + member.len() + value.len() > MOST_BYTES
        {
            self.move_to_rows()?;
        }
        match &mut self.form {
            Form::Inline(body) => {
                let (range, is_new) = match find(body, member) {
                    Ok(found) => (found.from..found.to, false),
                    Err(at) => (at..at, true),
                };
                let lengths = [(member.len() as u16).to_be_bytes(), (value.len() as u16).to_be_bytes()].concat();
                body.splice(range, lengths.into_iter().chain(member.iter().copied()).chain(value.iter().copied()));
                if is_new && self.len() > MOST_INLINE {
                    self.move_to_rows()?;
                }
                Ok(is_new)
            }
            Form::Rows { version, .. } => {
                let version = *version;
                let old = self.row(version, member)?;
                self.write_row(member, value, old.as_deref())?;
                Ok(old.is_none())
            }
        }
    }

    /// As [`Members::insert`], for a member whose value was read just before: it is not read once more.
    pub(crate) fn insert_over(&mut self, member: &[u8], value: &[u8], old: Option<&[u8]>) -> Outcome<()> {
        if !self.is_in_rows() {
            return self.insert(member, value).map(drop);
        }
        check_name(member)?;
        self.changed = true;
        self.write_row(member, value, old)
    }

    /// Writes the rows of a member in place of those of its old value, and counts it if it is new.
    fn write_row(&mut self, member: &[u8], value: &[u8], old: Option<&[u8]>) -> Outcome<()> {
        if old == Some(value) {
            return Ok(());
        }
        let (store, database) = (self.context.store, self.database());
        let Form::Rows { version, count, .. } = &mut self.form else { return Ok(()) };
        if self.kind == Kind::SortedSet {
            if let Some(old) = old {
                store.remove(database, Area::Rows, &rows::score_key(*version, old, member))?;
            }
            store.insert(database, Area::Rows, &rows::score_key(*version, value, member), &[])?;
        }
        store.insert(database, Area::Rows, &rows::key(rows::family(self.kind), *version, member), value)?;
        *count += u64::from(old.is_none());
        Ok(())
    }

    fn move_to_rows(&mut self) -> Outcome<()> {
        let version = self.context.store.next_version();
        let Form::Inline(body) = std::mem::replace(&mut self.form, Form::Rows { version, changes: 0, count: 0 }) else {
            return Ok(());
        };
        inline(&body).try_for_each(|found| self.write_row(found.member, found.value, None))
    }

    /// Removes members, and returns how many were there.
    pub(crate) fn remove_each<'m>(&mut self, members: impl Iterator<Item = &'m [u8]>) -> Outcome<usize> {
        let mut removed = 0;
        for member in members {
            removed += usize::from(self.remove(member)?.is_some());
        }
        Ok(removed)
    }

    /// Removes a member and returns its value.
    pub(crate) fn remove(&mut self, member: &[u8]) -> Outcome<Option<Vec<u8>>> {
        let old = self.get(member)?;
        let Some(value) = &old else { return Ok(None) };
        self.changed = true;
        let (store, database) = (self.context.store, self.database());
        match &mut self.form {
            Form::Inline(body) => {
                if let Ok(Found { from, to, .. }) = find(body, member) {
                    body.drain(from..to);
                }
            }
            Form::Rows { version, count, .. } => {
                store.remove(database, Area::Rows, &rows::key(rows::family(self.kind), *version, member))?;
                if self.kind == Kind::SortedSet {
                    store.remove(database, Area::Rows, &rows::score_key(*version, value, member))?;
                }
                *count = count.saturating_sub(1);
            }
        }
        Ok(old)
    }

    /// Visits members and values within bounds of members.
    pub(crate) fn visit(&self, bounds: Bounds<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Outcome<()> {
        if is_empty(bounds) {
            return Ok(());
        }
        match &self.form {
            Form::Inline(body) => {
                let mut all: Vec<_> = inline(body).filter(|found| contains(bounds, found.member)).collect();
                if reverse {
                    all.reverse();
                }
                let _ = all.iter().try_for_each(|found| visit(found.member, found.value));
                Ok(())
            }
            Form::Rows { version, .. } => {
                self.context.visit_rows((rows::family(self.kind), *version), bounds, reverse, visit)
            }
        }
    }

    /// Visits the members of a sorted set by score and member. Bounds are of sortable scores, each perhaps with a
    /// member behind it. The visitor gets the sortable score with the member behind it.
    pub(crate) fn visit_by_score(
        &self,
        bounds: Bounds<'_>,
        reverse: bool,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Outcome<()> {
        if is_empty(bounds) {
            return Ok(());
        }
        match &self.form {
            Form::Inline(body) => {
                let mut all: Vec<_> = inline(body).map(|found| [found.value, found.member].concat()).collect();
                all.retain(|pair| contains(bounds, pair));
                all.sort();
                if reverse {
                    all.reverse();
                }
                let _ = all.iter().try_for_each(|pair| visit(pair));
                Ok(())
            }
            Form::Rows { version, .. } => {
                self.context.visit_rows((rows::BY_SCORE, *version), bounds, reverse, &mut |pair, _| visit(pair))
            }
        }
    }

    /// Returns all members and values.
    pub(crate) fn all(&self) -> Outcome<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut all = Vec::new();
        self.visit((Bound::Unbounded, Bound::Unbounded), false, &mut |member, value| {
            all.push((member.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    /// Returns a member by chance. In a large collection, members behind wide gaps are somewhat likelier.
    pub(crate) fn random(&self) -> Outcome<Option<(Vec<u8>, Vec<u8>)>> {
        let Form::Rows { .. } = self.form else {
            let mut all = self.all()?;
            let index = self.context.random_below(all.len() as u64) as usize;
            return Ok(if all.is_empty() { None } else { Some(all.swap_remove(index)) });
        };
        let some = |bounds: Bounds<'_>, reverse, most: u64| {
            let (mut found, mut left) = (None, most);
            self.visit(bounds, reverse, &mut |member, value| {
                found = Some((member.to_vec(), value.to_vec()));
                left -= 1;
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            Outcome::Ok(found)
        };
        let all = (Bound::Unbounded, Bound::Unbounded);
        let (Some((low, _)), Some((high, _))) = (some(all, false, 1)?, some(all, true, 1)?) else { return Ok(None) };
        let from = between(&low, &high, self.context);
        // To either side, so that the first members and the last are not left out.
        let back = self.context.random_below(2) == 1;
        let bounds = if back { (all.0, Bound::Included(&from[..])) } else { (Bound::Included(&from[..]), all.1) };
        some(bounds, back, 1 + self.context.random_below(16))
    }

    /// Stores what has changed. A collection without members is no key.
    pub(crate) fn save(self) -> Outcome<()> {
        if !self.changed {
            return Ok(());
        }
        let (context, is_empty, expiry) = (self.context, self.len() == 0, self.entry.expiry());
        let Members { entry, kind, form, .. } = self;
        let unwritten = Unwritten { entry: entry.into_owned(), kind, form, expiry };
        // So that the next command finds it absent.
        if is_empty { context.write_now(unwritten) } else { context.leave(unwritten) }
    }

    /// As [`Members::save`], with another time of expiry.
    pub(crate) fn save_with(self, expiry: Option<u64>) -> Outcome<()> {
        let Members { context, entry, kind, form, .. } = self;
        context.write_now(Unwritten { entry: entry.into_owned(), kind, form, expiry })
    }
}

impl Collection for Unwritten {
    fn write(self, context: &Context<'_>) -> Outcome<()> {
        let Unwritten { entry, kind, form, expiry } = self;
        match &form {
            Form::Inline(body) if body.is_empty() => context.replace(&entry, None),
            Form::Rows { count: 0, .. } => context.replace(&entry, None),
            Form::Inline(body) => context.replace(&entry, Some(NewRecord { kind, in_rows: false, expiry, body })),
            Form::Rows { version, changes, count } => {
                let body = [*version, changes + 1, *count].map(u64::to_be_bytes);
                let body = body.as_flattened();
                context.replace(&entry, Some(NewRecord { kind, in_rows: true, expiry, body }))
            }
        }
    }
}

/// Returns bytes by chance that lie between two byte strings, or are the lower one.
pub(crate) fn between(low: &[u8], high: &[u8], context: &Context<'_>) -> Vec<u8> {
    let shared = low.iter().zip(high).take_while(|(one, other)| one == other).count();
    let number = |bytes: &[u8]| {
        let mut word = [0; 8];
        let rest = bytes.get(shared..).unwrap_or_default();
        let len = rest.len().min(8);
        word[..len].copy_from_slice(&rest[..len]);
        u64::from_be_bytes(word)
    };
    let (from, to) = (number(low), number(high));
    let chosen = from + context.random_below((to - from).saturating_add(1));
    if chosen == from {
        return low.to_vec();
    }
    [&low[..shared], &chosen.to_be_bytes()[..]].concat()
}
