//! Tests of the bytes of a leaf index: what is written is read, and nothing else counts.

use super::{EarlierIndex, IndexedTree, LeafIndex, RecordSpace};
use crate::superblock::{Geometry, ImageKind, State, Superblock};
use crate::vfs::Identity;

fn clean() -> Superblock {
    Superblock {
        sequence: 9,
        uuid: [7; 16],
        geometry: Geometry { leaf_block: 512, design: "buffered".into(), keys: 1 },
        boot_generation: 3,
        state: State::Clean,
        boot_id: None,
        leaves: Identity::default(),
        records: Identity::default(),
        epoch: 41,
        log_start: crate::log::LogStart::FIRST,
        log_segments: crate::log::FIRST_SEGMENTS,
        image: ImageKind::Shared,
        lengths: [64 << 10, 1 << 20],
        leaves_sum: 0xfeed,
        created_by: "a test".into(),
    }
}

fn index() -> LeafIndex {
    let mut catalog = IndexedTree::new(0);
    catalog.push(b"", 1, 0x1111);
    let mut sea = IndexedTree { pairs: 3000, ..IndexedTree::new(5) };
    for (separator, number) in [(&b""[..], 90), (b"eel", 2), (b"eel\0", 127), (b"eels", 3), (b"kelp", 60)] {
        sea.push(separator, number, 0xabcd_0000 + number);
    }
    let records = RecordSpace { frontier: 4096, live: 1000, free: vec![(64, 8), (80, 1024), (4088, 8)] };
    LeafIndex { trees: vec![catalog, sea], records }
}

#[test]
fn an_index_is_read_as_it_was_written() {
    let bytes = index().encode(&clean());
    assert_eq!(LeafIndex::decode(&bytes, &clean(), 1), Ok(index()));
    let empty = LeafIndex::default();
    assert_eq!(LeafIndex::decode(&empty.encode(&clean()), &clean(), 1), Ok(empty));
}

#[test]
fn an_index_of_another_session_or_database_does_not_count() {
    let bytes = index().encode(&clean());
    let others = [
        Superblock { uuid: [8; 16], ..clean() },
        Superblock { boot_generation: 4, ..clean() },
        Superblock { epoch: 42, ..clean() },
        Superblock { lengths: [128 << 10, 1 << 20], ..clean() },
        Superblock { lengths: [64 << 10, 2 << 20], ..clean() },
        Superblock { leaves_sum: 0xfeee, ..clean() },
    ];
    for other in others {
        assert!(LeafIndex::decode(&bytes, &other, 1).is_err(), "{other:?}");
    }
}

#[test]
fn an_earlier_index_of_another_database_or_a_later_moment_does_not_count() {
    let earlier = EarlierIndex { trees: index().trees, epoch: 40 };
    let bytes = earlier.encode(&clean(), 64 << 10);
    let later = Superblock { boot_generation: 4, ..clean() };
    assert_eq!(EarlierIndex::decode(&bytes, &later, 1).map(|read| (read.trees, read.epoch)), Ok((index().trees, 40)));
    let others = [
        Superblock { uuid: [8; 16], ..clean() },
        Superblock { geometry: Geometry { leaf_block: 256, ..clean().geometry }, ..clean() },
        Superblock { boot_generation: 2, ..clean() },
    ];
    for other in others {
        assert!(EarlierIndex::decode(&bytes, &other, 1).is_err(), "{other:?}");
    }
}

#[test]
fn each_flipped_bit_and_each_torn_end_is_found() {
    let bytes = index().encode(&clean());
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(LeafIndex::decode(&damaged, &clean(), 1).is_err(), "bit {bit}");
    }
    for end in 0..bytes.len() {
        assert!(LeafIndex::decode(&bytes[..end], &clean(), 1).is_err(), "cut at {end}");
    }
}

/// Whatever a wrong program has written under a right checksum: no index that contradicts itself or the files counts.
#[test]
fn contents_that_make_no_sense_are_refused() {
    let refused = |what: &str, change: &dyn Fn(&mut LeafIndex)| {
        let mut index = index();
        change(&mut index);
        assert!(LeafIndex::decode(&index.encode(&clean()), &clean(), 1).is_err(), "{what}");
    };
    refused("a block twice", &|index| index.trees[0].leaves[0].number = 90);
    refused("the header's block", &|index| index.trees[0].leaves[0].number = 0);
    refused("a block beyond the file", &|index| index.trees[0].leaves[0].number = 128);
    refused("a separator twice", &|index| {
        let mut tree = IndexedTree::new(6);
        [(&b""[..], 10), (b"a", 11), (b"a", 12)]
            .iter()
            .for_each(|(separator, number)| tree.push(separator, *number, 0));
        index.trees.push(tree);
    });
    refused("falling separators", &|index| {
        let mut tree = IndexedTree::new(6);
        [(&b""[..], 10), (b"b", 11), (b"a", 12)]
            .iter()
            .for_each(|(separator, number)| tree.push(separator, *number, 0));
        index.trees.push(tree);
    });
    refused("a first separator", &|index| {
        let mut tree = IndexedTree::new(6);
        tree.push(b"a", 10, 0);
        index.trees.push(tree);
    });
    refused("a tree without leaves", &|index| index.trees.push(IndexedTree::new(6)));
    refused("a keyspace twice", &|index| index.trees[1].keyspace = 0);
    refused("records beyond the file", &|index| index.records.frontier = 2 << 20);
    refused("free space beyond the last record", &|index| index.records.free.push((4096, 8)));
    refused("more live bytes than there are", &|index| index.records.live = 4104);
    let refused = |what: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = index().encode(&clean());
        change(&mut bytes);
        let sum = crc32c::crc32c(&bytes[super::SUMMED..]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        assert!(LeafIndex::decode(&bytes, &clean(), 1).is_err(), "{what}");
    };
    refused("another number of leaves", &|bytes| bytes[super::BOUND + 20] += 1);
    refused("bytes behind the end", &|bytes| bytes.push(0));
}

/// Arbitrary bodies under a right checksum: an answer, and no panic.
#[test]
fn arbitrary_contents_are_refused_or_read() {
    let mut seed = 1u64;
    for _ in 0..20_000 {
        let mut bytes = index().encode(&clean());
        for _ in 0..3 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = super::BOUND + (seed >> 33) as usize % (bytes.len() - super::BOUND);
            bytes[place] = (seed >> 25) as u8;
        }
        let sum = crc32c::crc32c(&bytes[super::SUMMED..]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        let _ = LeafIndex::decode(&bytes, &clean(), 1);
    }
}
