//! How the records of a keyspace hold values, and what readers see of them: the one place that knows of expiry.
//!
//! In a keyspace with expiry, each value follows its deadline:
//!
//! ```text
//! bytes 0-7    milliseconds since 1970, little-endian; 0 means never
//! then         the value
//! ```
//!
//! A keyspace has one [`ValueFormat`] for life. Writers of records take a [`StoredValue`], and readers of values take a
//! [`ReadView`]. Both come from the format, so no path can leave the deadline out or show it.
//!
//! A deadline is absolute, and a record is never shown once its deadline is over. So the removal of expired records is
//! invisible: a crash that loses it loses nothing, and the next pass repeats it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) type Millis = u64;

/// The bytes of a deadline before a value.
pub(crate) const DEADLINE_BYTES: usize = 8;

/// When a key expires: [`Keyspace::expiry`](crate::Keyspace::expiry).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use holm::{Expiry, KeyspaceOptions};
/// use std::time::{Duration, SystemTime};
///
/// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
/// tides.insert_for("north", "high", Duration::from_secs(3600))?;
/// tides.insert("south", "low")?;
/// assert!(matches!(tides.expiry("north")?, Some(Expiry::At(time)) if time > SystemTime::now()));
/// assert_eq!(tides.expiry("south")?, Some(Expiry::Never));
/// assert_eq!(tides.expiry("east")?, None); // no such key
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expiry {
    /// The key stays until it is removed.
    Never,
    /// The key is absent from this time on.
    At(SystemTime),
}

impl Expiry {
    /// Returns the time from which the key is absent; `None` if it stays.
    ///
    /// ```
    /// use holm::Expiry;
    /// let now = std::time::SystemTime::now();
    /// assert_eq!((Expiry::At(now).time(), Expiry::Never.time()), (Some(now), None));
    /// ```
    pub fn time(self) -> Option<SystemTime> {
        match self {
            Expiry::Never => None,
            Expiry::At(time) => Some(time),
        }
    }
}

/// When a record expires, in milliseconds since 1970; 0 means never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline(Millis);

impl Deadline {
    pub(crate) const NEVER: Deadline = Deadline(0);

    /// Returns the deadline of a record that lives for some time from now on, at least to the millisecond.
    pub(crate) fn after(now: Millis, lifetime: Duration) -> Self {
        let millis = lifetime.as_nanos().div_ceil(1_000_000);
        Deadline(now.saturating_add(millis.try_into().unwrap_or(Millis::MAX)).max(1))
    }

    /// Returns the deadline at a time. A time before 1970 is over as well as any other in the past.
    pub(crate) fn at(time: SystemTime) -> Self {
        Deadline::after(0, time.duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    /// Returns whether a record with this deadline has expired. "Never" becomes the largest number here.
    #[inline]
    pub(crate) fn is_over(self, now: Millis) -> bool {
        self.0.wrapping_sub(1) < now
    }

    pub(crate) fn from_bytes(bytes: [u8; DEADLINE_BYTES]) -> Self {
        Deadline(Millis::from_le_bytes(bytes))
    }

    fn to_bytes(self) -> [u8; DEADLINE_BYTES] {
        self.0.to_le_bytes()
    }

    /// A time that the system cannot express is as good as never.
    pub(crate) fn to_expiry(self) -> Expiry {
        let time = UNIX_EPOCH.checked_add(Duration::from_millis(self.0));
        time.filter(|_| self != Deadline::NEVER).map_or(Expiry::Never, Expiry::At)
    }
}

/// How the records of a keyspace hold its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueFormat {
    /// As they are.
    Plain,
    /// Behind their deadlines.
    Expiring,
}

impl ValueFormat {
    /// Returns a value as a record holds it. A plain keyspace has no deadlines.
    #[inline]
    pub(crate) fn stored(self, value: &[u8], deadline: Deadline) -> StoredValue<'_> {
        let deadline = match self {
            ValueFormat::Plain => None,
            ValueFormat::Expiring => Some(deadline),
        };
        StoredValue { deadline, value }
    }

    /// Returns what a reader sees at a time, for which it asks only where that makes a difference.
    #[inline]
    pub(crate) fn view(self, now: impl FnOnce() -> Millis) -> ReadView {
        match self {
            ValueFormat::Plain => ReadView::Stored,
            ValueFormat::Expiring => ReadView::At(now()),
        }
    }
}

/// The bytes that a record holds as its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredValue<'a> {
    deadline: Option<Deadline>,
    value: &'a [u8],
}

impl<'a> StoredValue<'a> {
    /// Takes bytes that are as a record holds them already: those of another record, of a stream, or of the catalog.
    pub(crate) fn verbatim(value: &'a [u8]) -> Self {
        StoredValue { deadline: None, value }
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        self.value.len() + if self.deadline.is_some() { DEADLINE_BYTES } else { 0 }
    }

    /// Copies the bytes to where the record's value lies.
    #[inline]
    pub(crate) fn copy_to(self, mut bytes: &mut [u8]) {
        if let Some(deadline) = self.deadline {
            let (first, rest) = bytes.split_at_mut(DEADLINE_BYTES);
            first.copy_from_slice(&deadline.to_bytes());
            bytes = rest;
        }
        bytes.copy_from_slice(self.value);
    }
}

/// What a reader sees of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadView {
    /// All records, and their values as they are stored.
    Stored,
    /// The records that have not expired by this time, and their values without the deadlines.
    At(Millis),
}

impl ReadView {
    /// Returns whether a write of one's own, with this deadline, is visible.
    pub(crate) fn shows(self, deadline: Deadline) -> bool {
        match self {
            ReadView::Stored => true,
            ReadView::At(now) => !deadline.is_over(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_over_from_its_millisecond_on() {
        let deadline = Deadline::after(1_000, Duration::from_millis(5));
        assert_eq!(deadline, Deadline(1_005));
        assert!(!deadline.is_over(1_004) && deadline.is_over(1_005) && deadline.is_over(Millis::MAX));
        assert!(!Deadline::NEVER.is_over(0) && !Deadline::NEVER.is_over(Millis::MAX));
    }

    #[test]
    fn extreme_times_are_deadlines_too() {
        assert_eq!(Deadline::after(7, Duration::from_nanos(1)), Deadline(8), "it lives at least that long");
        assert_eq!(Deadline::after(0, Duration::ZERO), Deadline(1), "0 would mean never");
        assert_eq!(Deadline::after(7, Duration::MAX), Deadline(Millis::MAX));
        assert_eq!(Deadline::at(UNIX_EPOCH - Duration::from_secs(1)), Deadline(1));
        assert_eq!(Deadline::NEVER.to_expiry(), Expiry::Never);
        let time = UNIX_EPOCH + Duration::from_millis(1_234);
        assert_eq!(Deadline::at(time).to_expiry(), Expiry::At(time));
    }

    #[test]
    fn what_is_stored_is_what_was_given() {
        let mut bytes = [0; 12];
        let stored = ValueFormat::Expiring.stored(b"reef", Deadline(258));
        assert_eq!(stored.len(), 12);
        stored.copy_to(&mut bytes);
        assert_eq!(&bytes, b"\x02\x01\0\0\0\0\0\0reef");
        assert_eq!(Deadline::from_bytes(*bytes.first_chunk().unwrap()), Deadline(258));
        assert_eq!(ValueFormat::Plain.stored(b"reef", Deadline(258)).len(), 4);
    }
}
