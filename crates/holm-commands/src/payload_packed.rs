//! The packed forms of small collections in the payloads of Redis: list packs, zip lists, and sets of integers. Each
//! function returns the strings, or `None` if the bytes are not of the form.

type Strings = Vec<Vec<u8>>;

fn split<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

/// Reads the byte below the high bits of a number.
fn with_low_byte(high: usize, bytes: &mut &[u8]) -> Option<usize> {
    let [low] = split(bytes)?;
    Some(high << 8 | usize::from(low))
}

fn string(bytes: &mut &[u8], length: usize) -> Option<Vec<u8>> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken.to_vec())
}

/// Reads an integer of that many bytes, the low ones first.
fn integer(bytes: &mut &[u8], size: usize) -> Option<Vec<u8>> {
    let (taken, rest) = bytes.split_at_checked(size)?;
    *bytes = rest;
    let mut wide = [0; 8];
    wide[8 - size..].copy_from_slice(taken);
    text(i64::from_le_bytes(wide) >> (64 - 8 * size))
}

fn text(number: i64) -> Option<Vec<u8>> {
    Some(number.to_string().into_bytes())
}

/// ```text
/// bytes of all 4 | entries 2 | (entry, its length from behind 1..5)* | ff
/// ```
pub(crate) fn list_pack(bytes: &[u8]) -> Option<Strings> {
    let mut rest = bytes;
    let total = u32::from_le_bytes(split(&mut rest)?);
    split::<2>(&mut rest)?;
    let mut found = Vec::new();
    while rest.first()? != &0xff {
        let before = rest.len();
        let [first] = split(&mut rest)?;
        let low = |bits: u32| usize::from(first) & ((1 << bits) - 1);
        let entry = match first {
            0..=0x7f => text(first.into())?,
            0x80..=0xbf => string(&mut rest, low(6))?,
            0xc0..=0xdf => {
                let number = with_low_byte(low(5), &mut rest)? as i64;
                text(if number < 1 << 12 { number } else { number - (1 << 13) })?
            }
            0xe0..=0xef => {
                let length = with_low_byte(low(4), &mut rest)?;
                string(&mut rest, length)?
            }
            0xf0 => {
                let length = u32::from_le_bytes(split(&mut rest)?) as usize;
                string(&mut rest, length)?
            }
            0xf1..=0xf3 => integer(&mut rest, usize::from(first - 0xf1) + 2)?,
            0xf4 => integer(&mut rest, 8)?,
            _ => return None,
        };
        found.push(entry);
        let length = before - rest.len();
        // The length has seven bits in a byte.
        let size = 1 + [128, 16_383, 2_097_151, 268_435_455].iter().filter(|limit| length >= **limit).count();
        rest = rest.get(size..)?;
    }
    (rest.len() == 1 && total as usize == bytes.len()).then_some(found)
}

/// ```text
/// bytes of all 4 | place of the last 4 | entries 2 | (length of the one before 1 or 5, entry)* | ff
/// ```
pub(crate) fn zip_list(bytes: &[u8]) -> Option<Strings> {
    let mut rest = bytes;
    let total = u32::from_le_bytes(split(&mut rest)?);
    split::<6>(&mut rest)?;
    let mut found = Vec::new();
    while rest.first()? != &0xff {
        if split::<1>(&mut rest)? == [0xfe] {
            split::<4>(&mut rest)?;
        }
        let [first] = split(&mut rest)?;
        let low = usize::from(first & 63);
        found.push(match first {
            0..=0x3f => string(&mut rest, low)?,
            0x40..=0x7f => {
                let length = with_low_byte(low, &mut rest)?;
                string(&mut rest, length)?
            }
            0x80 => {
                let length = u32::from_be_bytes(split(&mut rest)?) as usize;
                string(&mut rest, length)?
            }
            0xc0 => integer(&mut rest, 2)?,
            0xd0 => integer(&mut rest, 4)?,
            0xe0 => integer(&mut rest, 8)?,
            0xf0 => integer(&mut rest, 3)?,
            0xfe => integer(&mut rest, 1)?,
            0xf1..=0xfd => text(i64::from(first - 0xf1))?,
            _ => return None,
        });
    }
    (rest.len() == 1 && total as usize == bytes.len()).then_some(found)
}

/// ```text
/// bytes of an integer 4 | integers 4 | integer*
/// ```
pub(crate) fn int_set(bytes: &[u8]) -> Option<Strings> {
    let mut rest = bytes;
    let size = u32::from_le_bytes(split(&mut rest)?) as usize;
    let count = u32::from_le_bytes(split(&mut rest)?) as usize;
    if ![2, 4, 8].contains(&size) || count.checked_mul(size)? != rest.len() {
        return None;
    }
    (0..count).map(|_| integer(&mut rest, size)).collect()
}
