//! Formats values for people, with three digits.

/// `1.02M`, `688k`, `950`.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate >= 999_500.0 => three_digits(rate / 1e6, "M"),
        rate if rate >= 999.5 => three_digits(rate / 1e3, "k"),
        rate => three_digits(rate, ""),
    }
}

/// `850ns`, `1.30us`, `4.20ms`, `1.50s`.
pub(crate) fn latency(nanoseconds: f64) -> String {
    match nanoseconds {
        time if time >= 999.5e6 => three_digits(time / 1e9, "s"),
        time if time >= 999.5e3 => three_digits(time / 1e6, "ms"),
        time if time >= 999.5 => three_digits(time / 1e3, "us"),
        time => format!("{time:.0}ns"),
    }
}

/// `191 MB`; a megabyte is 10^6 bytes.
pub(crate) fn megabytes(bytes: f64) -> String {
    three_digits(bytes / 1e6, " MB")
}

/// `5.10x`; four decimals if two would show nothing.
pub(crate) fn times(ratio: f64) -> String {
    three_digits(ratio, "x")
}

fn three_digits(number: f64, unit: &str) -> String {
    let decimals = match number {
        number if number >= 99.95 => 0,
        number if number >= 9.995 => 1,
        number if number >= 0.0995 || number == 0.0 => 2,
        _ => 4,
    };
    format!("{number:.decimals$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_at_every_size() {
        assert_eq!(rate(1_020_000.0), "1.02M");
        assert_eq!(rate(999_600.0), "1.00M");
        assert_eq!(rate(688_123.0), "688k");
        assert_eq!(rate(6_712.0), "6.71k");
        assert_eq!(rate(950.0), "950");
        assert_eq!(latency(850.0), "850ns");
        assert_eq!(latency(31_400.0), "31.4us");
        assert_eq!(latency(4_200_000.0), "4.20ms");
        assert_eq!(latency(1.5e9), "1.50s");
        assert_eq!(megabytes(191.4e6), "191 MB");
        assert_eq!(times(0.8), "0.80x");
        assert_eq!(times(0.0037), "0.0037x");
    }
}
