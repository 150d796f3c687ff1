//! The longest common subsequence of two strings.

use crate::arguments::Arguments;
use crate::context::Context;
use crate::number::integer;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;

/// The most cells of the table of lengths: 64 MiB.
const MOST_CELLS: usize = 16 << 20;

/// A part that both strings have, by first and last index.
struct Part {
    one: (usize, usize),
    other: (usize, usize),
}

/// Returns the lengths of the longest common subsequences of all prefixes, row by row.
fn lengths(one: &[u8], other: &[u8]) -> Vec<u32> {
    let width = other.len() + 1;
    let mut table = vec![0u32; (one.len() + 1) * width];
    for (i, byte) in one.iter().enumerate() {
        for (j, found) in other.iter().enumerate() {
            table[(i + 1) * width + j + 1] = if byte == found {
                table[i * width + j] + 1
            } else {
                table[i * width + j + 1].max(table[(i + 1) * width + j])
            };
        }
    }
    table
}

/// Walks back through the table. Returns the subsequence, and its parts from the last to the first.
fn trace(one: &[u8], other: &[u8], table: &[u32]) -> (Vec<u8>, Vec<Part>) {
    let width = other.len() + 1;
    let (mut i, mut j) = (one.len(), other.len());
    let (mut bytes, mut parts): (Vec<u8>, Vec<Part>) = (Vec::new(), Vec::new());
    while i > 0 && j > 0 {
        if one[i - 1] == other[j - 1] {
            bytes.push(one[i - 1]);
            (i, j) = (i - 1, j - 1);
            match parts.last_mut() {
                Some(part) if part.one.0 == i + 1 && part.other.0 == j + 1 => (part.one.0, part.other.0) = (i, j),
                _ => parts.push(Part { one: (i, i), other: (j, j) }),
            }
        } else if table[(i - 1) * width + j] > table[i * width + j - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    bytes.reverse();
    (bytes, parts)
}

pub(crate) fn lcs(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (mut len, mut idx, mut with_len, mut least) = (false, false, false, 0);
    let mut options = arguments.options(3);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"LEN" => len = true,
            b"IDX" => idx = true,
            b"WITHMATCHLEN" => with_len = true,
            b"MINMATCHLEN" => least = integer(options.word().ok_or(SYNTAX)?)?.max(0) as usize,
            _ => return Err(SYNTAX),
        }
    }
    if len && idx {
        return Err(Refusal::text("ERR If you want both the length and indexes, please just use IDX."));
    }
    let (one, other) = (context.entry(&arguments[1])?, context.entry(&arguments[2])?);
    let not_strings = |_| Refusal::text("ERR The specified keys must contain string values");
    let one = one.string().map_err(not_strings)?.unwrap_or_default();
    let other = other.string().map_err(not_strings)?.unwrap_or_default();
    if (one.len() + 1).saturating_mul(other.len() + 1) > MOST_CELLS {
        return Err(Refusal::text("ERR the strings are too long: the product of their lengths is at most 16777216"));
    }
    let (bytes, parts) = trace(one, other, &lengths(one, other));
    if len {
        return Ok(Reply::count(bytes.len()));
    }
    if !idx {
        return Ok(Reply::bulk(bytes));
    }
    let pair = |(from, to)| Reply::Array(vec![Reply::count(from), Reply::count(to)]);
    let long_enough = parts.iter().filter(|part| part.one.1 - part.one.0 + 1 >= least);
    let matches = long_enough.map(|part| {
        let mut both = vec![pair(part.one), pair(part.other)];
        if with_len {
            both.push(Reply::count(part.one.1 - part.one.0 + 1));
        }
        Reply::Array(both)
    });
    let matches = Reply::Array(matches.collect());
    Ok(Reply::Map(vec![(Reply::fixed("matches"), matches), (Reply::fixed("len"), Reply::count(bytes.len()))]))
}
