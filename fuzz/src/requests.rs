//! What holds for any bytes that a client sends: the parser never panics, the way in which bytes arrive changes
//! nothing, and what the parser holds is at most what was sent. The fuzzer calls it without end, a test of the commands
//! in bounds.

use holm_commands::{RequestLimits, RequestParser};

type Words = Vec<Vec<u8>>;

/// Returns the commands, and whether the bytes ended in an error. Bytes arrive in pieces of the given length.
fn parse(bytes: &[u8], piece: usize) -> (Vec<Words>, bool) {
    let (mut parser, mut start, mut end) = (RequestParser::default(), 0, 0);
    let mut commands = Vec::new();
    while end < bytes.len() {
        end = (end + piece).min(bytes.len());
        loop {
            match parser.parse(&bytes[start..end], &RequestLimits::default()) {
                Ok(None) => break,
                Ok(Some(used)) => {
                    assert!(used > 0 && start + used <= end, "a command lies within what has arrived");
                    commands.push(parser.arguments(&bytes[start..end]).from(0).map(<[u8]>::to_vec).collect());
                    start += used;
                    parser.next();
                }
                Err(_) => return (commands, true),
            }
        }
    }
    (commands, false)
}

/// Checks bytes, of which the first one decides how long the pieces are.
pub fn check(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let whole = parse(bytes, bytes.len().max(1));
    assert_eq!(parse(bytes, usize::from(*first) + 1), whole);
    assert!(whole.0.concat().concat().len() <= bytes.len());
}
