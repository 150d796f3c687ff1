//! Requests, cut into pieces anywhere, are the same commands.

use holm_commands::{ProtocolError, RequestLimits, RequestParser};
use proptest::prelude::*;
use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::types::OwnedFrame;

type Commands = Vec<Vec<Vec<u8>>>;

/// Feeds bytes piece by piece, as a connection does. Returns the commands, and the error that ended them.
fn parse(bytes: &[u8], pieces: &[usize]) -> (Commands, Option<ProtocolError>) {
    let (mut parser, mut input, mut start) = (RequestParser::default(), Vec::new(), 0);
    let mut commands = Vec::new();
    let mut rest = bytes;
    let mut pieces = pieces.iter().copied().chain(std::iter::repeat(usize::MAX));
    loop {
        let piece = pieces.next().unwrap_or(1).clamp(1, rest.len().max(1)).min(rest.len());
        input.extend_from_slice(&rest[..piece]);
        rest = &rest[piece..];
        loop {
            match parser.parse(&input[start..], &RequestLimits::default()) {
                Ok(None) => break,
                Ok(Some(used)) => {
                    let words: Vec<_> = parser.arguments(&input[start..]).from(0).map(<[u8]>::to_vec).collect();
                    if !words.is_empty() {
                        commands.push(words);
                    }
                    start += used;
                    parser.next();
                }
                Err(error) => return (commands, Some(error)),
            }
        }
        if start > 20 {
            input.drain(..start);
            start = 0;
        }
        if rest.is_empty() {
            return (commands, None);
        }
    }
}

fn encode(commands: &Commands) -> Vec<u8> {
    let mut bytes = Vec::new();
    for words in commands {
        bytes.extend(format!("*{}\r\n", words.len()).bytes());
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
    }
    bytes
}

fn any_commands() -> impl Strategy<Value = Commands> {
    let word = proptest::collection::vec(any::<u8>(), 0..40);
    proptest::collection::vec(proptest::collection::vec(word, 1..6), 0..8)
}

/// Bytes that look like requests here and there.
fn like_requests() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"*2\r\n".to_vec()),
        Just(b"$3\r\nabc\r\n".to_vec()),
        Just(b"$0\r\n\r\n".to_vec()),
        Just(b"set \"a\\x41\" 'b'\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"*0\r\n".to_vec()),
        Just(b"*-1\r\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

/// The lengths of pieces.
fn pieces() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1usize..20, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn any_split_gives_the_same_commands(commands in any_commands(), pieces in pieces()) {
        prop_assert_eq!(parse(&encode(&commands), &pieces), (commands, None));
    }

    #[test]
    fn any_bytes_give_the_same_in_any_split(bytes in like_requests(), pieces in pieces()) {
        prop_assert_eq!(parse(&bytes, &pieces), parse(&bytes, &[]));
    }

    #[test]
    fn another_parser_reads_the_same(commands in any_commands(), cut in any::<prop::sample::Index>()) {
        let bytes = encode(&commands);
        let bytes = &bytes[..cut.index(bytes.len() + 1)];
        let (ours, error) = parse(bytes, &[]);
        prop_assert_eq!((ours, error), (by_another(bytes), None));
    }

    #[test]
    fn another_parser_never_reads_other_words(
        commands in any_commands(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = encode(&commands);
        prop_assume!(!bytes.is_empty());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        // Each stops where it finds no request any more, and what is one differs a little.
        for (ours, theirs) in parse(&bytes, &[]).0.iter().zip(by_another(&bytes)) {
            if bytes.windows(2).all(|pair| pair[1] != b'\n' || pair[0] == b'\r') {
                prop_assert_eq!(ours, &theirs);
            }
        }
    }
}

/// Returns the commands that begin some bytes, as the other parser reads them.
fn by_another(mut bytes: &[u8]) -> Commands {
    let mut commands = Vec::new();
    while bytes.starts_with(b"*")
        && let Ok(Some((OwnedFrame::Array(frames), used))) = decode(bytes)
    {
        let word = |frame| if let OwnedFrame::BulkString(word) = frame { Some(word) } else { None };
        let Some(words) = frames.into_iter().map(word).collect::<Option<Vec<_>>>() else { break };
        if !words.is_empty() {
            commands.push(words);
        }
        bytes = &bytes[used..];
    }
    commands
}

#[test]
fn typed_lines_are_split_as_a_shell_does() {
    let words = |line: &str| parse(format!("{line}\r\n").as_bytes(), &[]).0.concat().concat();
    assert_eq!(
        parse(b"set  a 'b c' \"d\\te\\x00\"\n", &[]).0,
        [[&b"set"[..], b"a", b"b c", b"d\te\0"].map(<[u8]>::to_vec)]
    );
    assert_eq!(words("'it\\'s'"), b"it's");
    for unbalanced in ["'a", "\"a", "\"a\"b", "'a'b"] {
        assert!(parse(format!("{unbalanced}\r\n").as_bytes(), &[]).1.is_some(), "{unbalanced}");
    }
}

#[test]
fn requests_beyond_the_limits_are_refused() {
    let limits = RequestLimits { argument: 10, count: 3, line: 20 };
    for bytes in
        [&b"*4\r\n"[..], b"*1\r\n$11\r\n", b"*1\r\n$-1\r\n", b"*1\r\nabc\r\n", b"*x\r\n", &[b'a'; 30], &[b'*'; 30]]
    {
        let parsed = RequestParser::default().parse(bytes, &limits);
        assert!(parsed.is_err(), "{}", bytes.escape_ascii());
    }
    let mut parser = RequestParser::default();
    assert_eq!(parser.parse(b"*1\r\n$10\r\n123", &limits), Ok(None));
    assert_eq!(parser.wanted(), b"*1\r\n$10\r\n1234567890\r\n".len());
}
