//! The salvage: what is believed goes to a new database.

use super::area::Source;
use super::evidence::{Belief, Evidence};
use super::found::Found;
use super::leaves::{Leaves, TwoStates};
use super::names::KeyspaceNames;
use super::orphans::Orphans;
use super::records::Led;
use super::report::RepairReport;
use crate::backup::{keyspace_of, put};
use crate::catalog::CATALOG;
use crate::engine::Engine;
use crate::error::Result;
use crate::expiry::{DEADLINE_BYTES, ValueFormat};
use crate::intent;
use crate::keyspace_options::KeyspaceOptions;
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::record::ReadRecord;
use holm_medium::superblock::State;
use holm_medium::{Area, INTENTS, parts};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keyspace for the records that no leaf names.
const LOST_RECORDS: &str = "lost-records";

/// A salvage in progress.
pub(super) struct Salvage<'a> {
    pub(super) evidence: &'a Evidence,
    pub(super) leaves: Leaves<'a>,
    pub(super) engine: &'a Arc<Engine>,
    pub(super) report: &'a mut RepairReport,
    names: KeyspaceNames,
    trees: BTreeMap<u32, Arc<KeyspaceTree>>,
    /// The records that leaves name, if orphans are wanted.
    orphans: Option<Orphans>,
}

impl<'a> Salvage<'a> {
    pub(super) fn new(
        evidence: &'a Evidence,
        leaves: Leaves<'a>,
        engine: &'a Arc<Engine>,
        report: &'a mut RepairReport,
        orphans: bool,
    ) -> Self {
        let orphans = orphans.then(|| Orphans::new(evidence.area(Area::Records).len()));
        Salvage { evidence, leaves, engine, report, names: KeyspaceNames::default(), trees: BTreeMap::new(), orphans }
    }

    /// Writes everything that is believed into the new database.
    pub(super) fn run(mut self) -> Result<()> {
        let found = self.leaves.find(self.report)?;
        let (catalog, others): (Vec<Found>, Vec<Found>) = found.into_iter().partition(|it| it.keyspace == CATALOG);
        for block in &catalog {
            self.read_block(block, |salvage, _, record| {
                salvage.names.add(&record, salvage.report);
                Ok(true)
            })?;
        }
        for number in self.names.numbers() {
            self.tree(number)?;
        }
        for block in &others {
            self.read_block(block, Self::keep)?;
        }
        self.complete_commits()?;
        self.keep_orphans()?;
        self.count();
        Ok(())
    }

    /// Returns the new database's tree for a keyspace.
    fn tree(&mut self, number: u32) -> Result<Arc<KeyspaceTree>> {
        if let Some(tree) = self.trees.get(&number) {
            return Ok(tree.clone());
        }
        let named = self.names.name_of(number, self.report);
        let tree = keyspace_of(self.engine, &named.name, named.options)?;
        self.trees.insert(number, tree.clone());
        Ok(tree)
    }

    /// Passes each pair of a block that is believed to `keep`, which says whether it could be used.
    fn read_block(&mut self, block: &Found, keep: impl Fn(&mut Self, u32, ReadRecord) -> Result<bool>) -> Result<()> {
        let states: TwoStates = self.leaves.states(block.number)?;
        let (skip, mut kept) = (states.skip(), 0);
        for slot in states.slots() {
            let mut led = self.evidence.record_of(slot, skip, states.source)?;
            if let (Led::Elsewhere | Led::Nowhere(_), Some(other)) = (&led, states.elsewhere(slot))
                && let here @ Led::Here(..) = self.evidence.record_of(other, skip, states.source.other())?
            {
                led = here;
            }
            match led {
                Led::Here(record, source) => {
                    let is_doubtful = self.evidence.doubts_record_of(block, source);
                    self.report.doubtful_records += u64::from(is_doubtful);
                    self.orphans.iter_mut().for_each(|orphans| orphans.is_named(slot.slot.payload));
                    if keep(self, block.keyspace, record)? {
                        kept += 1;
                    } else {
                        self.report.damaged_records += 1;
                    }
                }
                Led::Elsewhere => {
                    self.report.foreign_records += 1;
                    self.report.lose(|| format!("leaf {}: slot {} leads to another key", block.number, slot.index));
                }
                Led::Nowhere(why) => {
                    self.report.damaged_records += 1;
                    self.report.lose(|| format!("leaf {}: slot {}: {why}", block.number, slot.index));
                }
            }
        }
        self.report.unreadable_leaves += u64::from(kept == 0);
        Ok(())
    }

    /// Puts a pair.
    fn keep(&mut self, number: u32, record: ReadRecord) -> Result<bool> {
        let tree = self.tree(number)?;
        let ReadRecord { key, value } = record;
        if tree.format == ValueFormat::Expiring && value.len() < DEADLINE_BYTES {
            self.report.lose(|| format!("keyspace {:?}: the value of a key has no deadline", tree.name));
            return Ok(false);
        }
        put(self.engine, &tree, &key, &value)?;
        self.report.records += 1;
        Ok(true)
    }

    /// Completes the commits that the death of the process interrupted. After a loss of power, what the intent words
    /// lead to is stale.
    fn complete_commits(&mut self) -> Result<()> {
        let is_open = self.evidence.superblock.as_ref().is_some_and(|superblock| superblock.state != State::Clean);
        if !is_open || !matches!(self.evidence.belief, Belief::In(Source::File, _)) {
            return Ok(());
        }
        let mut words = [0_u64; INTENTS];
        let start = parts(intent::slot_loc(0)).1;
        self.evidence.read(Source::File, Area::Leaves, start, bytemuck::cast_slice_mut(&mut words))?;
        for word in words.into_iter().filter(|word| *word != 0) {
            if self.complete(word)?.is_some() {
                self.report.completed_commits += 1;
            } else {
                self.report.lose(|| format!("the intent of a commit: {word:#x} leads to none"));
            }
        }
        Ok(())
    }

    /// Does all writes of a commit. `None`: the list, or a record, is damaged, or the commit has ended; nothing is
    /// done.
    fn complete(&mut self, word: u64) -> Result<Option<()>> {
        let Some((Area::Records, offset)) = intent::list_at(word).map(parts) else { return Ok(None) };
        let mut first = [0_u64];
        self.evidence.read(Source::File, Area::Records, offset, bytemuck::cast_slice_mut(&mut first))?;
        let len = intent::list_words(first[0]);
        // Not trusted beyond the length of the file.
        if len as u64 * 8 > self.evidence.area(Area::Records).len() {
            return Ok(None);
        }
        let mut words = vec![0_u64; len];
        self.evidence.read(Source::File, Area::Records, offset, bytemuck::cast_slice_mut(&mut words))?;
        let ended = self.evidence.last_durable();
        let Some(list) = intent::decode_list(&words).filter(|list| !list.ended_by(ended)) else { return Ok(None) };
        let mut writes = Vec::new();
        for write in list.writes.into_iter().filter(|write| write.keyspace != CATALOG) {
            let Ok(record) = self.evidence.read_record(Source::File, write.payload)? else { return Ok(None) };
            writes.push((write, record));
        }
        for (write, record) in writes {
            if !write.removes {
                self.keep(write.keyspace, record)?;
                continue;
            }
            let tree = self.tree(write.keyspace)?;
            let mut operation = Operation::begin(&self.engine.store)?;
            operation.remove(&tree, &record.key)?;
            operation.finish_later();
        }
        Ok(Some(()))
    }

    /// Puts the records that no leaf names into a keyspace of their own.
    fn keep_orphans(&mut self) -> Result<()> {
        let Some(orphans) = self.orphans.take() else { return Ok(()) };
        let mut name = LOST_RECORDS.to_owned();
        while self.names.is_used(&name) {
            name.push('+');
        }
        let tree = keyspace_of(self.engine, &name, KeyspaceOptions::new())?;
        let engine = self.engine;
        let is_complete = orphans.read(self.evidence, |ReadRecord { key, value }| put(engine, &tree, &key, &value))?;
        if !is_complete {
            self.report.lose(|| "the search for orphans ended early: too much of the file looks like records".into());
        }
        self.report.orphans = tree.root.pairs();
        Ok(())
    }

    /// Counts what the new database has.
    fn count(&mut self) {
        let pairs: u64 = self.trees.values().map(|tree| tree.root.pairs()).sum();
        // What a commit has removed was kept before.
        self.report.superseded_records = self.report.records.saturating_sub(pairs);
        self.report.records = pairs;
        self.report.keyspaces = self.engine.catalog.trees().len() as u64;
    }
}
