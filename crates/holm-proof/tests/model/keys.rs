//! Keys of several kinds and values of many sizes, each made from a number.

/// The number of kinds of keys.
pub(crate) const FAMILIES: usize = 8;

/// Writes a number with the digits of an alphabet, of which no two numbers have the same form.
fn letters(mut number: usize, alphabet: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    while number > 0 {
        number -= 1;
        key.push(alphabet[number % alphabet.len()]);
        number /= alphabet.len();
    }
    key
}

/// Returns the key of a number in a family; different numbers have different keys.
pub(crate) fn key(family: usize, number: usize) -> Vec<u8> {
    match family % FAMILIES {
        // Short, among them the empty key; many are prefixes of others and differ in trailing NULs.
        0 => letters(number, &[0, 1, b'a', 0xff]),
        // Long common prefixes.
        1 => [b"/usr/share/doc/a-rather-long-name-of-a-folder/", &letters(number, b"/ab")[..]].concat(),
        // Decimal numbers, whose order is not that of the numbers.
        2 => format!("{number}").into_bytes(),
        3 => format!("{number:06}").into_bytes(),
        // Runs of one byte: each is a prefix of the next.
        4 => vec![[0, b'a', 0xff][number % 3]; 1 + number / 3],
        // Equal for eight bytes, then different.
        5 => [b"aaaaaaaa", &letters(number, &[0, b'a', 0xff])[..]].concat(),
        // Binary, the last bytes first.
        6 => (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes().to_vec(),
        // Common prefixes of several lengths side by side.
        _ => [&vec![b'p'; number % 5 * 11][..], &(number as u32).to_be_bytes()].concat(),
    }
}

/// Returns a value that no other serial number has, unless it is shorter than eight bytes.
pub(crate) fn value(serial: u64, kind: usize) -> Vec<u8> {
    let len = match kind % 64 {
        0..8 => 0,
        8..24 => 8,
        24..30 => 22 + kind % 3,
        30..34 => 300 + kind % 64,
        34..36 => 3_000,
        36 => 20_000,
        37 => 110_000,
        _ => 9 + kind % 40,
    };
    let mut value = serial.to_le_bytes().to_vec();
    value.resize(len, serial as u8);
    value
}
