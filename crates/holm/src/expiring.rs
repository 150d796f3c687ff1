//! Operations of keyspaces whose keys may expire.

use crate::error::Result;
use crate::expiry::{Deadline, Expiry};
use crate::keyspace::Keyspace;
use crate::slice::Slice;
use crate::sweep;
use crate::update::Decision;
use crate::wall_clock::millis_of;
use std::time::{Duration, SystemTime};

/// Keys that expire, in a keyspace that was created with [`KeyspaceOptions::expires`](crate::KeyspaceOptions::expires).
/// In any other keyspace these operations return [`Error::Invalid`](crate::Error::Invalid).
///
/// A key that has expired is absent for every operation of this and of every other type, also before its record is
/// removed: only [`Keyspace::len`] counts it until then. Expiry has the resolution of the system's coarse clock, some
/// milliseconds. A snapshot and a transaction see one time throughout: that of the snapshot, and that of the
/// transaction's first look at a keyspace with expiry.
///
/// Time never goes back. While the database is open, it stands still where the system's clock is set back. An open
/// begins with the time of the last close or, after a crash, at least with the last at which records were removed. So a
/// system's clock that is ahead by mistake ends keys early, and once it is right again, none expire until it has caught
/// up, over reopenings too.
impl Keyspace {
    /// Stores a value that expires after some time, and replaces the previous value. A lifetime of zero stores a value
    /// that nobody sees. As durable as [`Keyspace::insert`].
    ///
    /// # Errors
    /// As [`Keyspace::insert`]; [`Invalid`](crate::Error::Invalid) in a keyspace without expiry.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::KeyspaceOptions;
    /// use std::time::Duration;
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// tides.insert_for("north", "high", Duration::from_secs(3600))?;
    /// tides.insert_for("south", "low", Duration::ZERO)?;
    /// assert_eq!(tides.get("north")?.as_deref(), Some(&b"high"[..]));
    /// assert_eq!(tides.get("south")?, None);
    /// tides.insert("north", "low")?; // never expires
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_for(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, lifetime: Duration) -> Result<()> {
        self.tree().check_expires()?;
        let deadline = Deadline::after(self.store().wall_clock.now(), lifetime);
        self.put(key.as_ref(), value.as_ref(), deadline)
    }

    /// As [`Keyspace::insert_for`], until a time.
    ///
    /// # Errors
    /// As [`Keyspace::insert_for`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::KeyspaceOptions;
    /// use std::time::{Duration, SystemTime};
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// tides.insert_until("north", "high", SystemTime::now() + Duration::from_secs(3600))?;
    /// tides.insert_until("south", "low", SystemTime::UNIX_EPOCH)?;
    /// assert!(tides.contains_key("north")? && !tides.contains_key("south")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_until(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, time: SystemTime) -> Result<()> {
        self.tree().check_expires()?;
        self.put(key.as_ref(), value.as_ref(), Deadline::at(time))
    }

    /// Returns when a key expires, or `None` if the key is absent. O(log n).
    ///
    /// # Errors
    /// As [`Keyspace::get`]; [`Invalid`](crate::Error::Invalid) in a keyspace without expiry.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::{Expiry, KeyspaceOptions};
    /// use std::time::{Duration, SystemTime};
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// let in_an_hour = SystemTime::now() + Duration::from_secs(3600);
    /// tides.insert_until("north", "high", in_an_hour)?;
    /// let Some(Expiry::At(time)) = tides.expiry("north")? else { panic!("it is there, and expires") };
    /// assert!(time >= in_an_hour); // rounded up to a millisecond
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expiry(&self, key: impl AsRef<[u8]>) -> Result<Option<Expiry>> {
        self.tree().check_expires()?;
        Ok(self.store().deadline(self.tree(), key.as_ref())?.map(Deadline::to_expiry))
    }

    /// Lets a key stay for ever. Returns whether it was present and would have expired. Atomic, and O(log n); writes
    /// the value anew.
    ///
    /// # Errors
    /// As [`Keyspace::insert`]; [`Invalid`](crate::Error::Invalid) in a keyspace without expiry.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::{Expiry, KeyspaceOptions};
    /// use std::time::Duration;
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// tides.insert_for("north", "high", Duration::from_secs(3600))?;
    /// assert!(tides.persist("north")?);
    /// assert_eq!(tides.expiry("north")?, Some(Expiry::Never));
    /// assert!(!tides.persist("north")? && !tides.persist("south")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn persist(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.tree().check_expires()?;
        let before = self.set_deadline(key.as_ref(), Deadline::NEVER)?;
        Ok(before.is_some_and(|before| before != Deadline::NEVER))
    }

    /// Lets a present key expire after some time from now on, and keeps its value. Returns whether the key was present.
    /// A lifetime of zero makes it absent. Atomic, linearizable and O(log n); writes the value anew. As durable as
    /// [`Keyspace::insert`].
    ///
    /// # Errors
    /// As [`Keyspace::insert`]; [`Invalid`](crate::Error::Invalid) in a keyspace without expiry.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::{Expiry, KeyspaceOptions};
    /// use std::time::{Duration, SystemTime};
    /// let sessions = db.keyspace_with("sessions", &KeyspaceOptions::new().expires(true))?;
    /// sessions.insert_for("17", "open", Duration::from_secs(60))?;
    /// assert!(sessions.expire_in("17", Duration::from_secs(3600))?); // it is used: keep it for longer
    /// let in_half_an_hour = SystemTime::now() + Duration::from_secs(1800);
    /// assert!(matches!(sessions.expiry("17")?, Some(Expiry::At(time)) if time > in_half_an_hour));
    /// assert_eq!(sessions.get("17")?.as_deref(), Some(&b"open"[..]));
    /// assert!(!sessions.expire_in("18", Duration::from_secs(3600))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expire_in(&self, key: impl AsRef<[u8]>, lifetime: Duration) -> Result<bool> {
        self.tree().check_expires()?;
        let deadline = Deadline::after(self.store().wall_clock.now(), lifetime);
        Ok(self.set_deadline(key.as_ref(), deadline)?.is_some())
    }

    /// As [`Keyspace::expire_in`], at a time. From a time in the past on, the key is absent at once.
    ///
    /// # Errors
    /// As [`Keyspace::expire_in`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::KeyspaceOptions;
    /// use std::time::SystemTime;
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// tides.insert("north", "high")?;
    /// assert!(tides.expire_at("north", SystemTime::UNIX_EPOCH)?);
    /// assert!(!tides.contains_key("north")?);
    /// assert!(!tides.expire_at("north", SystemTime::now())?); // it was absent
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expire_at(&self, key: impl AsRef<[u8]>, time: SystemTime) -> Result<bool> {
        self.tree().check_expires()?;
        Ok(self.set_deadline(key.as_ref(), Deadline::at(time))?.is_some())
    }

    /// Gives a present key a deadline, and returns the one before; `None` if the key is absent.
    fn set_deadline(&self, key: &[u8], deadline: Deadline) -> Result<Option<Deadline>> {
        let decide = |current: Option<&Slice>, before| match current {
            Some(value) if before != deadline => Ok((Decision::PutUntil(value.clone(), deadline), Some(before))),
            Some(_) => Ok((Decision::Keep, Some(before))),
            None => Ok((Decision::Keep, None)),
        };
        Ok(self.store().update(self.tree(), key, decide)?.1)
    }

    /// Returns the keys that have expired by a time and are not removed yet, in order, and at most `limit` of them. For
    /// the leader of replicas with [`Sweep::Manual`](crate::Sweep::Manual): it removes these keys by its log, so that
    /// all replicas remove the same. Between this call and the removal, a key may have got another value; compare its
    /// [`Keyspace::expiry`] where the log is applied.
    ///
    /// There is no index of deadlines: each call begins at the least key and reads every record up to the last key that
    /// it returns. O(records) if fewer than `limit` keys have expired. Keys that were returned and are not removed
    /// come again.
    ///
    /// # Errors
    /// As [`Keyspace::get`]; [`Invalid`](crate::Error::Invalid) in a keyspace without expiry.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, KeyspaceOptions, Sweep};
    /// use std::time::{Duration, SystemTime};
    /// let db = Database::builder().sweep(Sweep::Manual).open(&path)?;
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// let now = SystemTime::now();
    /// tides.insert_until("north", "high", now - Duration::from_secs(1))?;
    /// tides.insert_until("south", "high", now + Duration::from_secs(3600))?;
    /// assert_eq!(tides.expired(now, 100)?, [&b"north"[..]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expired(&self, by: SystemTime, limit: usize) -> Result<Vec<Slice>> {
        self.tree().check_expires()?;
        let keys = sweep::expired_keys(self.store(), self.tree(), millis_of(by), limit)?;
        Ok(keys.into_iter().map(Slice::from).collect())
    }
}
