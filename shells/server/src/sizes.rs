//! Sizes with units, as settings have them: `100`, `100k`, `100kb`, `64mb`, `1g`.

/// Reads a size in bytes. `k`, `m` and `g` are powers of 1,000, and `kb`, `mb` and `gb` powers of 1,024.
pub(crate) fn parse_size(text: &str) -> Option<usize> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit: usize = match &unit.to_ascii_lowercase()[..] {
        "" | "b" => 1,
        "k" => 1_000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn units_are_powers_of_a_thousand_or_of_1024() {
        let sizes = [("0", 0), ("17b", 17), ("2k", 2_000), ("2KB", 2_048), ("3m", 3_000_000), ("1gb", 1 << 30)];
        for (text, size) in sizes {
            assert_eq!(parse_size(text), Some(size), "{text}");
        }
        for text in ["", "mb", "-1", "1.5mb", "10mbs", " 1", "99999999999999999999", "99999999999999gb"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }
}
