//! Commands that share a transaction, beside the same commands one by one.

use crate::store::Tested;
use holm_commands::{OwnedArguments, Protocol, Reply};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn words(lines: &[String]) -> Vec<OwnedArguments> {
    lines.iter().map(|line| line.split(' ').collect()).collect()
}

fn text(reply: &Reply) -> String {
    let mut bytes = Vec::new();
    reply.encode(Protocol::Resp2, &mut bytes);
    bytes.escape_ascii().to_string()
}

/// Runs lines in one transaction; `None` if each is to run by itself.
fn joined(tested: &Tested, lines: &[String]) -> Option<Vec<String>> {
    let words = words(lines);
    let commands: Vec<_> = words.iter().map(|words| (tested.command(words.lend().at(0)), words.lend())).collect();
    let (replies, _) = tested.databases.execute_joined(&commands, tested.at(), u64::MAX);
    (replies.len() == lines.len()).then(|| replies.iter().map(text).collect())
}

/// All that two stores have under the keys of these tests.
const LOOKS: &[&str] = &["get s", "ttl s", "lrange l 0 -1", "hgetall h", "zrange z 0 -1 withscores", "dbsize"];

fn line() -> impl Strategy<Value = String> {
    let key = prop_oneof![Just("s"), Just("l"), Just("h"), Just("z")];
    prop_oneof![
        1 => (key.clone(), 0..99).prop_map(|(key, value)| format!("set {key} {value}")),
        2 => (0..99).prop_map(|by| format!("incrby s {by}")),
        1 => key.clone().prop_map(|key| format!("getdel {key}")),
        1 => (key.clone(), 1..99).prop_map(|(key, seconds)| format!("expire {key} {seconds}")),
        20 => (0..99).prop_map(|value| format!("lpush l {value}")),
        9 => Just("rpop l".to_owned()),
        3 => Just("ltrim l 0 -3".to_owned()),
        20 => (0..400, 0..99).prop_map(|(field, value)| format!("hset h f{field} {value}")),
        5 => (0..400).prop_map(|field| format!("hdel h f{field}")),
        1 => Just("hincrby h f1 x".to_owned()),
        20 => (0..400, 0..99).prop_map(|(member, score)| format!("zadd z {score} m{member}")),
        5 => Just("zpopmin z".to_owned()),
        3 => Just("zremrangebyrank z 0 1".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn together_they_do_what_they_do_one_by_one(
        lines in proptest::collection::vec(line(), 1..900),
        group in prop_oneof![1usize..65, 65usize..700],
    ) {
        let (together, mut alone) = (Tested::new(), Tested::new());
        for lines in lines.chunks(group) {
            let replies = joined(&together, lines).expect("none of them is refused after a write");
            for (words, reply) in words(lines).iter().zip(replies) {
                prop_assert_eq!(reply, text(&alone.run(&words.lend())));
            }
        }
        let mut together = together;
        for look in LOOKS {
            prop_assert_eq!(together.ask(look), alone.ask(look));
        }
        prop_assert_eq!(together.row_count(), alone.row_count());
    }
}

/// Runs lines one after the other, with one lookup for all of them.
fn each(tested: &Tested, lines: &[String]) -> Vec<String> {
    let words = words(lines);
    let commands: Vec<_> = words.iter().map(|words| (tested.command(words.lend().at(0)), words.lend())).collect();
    let answers = tested.databases.execute_each(&commands, tested.at(), u64::MAX).into_iter();
    answers
        .map(|answer| answer.map_or_else(|refusal| text(&Reply::Error(refusal.into_text())), |done| text(&done.0)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    /// A command that needed more than its record was once another one than the one that had stopped the updates.
    #[test]
    fn one_lookup_for_all_changes_nothing(
        lines in proptest::collection::vec(line(), 1..900),
        group in 1usize..65,
    ) {
        let (mut together, mut alone) = (Tested::new(), Tested::new());
        for lines in lines.chunks(group) {
            let replies = each(&together, lines);
            prop_assert_eq!(replies.len(), lines.len());
            for (words, reply) in words(lines).iter().zip(replies) {
                prop_assert_eq!(reply, text(&alone.run(&words.lend())));
            }
        }
        for look in LOOKS {
            prop_assert_eq!(together.ask(look), alone.ask(look));
        }
    }
}

/// Runs lines that read the same key at one instant; `None` if each is to run by itself.
fn read_joined(tested: &Tested, lines: &[String]) -> Option<Vec<String>> {
    let words = words(lines);
    let commands = words.iter().map(|words| (tested.command(words.lend().at(0)), words.lend()));
    let (replies, _) = tested.databases.read_joined(commands, tested.at(), u64::MAX)?;
    Some(replies.iter().map(text).collect())
}

fn look() -> impl Strategy<Value = String> {
    let span = (0..40, 0..60).prop_map(|(from, len)| format!("{from} {}", from + len));
    prop_oneof![
        span.clone().prop_map(|span| format!("zrange z {span}")),
        span.clone().prop_map(|span| format!("zrevrange z {span} withscores")),
        span.prop_map(|span| format!("zcount z {span}")),
        (0..40, 1..60).prop_map(|(from, count)| format!("zrangebyscore z {from} +inf limit 0 {count}")),
        Just("zcard z".to_owned()),
        Just("hlen z".to_owned()),
        (0..200).prop_map(|member| format!("zscore z m{member}")),
        Just("zrangebylex z - [m3".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn reads_together_are_answered_as_one_by_one(
        lines in proptest::collection::vec(look(), 2..40),
        members in prop_oneof![1..40u32, 130..400u32],
    ) {
        let mut tested = Tested::new();
        (0..members).for_each(|member| drop(tested.ask(&format!("zadd z {} m{member}", member / 3))));
        let replies = read_joined(&tested, &lines).expect("each needs this key only");
        for (words, reply) in words(&lines).iter().zip(replies) {
            prop_assert_eq!(reply, text(&tested.run(&words.lend())));
        }
    }
}

/// Readers that looked at rows of two instants would see a member that is nowhere, or twice.
#[test]
fn reads_together_see_one_instant() {
    let mut tested = Tested::new();
    (0..200).for_each(|member| drop(tested.ask(&format!("zadd z {member} m{member}"))));
    let (tested, lines) = (&tested, ["zrange z 0 -1", "zcard z", "zrange z 150 -1"].map(str::to_owned));
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for round in 200..2_000 {
                let (out, into) = (format!("zrem z m{}", round % 200), format!("zadd z {round} m{}", round % 200));
                joined(tested, &[out, into]).unwrap();
            }
        });
        while !writer.is_finished() {
            let Some(replies) = read_joined(tested, &lines) else { continue };
            let names: BTreeSet<_> = replies[0].split(r"\r\n").filter(|line| line.starts_with('m')).collect();
            assert_eq!((names.len(), &replies[1][..]), (200, r":200\r\n"));
            assert!(replies[0].ends_with(replies[2].trim_start_matches(r"*50\r\n")), "{}", replies[2]);
        }
    });
}

/// A change that one command leaves in memory was lost if the next one reopened the collection and failed.
#[test]
fn a_refused_command_loses_no_change_that_waits_in_memory() {
    let mut tested = Tested::new();
    let lines = ["rpush l a", "lset l 5 x", "rpush l b"].map(str::to_owned);
    match joined(&tested, &lines) {
        Some(replies) => assert!(replies[1].starts_with("-ERR index"), "{replies:?}"),
        None => lines.iter().for_each(|line| drop(tested.ask(line))),
    }
    assert_eq!(tested.ask("lrange l 0 -1"), "*2 $1 a $1 b");
    let lines = ["hset h a 1", "hsetnx h a 2", "hsetnx h b 3", "lpush h x", "hset h c 4"].map(str::to_owned);
    let replies = joined(&tested, &lines).expect("none is refused after a write of its own");
    assert!(replies[3].starts_with("-WRONGTYPE"), "{replies:?}");
    assert_eq!(tested.ask("hgetall h"), "*6 $1 a $1 1 $1 b $1 3 $1 c $1 4");
}

#[test]
fn one_that_is_refused_after_a_write_undoes_all() {
    let mut tested = Tested::new();
    // Its fields are rows, so that each is written before the next one is looked at.
    (0..150).for_each(|field| drop(tested.ask(&format!("hset h f{field} 1"))));
    let long = "x".repeat(holm_commands::MAX_NAME + 1);
    let lines = ["set s 1".to_owned(), format!("hset h new 1 {long} 1"), "lpush l a".to_owned()];
    assert_eq!(joined(&tested, &lines), None);
    assert_eq!([tested.ask("get s"), tested.ask("exists l s"), tested.ask("hlen h")], ["$-1", ":0", ":150"]);
    // One that is refused before leaves the others as they are.
    let lines = ["set s 1", "lpush s a", "lpush l a"].map(str::to_owned);
    let replies = joined(&tested, &lines).unwrap();
    assert!(replies[0] == r"+OK\r\n" && replies[1].starts_with("-WRONGTYPE") && replies[2] == r":1\r\n", "{replies:?}");
    assert_eq!([tested.ask("get s"), tested.ask("llen l")], ["$1 1", ":1"]);
}

#[test]
fn they_tell_which_keys_have_new_elements() {
    let tested = Tested::new();
    let words = words(&["lpush l a", "set s 1", "zadd z 1 m"].map(str::to_owned));
    let commands: Vec<_> = words.iter().map(|words| (tested.command(words.lend().at(0)), words.lend())).collect();
    let (_, effects) = tested.databases.execute_joined(&commands, tested.at(), u64::MAX);
    let signals: Vec<_> = effects.into_iter().flat_map(|effects| effects.signals).collect();
    assert_eq!(signals, [(0, b"l".to_vec()), (0, b"z".to_vec())]);
}

#[test]
fn no_change_of_two_threads_is_lost() {
    let tested = Tested::new();
    let lines = |name: u32, round: u32| {
        let push = (0..8).map(move |at| format!("rpush l {name}x{round}x{at}"));
        let add = (0..8).map(move |at| format!("hset h f{name}x{round}x{at} 1"));
        push.chain(add).chain(["incr s".to_owned()]).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        for name in 0..2 {
            let tested = &tested;
            scope.spawn(move || (0..50).for_each(|round| drop(joined(tested, &lines(name, round)).unwrap())));
        }
    });
    let mut tested = tested;
    assert_eq!([tested.ask("llen l"), tested.ask("hlen h"), tested.ask("get s")], [":800", ":800", "$3 100"]);
}
