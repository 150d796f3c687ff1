//! Large lists whose elements lie in rows of sixteen, long ones in rows of their own, against a deque.

use crate::store::Tested;
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
enum Step {
    Push { left: bool, count: usize, len: usize },
    Pop { left: bool, count: usize },
    Set(usize, usize),
    Insert(usize, usize),
    Copy,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Around the length from which on an element has a row of its own.
    let len = || prop_oneof![4 => 1usize..20, 1 => 250usize..260, 1 => Just(5_000usize)];
    let step = prop_oneof![
        6 => (any::<bool>(), 1usize..40, len()).prop_map(|(left, count, len)| Step::Push { left, count, len }),
        4 => (any::<bool>(), 1usize..40).prop_map(|(left, count)| Step::Pop { left, count }),
        4 => (any::<usize>(), len()).prop_map(|(index, len)| Step::Set(index, len)),
        1 => (any::<usize>(), len()).prop_map(|(index, len)| Step::Insert(index, len)),
        1 => Just(Step::Copy),
    ];
    proptest::collection::vec(step, 0..40)
}

fn bulk(text: &str) -> String {
    format!("${} {text}", text.len())
}

fn array<'t>(items: impl ExactSizeIterator<Item = &'t String>) -> String {
    let count = items.len();
    items.fold(format!("*{count}"), |all, item| format!("{all} {}", bulk(item)))
}

/// Gives each element another text.
struct Texts(u32);

impl Texts {
    fn next(&mut self, len: usize) -> String {
        self.0 += 1;
        format!("{}{}", self.0, "x".repeat(len))
    }
}

/// Compares the list with the model: as a whole, in part from both ends, and element by element.
fn compare(tested: &mut Tested, model: &VecDeque<String>) -> Result<(), TestCaseError> {
    prop_assert_eq!(tested.ask("llen l"), format!(":{}", model.len()));
    prop_assert_eq!(tested.ask("lrange l 0 -1"), array(model.iter()));
    let middle = model.iter().skip(5).take(30);
    prop_assert_eq!(tested.ask("lrange l 5 34"), array(middle.collect::<Vec<_>>().into_iter()));
    for index in 0..model.len().min(40) {
        let (front, back) = (&model[index], &model[model.len() - 1 - index]);
        prop_assert_eq!(tested.ask(&format!("lindex l {index}")), bulk(front));
        prop_assert_eq!(tested.ask(&format!("lindex l -{}", index + 1)), bulk(back));
        prop_assert_eq!(tested.ask(&format!("lpos l {back} rank -1")), format!(":{}", model.len() - 1 - index));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(8) })]

    #[test]
    fn large_lists_do_what_a_deque_does(steps in steps()) {
        let (mut tested, mut model, mut texts) = (Tested::new(), VecDeque::new(), Texts(0));
        let grown = Step::Push { left: false, count: 150, len: 3 };
        for step in std::iter::once(grown).chain(steps) {
            match step {
                Step::Push { left, count, len } => {
                    let new: Vec<_> = (0..count).map(|_| texts.next(len)).collect();
                    tested.ask(&format!("{} l {}", if left { "lpush" } else { "rpush" }, new.join(" ")));
                    new.into_iter().for_each(|text| if left { model.push_front(text) } else { model.push_back(text) });
                }
                Step::Pop { left, count } => {
                    let count = count.min(model.len());
                    let popped: Vec<String> = (0..count)
                        .filter_map(|_| if left { model.pop_front() } else { model.pop_back() })
                        .collect();
                    let answer = tested.ask(&format!("{} l {}", if left { "lpop" } else { "rpop" }, count.max(1)));
                    prop_assert_eq!(answer, if count == 0 { "*-1".to_owned() } else { array(popped.iter()) });
                }
                Step::Set(index, len) if !model.is_empty() => {
                    let (index, text) = (index % model.len(), texts.next(len));
                    prop_assert_eq!(tested.ask(&format!("lset l {index} {text}")), "+OK");
                    model[index] = text;
                }
                Step::Insert(index, len) if !model.is_empty() => {
                    let (index, text) = (index % model.len(), texts.next(len));
                    tested.ask(&format!("linsert l before {} {text}", model[index]));
                    model.insert(index, text);
                }
                Step::Copy if !model.is_empty() => {
                    tested.ask("copy l other replace");
                    tested.ask("rename other l");
                }
                _ => {}
            }
        }
        compare(&mut tested, &model)?;
        // A row for each long element, and no more for the others than sixteen in each need at worst.
        tested.databases.sweep(tested.at()).unwrap();
        let long = model.iter().filter(|element| element.len() > 256).count();
        prop_assert!(tested.row_count() <= (model.len().div_ceil(16) + 1 + long) as u64);
        // Nothing is left of a list that was popped to its end, but its name among the garbage at most.
        while model.pop_back().is_some() {
            tested.ask("rpop l");
        }
        tested.ask("del l");
        tested.databases.sweep(tested.at()).unwrap();
        prop_assert_eq!(tested.row_count(), 0);
    }
}
