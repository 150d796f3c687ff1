//! A recorded trace of a cache, in the public format of Twitter's traces: lines of
//! `timestamp,key,key size,value size,client,operation,time to live`.
//!
//! Keys become words by their hash, values become words, and times and clients are dropped. What remains is the
//! sequence of operations and their keys.

use anyhow::{Context, Result, bail, ensure};
use holm_lab::measured::{Request, What};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// The trace, and the list of its distinct keys.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) requests: Vec<Request>,
    pub(crate) keys: Vec<u64>,
}

impl Recorded {
    /// Reads the first `most` requests of a file; `-` is standard input.
    pub(crate) fn read(path: &Path, most: u64) -> Result<Self> {
        let about = || format!("reading {}", path.display());
        match path.to_str() {
            Some("-") => Self::parse(io::stdin().lock(), most).with_context(about),
            _ => Self::parse(BufReader::new(File::open(path).with_context(about)?), most).with_context(about),
        }
    }

    fn parse(lines: impl BufRead, most: u64) -> Result<Self> {
        let (mut requests, mut keys, mut known) = (Vec::new(), Vec::new(), HashSet::new());
        for (number, line) in lines.lines().take(usize::try_from(most)?).enumerate() {
            let line = line?;
            let request = request(&line).with_context(|| format!("line {}: {line:?}", number + 1))?;
            if known.insert(request.key) {
                keys.push(request.key);
            }
            requests.push(request);
        }
        ensure!(!requests.is_empty(), "there is no request in it");
        Ok(Recorded { requests, keys })
    }
}

fn request(line: &str) -> Result<Request> {
    // A key may contain commas, so the other fields are counted from both ends.
    let (_, rest) = line.split_once(',').context("no timestamp")?;
    let mut fields = rest.trim_end().rsplitn(6, ',');
    let (_, operation) = (fields.next(), fields.next().context("no operation")?);
    let key = fields.nth(3).context("expected seven fields; the last but one is the operation")?;
    let what = match operation {
        "get" | "gets" => What::Get,
        "set" | "add" | "replace" | "cas" | "append" | "prepend" | "incr" | "decr" => What::Put,
        "delete" => What::Remove,
        other => bail!("an operation named {other:?}"),
    };
    Ok(Request { key: hash(key.as_bytes()), what })
}

/// FNV-1a, which gives the same result on every machine.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_in_order_and_keys_once() {
        let text = "0,coral,5,100,1,get,0\n0,a,b,3,100,1,set,60\n1,coral,5,0,2,delete,0\n1,coral,5,0,2,incr,0\n";
        let recorded = Recorded::parse(text.as_bytes(), 3).expect("a trace");
        let what: Vec<_> = recorded.requests.iter().map(|request| request.what).collect();
        assert_eq!(what, [What::Get, What::Put, What::Remove]);
        assert_eq!(recorded.keys, [hash(b"coral"), hash(b"a,b")]);
        assert_eq!(recorded.requests[2].key, recorded.keys[0]);
    }

    #[test]
    fn what_is_no_request_is_named() {
        for (text, named) in [
            ("", "no request"),
            ("0,coral", "line 1"),
            ("0,a,1,1,1,get,0\n0,a,1,1,1,swim,0", "swim"),
            ("0,1,1,1,get,0", "seven"),
        ] {
            let refused = format!("{:#}", Recorded::parse(text.as_bytes(), 9).expect_err("no trace"));
            assert!(refused.contains(named), "{refused}");
        }
    }
}
