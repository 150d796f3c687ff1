//! The keys of a database in order, and the beginning of each value: by commands that read, so that a user sees what
//! its rules let it read.

use crate::http::Visit;
use crate::http::status::text;
use crate::http::wire::Answer;
use crate::shared::now_millis;
use holm_commands::{At, OwnedArguments, Reply};
use serde_json::{Value, json};

/// The most keys of a page.
const MOST_KEYS: usize = 200;

/// How much of a value is shown: bytes of a string, elements of a collection.
const MOST_BYTES: &[u8] = b"4095";
const MOST_ELEMENTS: &[u8] = b"100";

/// What a request asks for. Keys are in hexadecimal digits, so that any bytes are.
#[derive(Default)]
struct Query {
    database: u32,
    prefix: Vec<u8>,
    after: Vec<u8>,
    key: Vec<u8>,
    limit: usize,
}

fn bytes_of(digits: &str) -> Result<Vec<u8>, Answer> {
    let wrong = || Answer::refused(400, "an even number of hexadecimal digits is expected");
    let pair = |at: usize| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or_else(wrong);
    (0..digits.len()).step_by(2).map(pair).collect()
}

fn digits_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Query {
    fn parse(visit: &Visit<'_>, query: &str) -> Result<Self, Answer> {
        let mut parsed = Query { limit: 50, ..Query::default() };
        for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
            let number = || value.parse::<u32>().map_err(|_| Answer::refused(400, "a number is expected"));
            match name {
                "db" => parsed.database = number()?,
                "limit" => parsed.limit = (number()? as usize).clamp(1, MOST_KEYS),
                "prefix" => parsed.prefix = bytes_of(value)?,
                "after" => parsed.after = bytes_of(value)?,
                "key" => parsed.key = bytes_of(value)?,
                _ => return Err(Answer::refused(400, "db, prefix, after, limit and key are known")),
            }
        }
        if parsed.database >= visit.shared.settings.databases {
            return Err(Answer::refused(400, "there is no such database"));
        }
        Ok(parsed)
    }
}

/// Runs a command that reads, if the user may run it.
fn run(visit: &Visit<'_>, database: u32, words: &[&[u8]]) -> Result<Reply, Answer> {
    let shared = visit.shared;
    let arguments: OwnedArguments = words.iter().collect();
    if !visit.may_run(&arguments.lend()) {
        let refused = format!("this user has no permissions for {} here", text(words[0]).to_uppercase());
        return Err(Answer::refused(403, &refused));
    }
    let at = At { database, now: now_millis(), seed: 0, cursors: &shared.cursors };
    let command = shared.data.find(words[0]).ok_or_else(|| Answer::refused(500, "a command is absent"))?;
    let replied = shared.databases().execute(command, &arguments.lend(), at);
    replied.map(|(reply, _)| reply).map_err(|refusal| Answer::refused(500, &refusal.into_text()))
}

fn json_of(reply: &Reply) -> Value {
    let several = |items: &[Reply]| items.iter().map(json_of).collect::<Vec<_>>();
    let pairs = |pairs: &[(Reply, Reply)]| pairs.iter().map(|(one, two)| json!([json_of(one), json_of(two)])).collect();
    match reply {
        Reply::Status(line) | Reply::Error(line) => json!(line),
        Reply::Integer(number) => json!(number),
        Reply::Double(number) => json!(number),
        Reply::Boolean(is_so) => json!(is_so),
        Reply::Bulk(bytes) => json!(text(bytes.as_ref())),
        Reply::Verbatim(words) => json!(words),
        Reply::Null | Reply::NullArray | Reply::Wait(_) => Value::Null,
        Reply::Bulks(items) => json!(items.iter().map(text).collect::<Vec<_>>()),
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) | Reply::Several(items) => json!(several(items)),
        Reply::Map(all) | Reply::Pairs(all) => Value::Array(pairs(all)),
    }
}

fn with_sign(sign: u8, bytes: &[u8]) -> Vec<u8> {
    [&[sign], bytes].concat()
}

/// Returns the least byte string above all that begin with a prefix.
fn end_of(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// Returns keys in their order, each with its type and when it expires.
pub(super) fn keys(visit: &Visit<'_>, query: &str) -> Result<Value, Answer> {
    let Query { database, prefix, after, limit, .. } = Query::parse(visit, query)?;
    let low = match (after > prefix, prefix.is_empty()) {
        (true, _) => with_sign(b'(', &after),
        (false, false) => with_sign(b'[', &prefix),
        (false, true) => b"-".to_vec(),
    };
    let high = end_of(&prefix).map_or_else(|| b"+".to_vec(), |end| with_sign(b'(', &end));
    // One more, which tells whether there is a next page.
    let count = (limit + 1).to_string();
    let found = run(visit, database, &[b"holm.range", &low, &high, b"limit", count.as_bytes()])?;
    let Reply::Array(found) = found else { return Err(Answer::refused(500, "keys were expected")) };
    let mut listed = Vec::new();
    for key in found.iter().take(limit) {
        let Reply::Bulk(key) = key else { continue };
        let key = key.as_ref();
        listed.push(json!({
            "key": text(key),
            "id": digits_of(key),
            "type": json_of(&run(visit, database, &[b"type", key])?),
            "ttl_ms": json_of(&run(visit, database, &[b"pttl", key])?),
            "bytes": json_of(&run(visit, database, &[b"memory", b"usage", key])?),
        }));
    }
    Ok(json!({ "keys": listed, "more": found.len() > limit }))
}

/// Returns the beginning of a value.
pub(super) fn value(visit: &Visit<'_>, query: &str) -> Result<Value, Answer> {
    let Query { database, key, .. } = Query::parse(visit, query)?;
    let key = &key[..];
    let run = |words: &[&[u8]]| run(visit, database, words);
    let kind = json_of(&run(&[b"type", key])?);
    let (length, shown) = match kind.as_str() {
        Some("string") => (run(&[b"strlen", key])?, run(&[b"getrange", key, b"0", MOST_BYTES])?),
        Some("hash") => (run(&[b"hlen", key])?, run(&[b"hscan", key, b"0", b"count", MOST_ELEMENTS])?),
        Some("set") => (run(&[b"scard", key])?, run(&[b"sscan", key, b"0", b"count", MOST_ELEMENTS])?),
        Some("list") => (run(&[b"llen", key])?, run(&[b"lrange", key, b"0", b"99"])?),
        Some("zset") => (run(&[b"zcard", key])?, run(&[b"zrange", key, b"0", b"99", b"withscores"])?),
        _ => return Err(Answer::refused(404, "the key is absent")),
    };
    let shown = match (kind.as_str(), json_of(&shown)) {
        // A cursor, and what was found.
        (Some("hash" | "set"), Value::Array(mut parts)) => parts.pop().unwrap_or_default(),
        (_, shown) => shown,
    };
    Ok(json!({ "type": kind, "length": json_of(&length), "shown": shown }))
}
