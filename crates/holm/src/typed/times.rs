//! Times, spans of time, and identifiers.

use super::key::{AsKey, Key};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECOND: u32 = 1_000_000_000;

impl AsKey<Duration> for Duration {
    fn encode(&self, bytes: &mut Vec<u8>, is_last: bool) {
        (self.as_secs(), self.subsec_nanos()).encode(bytes, is_last);
    }
}

impl Key for Duration {
    fn decode(bytes: &mut &[u8], is_last: bool) -> Option<Self> {
        let (seconds, nanos) = Key::decode(bytes, is_last)?;
        (nanos < SECOND).then(|| Duration::new(seconds, nanos))
    }
}

/// Seconds since 1970, rounded down, and the nanoseconds after them.
fn since_1970(time: SystemTime) -> (i64, u32) {
    match time.duration_since(UNIX_EPOCH) {
        // No system's time is further away: it has 64 bits of seconds.
        Ok(since) => (since.as_secs() as i64, since.subsec_nanos()),
        Err(before) => match (before.duration().as_secs() as i64, before.duration().subsec_nanos()) {
            (seconds, 0) => (seconds.wrapping_neg(), 0),
            (seconds, nanos) => (-1 - seconds, SECOND - nanos),
        },
    }
}

impl AsKey<SystemTime> for SystemTime {
    fn encode(&self, bytes: &mut Vec<u8>, is_last: bool) {
        since_1970(*self).encode(bytes, is_last);
    }
}

impl Key for SystemTime {
    fn decode(bytes: &mut &[u8], is_last: bool) -> Option<Self> {
        let (seconds, nanos): (i64, u32) = Key::decode(bytes, is_last)?;
        let whole = match u64::try_from(seconds) {
            Ok(seconds) => UNIX_EPOCH.checked_add(Duration::from_secs(seconds)),
            Err(_) => UNIX_EPOCH.checked_sub(Duration::from_secs(seconds.unsigned_abs())),
        };
        whole.filter(|_| nanos < SECOND)?.checked_add(Duration::new(0, nanos))
    }
}

#[cfg(feature = "uuid")]
impl AsKey<uuid::Uuid> for uuid::Uuid {
    fn encode(&self, bytes: &mut Vec<u8>, is_last: bool) {
        AsKey::<[u8; 16]>::encode(self.as_bytes(), bytes, is_last);
    }
}

#[cfg(feature = "uuid")]
impl Key for uuid::Uuid {
    fn decode(bytes: &mut &[u8], is_last: bool) -> Option<Self> {
        Key::decode(bytes, is_last).map(uuid::Uuid::from_bytes)
    }
}
