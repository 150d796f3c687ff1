//! Numbers as the protocol writes them: strict integers, and floats with the fewest digits that read back.

use crate::refusal::{Outcome, Refusal};

/// Reads an integer. Only its canonical form is one: no sign `+`, no leading zeros, no spaces.
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_negative = digits.len() < text.len();
    let mut number = match digits {
        [b'0'] if !is_negative => return Some(0),
        // No number of 19 digits exceeds 64 bits.
        [first @ b'1'..=b'9', rest @ ..] if rest.len() < 19 => (u64::from(first - b'0'), rest),
        _ => return None,
    };
    while let (sum, [digit @ b'0'..=b'9', rest @ ..]) = number {
        number = (sum * 10 + u64::from(digit - b'0'), rest);
    }
    match number {
        (number, []) if is_negative => 0i64.checked_sub_unsigned(number),
        (number, []) => i64::try_from(number).ok(),
        _ => None,
    }
}

/// Reads an integer.
///
/// # Errors
/// The reply that clients expect.
pub fn integer(text: &[u8]) -> Outcome<i64> {
    parse_integer(text).ok_or(Refusal::text("ERR value is not an integer or out of range"))
}

/// Reads an integer that is not negative.
///
/// # Errors
/// The reply that clients expect.
pub fn count(text: &[u8]) -> Outcome<usize> {
    let refusal = || Refusal::text("ERR value is out of range, must be positive");
    usize::try_from(parse_integer(text).ok_or_else(refusal)?).map_err(|_| refusal())
}

/// Reads a float; infinities are floats, and what is not a number is none.
pub fn parse_float(text: &[u8]) -> Option<f64> {
    let float: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (!float.is_nan()).then_some(float)
}

/// Reads a float.
///
/// # Errors
/// The reply that clients expect.
pub fn float(text: &[u8]) -> Outcome<f64> {
    parse_float(text).ok_or(Refusal::text("ERR value is not a valid float"))
}

/// Writes a float with the fewest digits that read back as the same.
pub fn format_float(float: f64) -> String {
    if float.is_infinite() {
        return if float > 0.0 { "inf".into() } else { "-inf".into() };
    }
    if float.is_nan() {
        return "nan".into();
    }
    let size = float.abs();
    if size == 0.0 {
        return if float.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    if (1e-4..1e17).contains(&size) {
        return format!("{float}");
    }
    let shortest = format!("{float:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The decimal places of a sum.
const PLACES: u32 = 17;

/// Adds two decimal numbers, exactly where both have at most 17 decimal places, and otherwise as floats.
///
/// # Errors
/// The sum is no finite number.
pub fn add_decimals(one: &[u8], other: &[u8]) -> Outcome<String> {
    let exact = (|| decimal(one)?.checked_add(decimal(other)?))();
    if let Some(sum) = exact {
        let scale = 10u128.pow(PLACES);
        let (whole, part) = (sum.unsigned_abs() / scale, sum.unsigned_abs() % scale);
        let sign = if sum < 0 { "-" } else { "" };
        let part = format!("{part:017}");
        let part = part.trim_end_matches('0');
        return Ok(if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") });
    }
    let sum = float(one)? + float(other)?;
    if sum.is_finite() {
        Ok(format!("{sum}"))
    } else {
        Err(Refusal::text("ERR increment would produce NaN or Infinity"))
    }
}

/// Reads a decimal number as a multiple of the last decimal place.
fn decimal(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?;
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole)
        || !plain(part)
        || whole.len() > 18
        || part.len() > PLACES as usize
        || digits.len() <= 1 && whole.is_empty()
    {
        return None;
    }
    let number = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<i128>().ok() };
    let scaled = number(whole)? * 10i128.pow(PLACES) + number(part)? * 10i128.pow(PLACES - part.len() as u32);
    Some(if negative { -scaled } else { scaled })
}

/// Bytes that sort as the float does.
pub(crate) fn sortable(float: f64) -> [u8; 8] {
    // A negative zero is the same score as zero.
    let bits = (float + 0.0).to_bits();
    let flipped = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    flipped.to_be_bytes()
}

/// The float that has these sortable bytes.
pub(crate) fn from_sortable(bytes: [u8; 8]) -> f64 {
    let flipped = u64::from_be_bytes(bytes);
    f64::from_bits(if flipped >> 63 == 1 { flipped & !(1 << 63) } else { !flipped })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_integers_are_integers() {
        for text in ["0", "-1", "17", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(parse_integer(text.as_bytes()).map(|found| found.to_string()).as_deref(), Some(text));
        }
        for text in ["", "-", "+1", "01", "-0", " 1", "1 ", "1.0", "9223372036854775808", "99999999999999999999"] {
            assert_eq!(parse_integer(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn floats_are_short_and_read_back() {
        let texts = [
            (1.0, "1"),
            (0.1, "0.1"),
            (1e20, "1e+20"),
            (1e-7, "1e-07"),
            (-2.5, "-2.5"),
            (0.0, "0"),
            (1e16, "10000000000000000"),
        ];
        for (float, text) in texts {
            assert_eq!(format_float(float), text);
            assert_eq!(parse_float(text.as_bytes()), Some(float));
        }
        assert_eq!(format_float(f64::NEG_INFINITY), "-inf");
    }

    #[test]
    fn decimals_add_without_binary_dust() {
        assert_eq!(add_decimals(b"0.1", b"0.2").ok().as_deref(), Some("0.3"));
        assert_eq!(add_decimals(b"5.0e3", b"200").ok().as_deref(), Some("5200"));
        assert_eq!(add_decimals(b"-1.5", b"1.5").ok().as_deref(), Some("0"));
        assert!(add_decimals(b"inf", b"1").is_err());
    }

    #[test]
    fn sortable_bytes_sort_as_floats_do() {
        let floats = [f64::NEG_INFINITY, -1e300, -1.0, -1e-300, 0.0, 1e-300, 1.0, 1e300, f64::INFINITY];
        let bytes: Vec<_> = floats.iter().map(|float| sortable(*float)).collect();
        assert!(bytes.is_sorted());
        assert!(floats.iter().all(|float| from_sortable(sortable(*float)) == *float));
        assert_eq!(sortable(-0.0), sortable(0.0));
    }
}
