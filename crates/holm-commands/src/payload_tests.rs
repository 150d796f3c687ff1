//! Payloads of Redis, and what is encoded here, are decoded; other bytes are refused, with bounded memory.

use super::{MOST, MOST_PACKED, SET, STRING_COST, Value, decode, decompress, encode, sum};
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().as_chunks::<2>().0;
    digits.iter().map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn strings(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

#[test]
fn the_sum_is_that_of_redis() {
    assert_eq!(sum(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
}

/// The payloads are answers of redis-server 7.0.15 to DUMP.
#[test]
fn payloads_of_redis_have_their_values() {
    let text = |text: &str| Value::String(text.as_bytes().to_vec());
    let cases = [
        ("0004746578740a007cf3266dcab5a531", text("text")),
        ("00c0f90a005e26d130d7a242ab", text("-7")),
        ("00c139300a009d94ea2793fc08b9", text("12345")),
        ("00c2000000800a00c74f873e33558187", text("-2147483648")),
        ("00c30a405002616261e042010161620a00949d5f0eb1dea445", text(&"ab".repeat(40))),
        (
            "1205020d0d0000000200816102dffb02ff020f0f0000000200c12c02f270110104ff02161600000002008362626204f400f2052a01\
             00000009ff0210100000000200f3816967ff05cfa002ff020c0c0000000100f280841e04ff0a00be6ec19e5a177791",
            Value::List(strings(&["a", "-5", "300", "70000", "bbb", "5000000000", "-9999999", "4000", "2000000"])),
        ),
        (
            "1013130000000400816602817602816702dfff02ff0a00a5135576bfa85d08",
            Value::Hash(strings(&["f", "v", "g", "-1"])),
        ),
        (
            "111d1d0000000600816e02842d696e6605816d0283312e3504816f020301ff0a005602737fd3a46a02",
            Value::SortedSet(vec![(b"n".to_vec(), f64::NEG_INFINITY), (b"m".to_vec(), 1.5), (b"o".to_vec(), 3.0)]),
        ),
        (
            "0b14040000000300000090eefeff01000000030000000a00090eec49a6504d88",
            Value::Set(strings(&["-70000", "1", "3"])),
        ),
        ("0b180800000002000000010000000000000000f2052a010000000a0054f5a26ae707b5fc", {
            Value::Set(strings(&["1", "5000000000"]))
        }),
        ("020101780a00ffe880ba760c2f09", Value::Set(strings(&["x"]))),
        ("0401016601760a00adf24356b1860efc", Value::Hash(strings(&["f", "v"]))),
        (
            "0502016e000000000000f07f016d000000000000f83f0a0027f2eaf47f93a0c7",
            Value::SortedSet(vec![(b"n".to_vec(), f64::INFINITY), (b"m".to_vec(), 1.5)]),
        ),
    ];
    for (hex, value) in cases {
        assert_eq!(decode(&bytes(hex)), Some(Some(value)), "{hex}");
    }
}

/// Redis before 7.0 wrote these; the sums are computed here.
#[test]
fn older_forms_have_their_values() {
    // The elements are "a", 1, -2, 300, 70000, 8388607 and 5000000000.
    let zip_list = "28000000220000000700000161\
                    03f2\
                    02fefe\
                    03c02c01\
                    04d070110100\
                    06f0ffff7f\
                    05e000f2052a01000000\
                    ff";
    let zip_list = bytes(zip_list);
    let sealed = |kind: u8, head: &[u8], packed: &[u8]| {
        let mut content = [&[kind], head, &[packed.len() as u8], packed, &[9, 0]].concat();
        content.extend(sum(&content).to_le_bytes());
        content
    };
    let mut right = zip_list.clone();
    let total = right.len() as u8;
    right[0] = total;
    let elements = strings(&["a", "1", "-2", "300", "70000", "8388607", "5000000000"]);
    assert_eq!(decode(&sealed(10, &[], &right)), Some(Some(Value::List(elements.clone()))));
    assert_eq!(decode(&sealed(14, &[1], &right)), Some(Some(Value::List(elements))));
    // An odd number of strings is no hash.
    assert_eq!(decode(&sealed(13, &[], &right)), Some(None));
}

#[test]
fn a_few_bytes_do_not_become_many() {
    // A run of one byte, and references of 264 bytes each.
    let mut packed = vec![0, b'x'];
    (0..1_000).for_each(|_| packed.extend([0xe0, 0xff, 0]));
    let whole = 1 + 1_000 * 264;
    assert_eq!(decompress(&packed, whole).map(|bytes| bytes.len()), Some(whole));
    assert_eq!(decompress(&packed, whole - 1), None);
    let count = (MOST / whole + 1) as u32;
    let mut content = [&[1, 0x80][..], &count.to_be_bytes()].concat();
    for _ in 0..count {
        content.extend([0xc3, 0x80]);
        content.extend((packed.len() as u32).to_be_bytes());
        content.push(0x80);
        content.extend((whole as u32).to_be_bytes());
        content.extend_from_slice(&packed);
    }
    content.extend([9, 0]);
    content.extend(sum(&content).to_le_bytes());
    assert_eq!(decode(&content), Some(None));
}

fn with_sum(mut content: Vec<u8>) -> Vec<u8> {
    content.extend([9, 0]);
    content.extend(sum(&content).to_le_bytes());
    content
}

/// A string without bytes takes memory, too, and a packed number of two bytes becomes a string.
#[test]
fn strings_count_beside_their_bytes() {
    let count = MOST / STRING_COST + 1;
    let mut empty = vec![SET, 0x80];
    empty.extend((count as u32).to_be_bytes());
    empty.resize(empty.len() + count, 0);
    assert_eq!(decode(&with_sum(empty)), Some(None));
    let numbers = (MOST_PACKED / 2) as u32;
    let mut packed = vec![11, 0x80];
    packed.extend((8 + 2 * numbers).to_be_bytes());
    packed.extend([2, 0, 0, 0]);
    packed.extend(numbers.to_le_bytes());
    packed.resize(packed.len() + 2 * numbers as usize, 0);
    assert_eq!(decode(&with_sum(packed)), Some(None));
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..100),
    ) {
        let pairs: Vec<_> = strings.iter().flat_map(|string| [string.clone(), string.clone()]).collect();
        let scored = strings.iter().map(|string| (string.clone(), string.len() as f64 / 7.0)).collect();
        for value in [
            Value::String(strings.concat()),
            Value::List(strings.clone()),
            Value::Set(strings.clone()),
            Value::Hash(pairs),
            Value::SortedSet(scored),
        ] {
            let mut payload = encode(&value);
            prop_assert_eq!(decode(&payload), Some(Some(value)));
            payload[0] ^= 1;
            prop_assert_eq!(decode(&payload), None);
        }
    }

    /// Bytes behind a right sum may be anything: they are a value or none, without a panic.
    #[test]
    fn no_bytes_panic(
        kind in 0_u8..22,
        mut content in prop::collection::vec(any::<u8>(), 0..60),
        head in any::<bool>(),
    ) {
        if head && content.len() > 5 {
            // The length of a packed form, so that more of its bytes are looked at.
            content[0] = (content.len() - 1).min(63) as u8;
            content[1] = content[0];
            content[2..5].fill(0);
        }
        content.insert(0, kind);
        content.extend([9, 0]);
        content.extend(sum(&content).to_le_bytes());
        prop_assert!(decode(&content).is_some());
    }
}
