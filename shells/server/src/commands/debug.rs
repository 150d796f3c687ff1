//! DEBUG: what the tests of other servers ask for.

use crate::session::Session;
use crate::shared::Shared;
use holm_commands::{Arguments, Outcome, Refusal, Reply, matches, parse_float};
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(super) fn debug(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match (&arguments[1].to_ascii_lowercase()[..], arguments.len()) {
        (b"sleep", 3) => {
            let seconds = parse_float(&arguments[2]).filter(|seconds| (0.0..=60.0).contains(seconds));
            let seconds = seconds.ok_or(Refusal::text("ERR value is not a float between 0 and 60"))?;
            std::thread::sleep(Duration::from_secs_f64(seconds));
            Ok(Reply::OK)
        }
        // Nothing is in memory that could be loaded anew: what is written is what is read.
        (b"reload" | b"loadaof", _) => {
            session.wants_sync = true;
            Ok(Reply::OK)
        }
        (b"set-active-expire", 3) => {
            shared.sweeps.store(arguments.is(2, "1"), Ordering::SeqCst);
            Ok(Reply::OK)
        }
        (b"stringmatch-len", 4) => {
            let length = holm_commands::count(&arguments[2])?.min(1 << 24);
            Ok(Reply::flag(matches(&arguments[3], &vec![b'a'; length])))
        }
        (b"protocol", 3) => protocol(&arguments[2].to_ascii_lowercase()),
        (b"jmap", 2) | (b"log", 3) | (b"quicklist-packed-threshold", 3) => Ok(Reply::OK),
        _ => Err(Refusal::text(
            "ERR DEBUG has SLEEP, RELOAD, LOADAOF, SET-ACTIVE-EXPIRE, STRINGMATCH-LEN, PROTOCOL, JMAP and LOG only",
        )),
    }
}

/// Returns a reply of each kind that the protocol has.
fn protocol(kind: &[u8]) -> Outcome<Reply> {
    let three = || (0..3).map(Reply::Integer).collect();
    Ok(match kind {
        b"string" => Reply::fixed("Hello World"),
        b"integer" => Reply::Integer(12_345),
        b"double" => Reply::Double(3_141.0 / 1_000.0),
        b"null" => Reply::Null,
        b"array" => Reply::Array(three()),
        b"set" => Reply::Set(three()),
        b"map" => Reply::Map((0..3).map(|key| (Reply::Integer(key), Reply::Boolean(key == 1))).collect()),
        b"push" => Reply::Push(three()),
        b"verbatim" => Reply::Verbatim("This is a verbatim\nstring".to_owned()),
        b"true" => Reply::Boolean(true),
        b"false" => Reply::Boolean(false),
        _ => {
            return Err(Refusal::text(
                "ERR Wrong protocol type name. Please use one of the following: \
                 string|integer|double|null|array|set|map|push|verbatim|true|false",
            ));
        }
    })
}
