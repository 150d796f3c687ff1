//! Arguments with units: durability, times, and lifetimes.

use std::str::FromStr;
use std::time::Duration;

use holm::Durability;

/// Parses `strict`, `onsync`, `buffered`, or `buffered:` and an interval.
pub(super) fn durability(text: &str) -> Result<Durability, String> {
    match text.split_once(':') {
        None if text == "strict" => Ok(Durability::Strict),
        None if text == "onsync" => Ok(Durability::OnSync),
        None if text == "buffered" => Ok(Durability::Buffered { interval: Duration::from_millis(10) }),
        Some(("buffered", interval)) => Ok(Durability::Buffered { interval: duration(interval)? }),
        _ => Err("expected strict, buffered, buffered:10ms or onsync".into()),
    }
}

/// Parses a whole number with a unit: `500us`, `10ms`, `1s`.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let expected = || format!("found the interval {text:?}, expected a number from 1 with us, ms or s, such as 10ms");
    let number: u64 = number.parse().map_err(|_| expected())?;
    match unit {
        _ if number == 0 => Err(expected()),
        "us" => Ok(Duration::from_micros(number)),
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        _ => Err(expected()),
    }
}

/// Parses a positive number of seconds, at most a day.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("expected a number of seconds above 0 and up to 86400".into()),
    }
}

/// How long a record lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    Limited(Duration),
    Never,
}

impl FromStr for Lifetime {
    type Err = String;

    /// Parses `never`, or a lifetime.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" { Ok(Lifetime::Never) } else { lifetime(text).map(Lifetime::Limited) }
    }
}

/// Parses a whole number with a unit: `500ms`, `30s`, `10m`, `12h`, `7d`.
pub(super) fn lifetime(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ms = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let millis = number.parse::<u64>().ok().zip(unit_ms).and_then(|(number, unit_ms)| number.checked_mul(unit_ms));
    match millis {
        Some(millis) if millis > 0 => Ok(Duration::from_millis(millis)),
        _ => Err("expected a number from 1 with ms, s, m, h or d, such as 30s".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durabilities() {
        assert_eq!(durability("strict"), Ok(Durability::Strict));
        assert_eq!(durability("onsync"), Ok(Durability::OnSync));
        for (text, micros) in [("buffered", 10_000), ("buffered:250us", 250), ("buffered:2s", 2_000_000)] {
            assert_eq!(
                durability(text),
                Ok(Durability::Buffered { interval: Duration::from_micros(micros) }),
                "{text}"
            );
        }
        for text in ["", "buffered:", "buffered:0ms", "buffered:10", "buffered:ms", "buffered:-1ms", "strict:1s"] {
            assert!(durability(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_are_above_nothing() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for text in ["0", "-1", "NaN", "inf", "x"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lifetimes() {
        for (text, millis) in [("1ms", 1), ("30s", 30_000), ("10m", 600_000), ("12h", 43_200_000), ("7d", 604_800_000)]
        {
            assert_eq!(text.parse(), Ok(Lifetime::Limited(Duration::from_millis(millis))), "{text}");
        }
        assert_eq!("never".parse(), Ok(Lifetime::Never));
        for text in ["", "0s", "30", "s", "-1s", "1.5h", "30S", "1w", "99999999999999d", "99999999999999999999ms"] {
            assert!(text.parse::<Lifetime>().is_err(), "{text}");
        }
    }
}
