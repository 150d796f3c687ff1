//! RocksDB: the default column family. Relaxed writes its log to the page cache; synced sets `sync` on each write, and
//! concurrent writers share a sync. `rocksdb-nowal` writes no log, which is its fastest setting: the death of the
//! process takes what no flush has written.
//!
//! Its defaults are for small machines, so it is set as its tuning guide and its own benchmark (`tools/benchmark.sh`)
//! set it: Bloom filters of ten bits that omit the last level, because most reads find their key; a filter over the
//! memtable; a hash index in data blocks; its clock cache; memtables of 128 MiB; pipelined writes; and two threads for
//! flushes and compactions. Scans need the order of all keys, so there is no prefix extractor. If memory is limited,
//! blocks are read and written without the page cache, the block cache has a bounded part of the memory, filters and
//! index blocks are in it, and memtables are small.

use super::{Durability, Opened, cache_bytes};
use holm_bench::{BoxError, Engine, confine};
use rocksdb::{BlockBasedOptions, BlockBasedTablePinningTier, Cache, DB, DBAccess, DBCompressionType};
use rocksdb::{
    DBRawIteratorWithThreadMode, DataBlockIndexType, LogLevel, Options, ReadOptions, WriteBatch, WriteOptions,
};
use std::path::Path;

pub(super) const ROCKSDB: &str = "rocksdb";
pub(super) const ROCKSDB_NO_LOG: &str = "rocksdb-nowal";

/// The part of a limited memory that is the cache of blocks. Memtables, the buffers of compactions and what the
/// allocator keeps need the rest: with a cache of half of 117 MiB, the kernel ends the process while it is written to.
const CACHE_PART: u64 = 3;

/// The part of a limited memory that is one memtable. At most three exist.
const MEMTABLE_PART: u64 = 16;

const MIB: usize = 1 << 20;

struct RocksDb {
    name: &'static str,
    database: DB,
    read: ReadOptions,
    write: WriteOptions,
    logs: bool,
}

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    open_with(ROCKSDB, folder, synced(durability), true)
}

/// Writes of this class.
pub(super) fn synced(durability: Durability) -> WriteOptions {
    let mut write = WriteOptions::default();
    write.set_sync(durability == Durability::Synced);
    write
}

/// Without a log, in both classes.
pub(super) fn open_no_log(folder: &Path, _: Durability) -> Opened {
    let mut write = WriteOptions::default();
    write.disable_wal(true);
    open_with(ROCKSDB_NO_LOG, folder, write, false)
}

fn open_with(name: &'static str, folder: &Path, write: WriteOptions, logs: bool) -> Opened {
    let database = DB::open(&options(), folder.join("data.rocksdb"))?;
    Ok(Box::new(RocksDb { name, database, read: ReadOptions::default(), write, logs }))
}

pub(super) fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(DBCompressionType::None);
    options.increase_parallelism(2);
    options.set_enable_pipelined_write(true);
    options.set_optimize_filters_for_hits(true);
    options.set_memtable_whole_key_filtering(true);
    options.set_memtable_prefix_bloom_ratio(0.1);
    options.set_level_zero_slowdown_writes_trigger(20);
    options.set_level_zero_stop_writes_trigger(30);
    options.set_log_level(LogLevel::Warn);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    let mut blocks = BlockBasedOptions::default();
    // Zero bytes for an entry: the cache that needs no estimate.
    blocks.set_block_cache(&Cache::new_hyper_clock_cache(cache_bytes(CACHE_PART), 0));
    blocks.set_bloom_filter(10.0, false);
    blocks.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    match confine::limit() {
        Some(limit) => limited(limit, &mut options, &mut blocks),
        None => {
            options.set_write_buffer_size(128 * MIB);
            options.set_max_write_buffer_number(8);
            options.set_target_file_size_base(128 * MIB as u64);
            options.set_max_bytes_for_level_base(1024 * MIB as u64);
            options.set_max_bytes_for_level_multiplier(8.0);
            options.set_bytes_per_sync(8 * MIB as u64);
        }
    }
    options.set_block_based_table_factory(&blocks);
    options
}

/// The settings for a process with little memory. Levels and files keep their default sizes, because more levels would
/// mean more reads and writes.
fn limited(limit: u64, options: &mut Options, blocks: &mut BlockBasedOptions) {
    options.set_write_buffer_size((limit / MEMTABLE_PART) as usize);
    options.set_max_write_buffer_number(3);
    options.set_use_direct_reads(true);
    options.set_use_direct_io_for_flush_and_compaction(true);
    // Each file of a compaction has a buffer of this size; it is 2 MiB by default.
    options.set_compaction_readahead_size(MIB / 2);
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_unpartitioned_pinning_tier(BlockBasedTablePinningTier::All);
}

/// Copies the value of a key, and returns whether it is there.
pub(super) fn read(
    database: &impl DBAccess,
    key: &[u8],
    options: &ReadOptions,
    into: &mut Vec<u8>,
) -> Result<bool, BoxError> {
    into.clear();
    let value = database.get_pinned_opt(key, options)?;
    Ok(value.map(|value| into.extend_from_slice(&value)).is_some())
}

/// Visits up to `count` pairs, the first at or after `from`.
pub(super) fn scan<D: DBAccess>(
    mut cursor: DBRawIteratorWithThreadMode<'_, D>,
    from: &[u8],
    count: usize,
    visit: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<usize, BoxError> {
    cursor.seek(from);
    let mut shown = 0;
    while shown < count {
        let Some((key, value)) = cursor.item() else { break };
        visit(key, value);
        shown += 1;
        if shown < count {
            cursor.next();
        }
    }
    cursor.status()?;
    Ok(shown)
}

impl Engine for RocksDb {
    fn name(&self) -> &str {
        self.name
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        Ok(self.database.put_opt(key, value, &self.write)?)
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        read(&self.database, key, &self.read, into)
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        scan(self.database.raw_iterator(), from, count, visit)
    }

    fn sync(&self) -> Result<(), BoxError> {
        let flushed = if self.logs { self.database.flush_wal(true) } else { self.database.flush() };
        Ok(flushed?)
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        let mut batch = WriteBatch::default();
        for (key, value) in pairs {
            batch.put(key, value);
        }
        Ok(self.database.write_opt(batch, &self.write)?)
    }
}
