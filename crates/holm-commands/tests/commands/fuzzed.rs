//! A bounded run of what the fuzzer checks for the parser: the same inputs each time.

#[path = "../../../../fuzz/src/requests.rs"]
mod requests;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Parts of requests, whole and broken, and any bytes.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let header = (prop_oneof![Just('*'), Just('$')], -2i64..40).prop_map(|(kind, count)| format!("{kind}{count}\r\n"));
    let argument = proptest::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| {
        let header = format!("${}\r\n", bytes.len());
        [header.as_bytes(), &bytes, b"\r\n"].concat()
    });
    let number = "[*$:][-+0-9]{1,25}\r?\n?".prop_map(String::into_bytes);
    let line = r#"["' \\xa-z0-9]{0,30}\r?\n"#.prop_map(String::into_bytes);
    let part = prop_oneof![
        4 => header.prop_map(String::into_bytes),
        4 => argument,
        1 => number,
        1 => line,
        1 => proptest::collection::vec(any::<u8>(), 0..8),
    ];
    (any::<u8>(), proptest::collection::vec(part, 0..20))
        .prop_map(|(piece, parts)| [vec![piece % 40], parts.concat()].concat())
}

#[test]
fn any_bytes_are_the_same_commands_however_they_arrive() {
    let mut runner = TestRunner::deterministic();
    let input = input();
    for _ in 0..4_000 {
        let bytes = input.new_tree(&mut runner).unwrap().current();
        // A failure of the check names no input: this does.
        if let Err(panic) = std::panic::catch_unwind(|| requests::check(&bytes)) {
            eprintln!("the input is {:?}", bytes.escape_ascii().to_string());
            std::panic::resume_unwind(panic);
        }
    }
}
