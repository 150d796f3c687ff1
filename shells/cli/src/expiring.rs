//! Keyspaces whose keys may expire: how commands create them, and what they write of a key's time.

use std::io::Write;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::anyhow;
use holm::{Database, Expiry, Keyspace, KeyspaceOptions};

use crate::args::{Expiring, Lifetime, Target};
use crate::formats::Writer;

/// Says that keys of a keyspace do not expire.
pub(crate) fn refusal(keyspace: &str) -> anyhow::Error {
    anyhow!("keys of the keyspace {keyspace:?} do not expire; --expires-in with a new --keyspace creates one whose do")
}

/// Refuses records that expire in a database that is yet to be created, where only `default` would take them.
pub(crate) fn check_target(target: &Target, expiring: &Expiring) -> anyhow::Result<()> {
    let in_default = expiring.expires_in.is_some() && target.keyspace == "default";
    if in_default && !Path::exists(&target.database) { Err(refusal(&target.keyspace)) } else { Ok(()) }
}

/// Opens a keyspace for records that expire or not, and creates it if it is absent.
pub(crate) fn keyspace(database: &Database, name: &str, expiring: &Expiring) -> anyhow::Result<Keyspace> {
    if expiring.expires_in.is_none() {
        return Ok(database.keyspace(name)?);
    }
    match database.existing_keyspace(name)? {
        Some(keyspace) if !keyspace.options().has_expiry() => Err(refusal(name)),
        Some(keyspace) => Ok(keyspace),
        None => Ok(database.keyspace_with(name, &KeyspaceOptions::new().expires(true))?),
    }
}

/// Stores a record.
pub(crate) fn insert(keyspace: &Keyspace, key: &[u8], value: &[u8], expiring: &Expiring) -> holm::Result<()> {
    match expiring.expires_in {
        Some(Lifetime::Limited(lifetime)) => keyspace.insert_for(key, value, lifetime),
        Some(Lifetime::Never) | None => keyspace.insert(key, value),
    }
}

/// Writes a record of a keyspace with these options. In JSON lines it has the time at which it expires. Returns
/// `false`, and writes nothing, if it has just expired: without its time, it would never expire where it is loaded.
pub(crate) fn write<W: Write>(
    writer: &mut Writer<W>,
    (key, value): (&[u8], &[u8]),
    options: KeyspaceOptions,
    expiry: impl FnOnce() -> holm::Result<Option<Expiry>>,
) -> anyhow::Result<bool> {
    let expires_ms = match options.has_expiry() && writer.tells_expiry() {
        false => None,
        true => match expiry()? {
            Some(expiry) => millis(expiry),
            None => return Ok(false),
        },
    };
    writer.pair(key, value, expires_ms)?;
    Ok(true)
}

/// Returns when a key expires, in milliseconds since 1970; `None` if it never does.
pub(crate) fn millis(expiry: Expiry) -> Option<u64> {
    let since = expiry.time()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(since.as_millis().try_into().unwrap_or(u64::MAX))
}

/// Returns a time as RFC 3339 says, in UTC: `2026-01-31T12:00:00.000Z`.
pub(crate) fn rfc_3339(millis: u64) -> String {
    let (days, of_day) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = date(days);
    let (seconds, millis) = (of_day / 1_000, of_day % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Returns year, month and day, a number of days after the first day of 1970. Counts from the first of March of the
/// year 0, so that a leap day is the last day of a year: Hinnant, "chrono-compatible low-level date algorithms".
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_798_761_599_001, "2026-12-31T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc_3339(millis), text);
        }
        assert!(rfc_3339(u64::MAX).starts_with("584556"));
    }

    #[test]
    fn each_day_follows_the_one_before() {
        let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let mut days = 0;
        for year in 1970..2500 {
            let february = if leap(year) { 29 } else { 28 };
            for (month, length) in (1..).zip([31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
                for day in 1..=length {
                    assert_eq!(date(days), (year, month, day));
                    days += 1;
                }
            }
        }
    }
}
