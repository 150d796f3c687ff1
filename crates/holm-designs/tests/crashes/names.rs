//! Byte-string keys over a table in memory, as a store has them in records: heads of eight bytes, which may be equal,
//! and payloads that lead to the whole key.

use holm_tree::inner::NodePrefix;
use holm_tree::{Keys, LongSeparators, Slot};
use std::cmp::Ordering;
use std::sync::{Arc, RwLock};

#[derive(Clone, Default)]
pub struct Names(Arc<RwLock<Vec<Vec<u8>>>>);

impl Names {
    /// Writes a record. No two records have one payload, and no payload is zero.
    pub fn write_record(&self, key: &[u8]) -> u64 {
        let mut records = self.0.write().expect("no panic under it");
        records.push(key.to_vec());
        records.len() as u64
    }

    /// The key to which a payload leads.
    pub fn read(&self, payload: u64) -> Option<Vec<u8>> {
        let records = self.0.read().expect("no panic under it");
        records.get((payload as usize).checked_sub(1)?).cloned()
    }
}

impl Keys for Names {
    type SearchKey<'a> = &'a [u8];
    type Separator = Vec<u8>;

    fn search_key(separator: &Vec<u8>) -> &[u8] {
        separator
    }
    fn to_separator(search_key: &[u8]) -> Vec<u8> {
        search_key.to_vec()
    }
    fn precedes(one: &[u8], other: &[u8]) -> bool {
        one < other
    }
    fn compare_long(long_separators: &LongSeparators, number: u32, search_key: &[u8]) -> Ordering {
        long_separators.compare(number, search_key)
    }
    fn head(search_key: &[u8], skip: usize) -> u64 {
        let rest = search_key.get(skip..).unwrap_or_default();
        let mut head = [0; 8];
        head.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(head)
    }
    fn fingerprint(search_key: &[u8]) -> u8 {
        search_key.iter().fold(0, |fingerprint, byte| fingerprint ^ byte)
    }
    fn is(&self, slot: Slot, search_key: &[u8]) -> bool {
        self.read(slot.payload).as_deref() == Some(search_key)
    }
    fn compare(&self, slot: Slot, skip: usize, search_key: &[u8]) -> Ordering {
        let by_head = slot.head.cmp(&Self::head(search_key, skip));
        by_head.then_with(|| self.read(slot.payload).as_deref().cmp(&Some(search_key)))
    }
    fn order(&self, a: Slot, b: Slot) -> Ordering {
        a.head.cmp(&b.head).then_with(|| self.read(a.payload).cmp(&self.read(b.payload)))
    }
    fn key(&self, slot: Slot) -> Option<Vec<u8>> {
        self.read(slot.payload)
    }
    fn rehead(&self, slot: Slot, skip: usize) -> Option<u64> {
        self.read(slot.payload).map(|key| Self::head(&key, skip))
    }
    fn shortest_separator(low: &Vec<u8>, high: &Vec<u8>) -> Vec<u8> {
        let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
        high[..high.len().min(same + 1)].to_vec()
    }
    fn least() -> Vec<u8> {
        vec![0]
    }
    fn common(low: &Vec<u8>, high: Option<&Vec<u8>>) -> usize {
        // The last common byte may differ within the range if the upper end is just beyond it.
        high.map_or(0, |high| low.iter().zip(high).take_while(|(a, b)| a == b).count())
    }
    fn as_long(separator: &Vec<u8>, skip: usize) -> Option<&[u8]> {
        (separator.len() > skip + 8 || separator.last() == Some(&0)).then_some(separator)
    }
    fn separator_bytes(separator: &Vec<u8>) -> Vec<u8> {
        separator.clone()
    }
    fn from_long(long: &[u8]) -> Vec<u8> {
        long.to_vec()
    }
    fn from_head(search_key: &[u8], prefix: &NodePrefix, head: u64) -> Vec<u8> {
        let bytes = head.to_be_bytes();
        let kept = 8 - bytes.iter().rev().take_while(|byte| **byte == 0).count();
        let assured = search_key.get(..prefix.assured).unwrap_or(search_key);
        [assured, &prefix.bytes().collect::<Vec<_>>(), &bytes[..kept]].concat()
    }
    fn beyond(key: &Vec<u8>, skip: usize) -> Option<Vec<u8>> {
        let mut end = key.get(..skip)?.to_vec();
        while end.pop_if(|byte| *byte == 0xff).is_some() {}
        *end.last_mut()? += 1;
        Some(end)
    }
    fn shares(key: &Vec<u8>, other: &Vec<u8>, skip: usize) -> bool {
        key.get(..skip).is_some_and(|start| other.starts_with(start))
    }
    fn truncate(key: &Vec<u8>, count: usize) -> Vec<u8> {
        key[..count.min(key.len())].to_vec()
    }
}
