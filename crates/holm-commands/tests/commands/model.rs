//! Collections against models of the standard library, small ones and large ones, by chance.

use crate::store::Tested;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Debug)]
enum Step {
    Set(u16, u8),
    Remove(u16),
    Push(bool, u16),
    Pop(bool),
    Trim(i8, i8),
    Delete,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        160 => (0u16..200, any::<u8>()).prop_map(|(field, value)| Step::Set(field, value)),
        30 => (0u16..200).prop_map(Step::Remove),
        160 => (any::<bool>(), any::<u16>()).prop_map(|(left, value)| Step::Push(left, value)),
        60 => any::<bool>().prop_map(Step::Pop),
        2 => (any::<i8>(), any::<i8>()).prop_map(|(from, to)| Step::Trim(from / 16, to)),
        1 => Just(Step::Delete),
    ];
    proptest::collection::vec(step, 0..500)
}

fn bulks<S: AsRef<str>>(items: impl ExactSizeIterator<Item = S>) -> String {
    let count = items.len();
    items.fold(format!("*{count}"), |text, item| format!("{text} ${} {}", item.as_ref().len(), item.as_ref()))
}

/// A list of the standard library, trimmed as the command does it.
fn trim(list: &mut VecDeque<u16>, from: i64, to: i64) {
    let len = list.len() as i64;
    let from = if from < 0 { (from + len).max(0) } else { from };
    let to = if to < 0 { to + len } else { to.min(len - 1) };
    let kept = (0..len).filter(|index| *index >= from && *index <= to).map(|index| list[index as usize]).collect();
    *list = kept;
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn hashes_sorted_sets_and_lists_do_what_models_do(steps in steps(), is_large in any::<bool>()) {
        let mut tested = Tested::new();
        let (mut hash, mut list) = (BTreeMap::<String, u8>::new(), VecDeque::<u16>::new());
        // More members than a record holds, so that they are rows from the first step on.
        let grown = (0..if is_large { 150 } else { 0 }).map(|field| Step::Set(field, 7));
        for step in grown.chain(steps) {
            match step {
                Step::Set(field, value) => {
                    let name = format!("f{field:03}");
                    let added = hash.insert(name.clone(), value).is_none();
                    let expected = format!(":{}", u8::from(added));
                    prop_assert_eq!(tested.ask(&format!("hset h {name} {value}")), expected.clone());
                    prop_assert_eq!(tested.ask(&format!("zadd z {value} {name}")), expected);
                }
                Step::Remove(field) => {
                    let name = format!("f{field:03}");
                    let expected = format!(":{}", u8::from(hash.remove(&name).is_some()));
                    prop_assert_eq!(tested.ask(&format!("hdel h {name}")), expected.clone());
                    prop_assert_eq!(tested.ask(&format!("zrem z {name}")), expected);
                }
                Step::Push(left, value) => {
                    if left { list.push_front(value) } else { list.push_back(value) }
                    let command = if left { "lpush" } else { "rpush" };
                    prop_assert_eq!(tested.ask(&format!("{command} l {value}")), format!(":{}", list.len()));
                }
                Step::Pop(left) => {
                    let popped = if left { list.pop_front() } else { list.pop_back() };
                    let bulk = |value: u16| format!("${} {value}", value.to_string().len());
                    let expected = popped.map_or("$-1".to_owned(), bulk);
                    prop_assert_eq!(tested.ask(if left { "lpop l" } else { "rpop l" }), expected);
                }
                Step::Trim(from, to) => {
                    trim(&mut list, from.into(), to.into());
                    tested.ask(&format!("ltrim l {from} {to}"));
                }
                Step::Delete => {
                    hash.clear();
                    tested.ask("del h z");
                }
            }
        }
        let pairs: Vec<_> = hash.iter().flat_map(|(name, value)| [name.clone(), value.to_string()]).collect();
        prop_assert_eq!(tested.ask("hgetall h"), bulks(pairs.iter()));
        let mut by_score: Vec<_> = hash.iter().map(|(name, value)| (*value, name.clone())).collect();
        by_score.sort();
        prop_assert_eq!(tested.ask("zrange z 0 -1"), bulks(by_score.iter().map(|(_, name)| name)));
        let middle: Vec<_> = by_score.iter().filter(|(score, _)| (50..200).contains(score)).collect();
        prop_assert_eq!(tested.ask("zrangebyscore z 50 (200"), bulks(middle.iter().map(|(_, name)| name)));
        let elements: Vec<_> = list.iter().map(u16::to_string).collect();
        prop_assert_eq!(tested.ask("lrange l 0 -1"), bulks(elements.iter()));
        let last: Vec<_> = elements.iter().skip(elements.len().saturating_sub(3)).collect();
        prop_assert_eq!(tested.ask("lrange l -3 -1"), bulks(last.into_iter()));
    }
}
