//! What a keyspace is created with, and keeps for life.

use crate::error::{Error, Result};
use crate::expiry::ValueFormat;

/// This bit of a keyspace's flags says that its keys may expire.
const EXPIRES: u8 = 1;

/// Options of a new keyspace: [`Database::keyspace_with`](crate::Database::keyspace_with). A keyspace keeps them for
/// life.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use holm::KeyspaceOptions;
/// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
/// assert_eq!(tides.options(), KeyspaceOptions::new().expires(true));
/// assert_eq!(db.keyspace("default")?.options(), KeyspaceOptions::new());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "options do nothing until a keyspace is created with them"]
pub struct KeyspaceOptions {
    pub(crate) expires: bool,
}

impl KeyspaceOptions {
    /// Returns the options of a keyspace that [`Database::keyspace`](crate::Database::keyspace) creates: keys do not
    /// expire.
    pub fn new() -> Self {
        KeyspaceOptions::default()
    }

    /// Sets whether keys may expire: [`Keyspace::insert_for`](crate::Keyspace::insert_for). Default: `false`. Each
    /// value then takes 8 bytes more, and each read asks for the time.
    pub fn expires(mut self, expires: bool) -> Self {
        self.expires = expires;
        self
    }

    /// Returns whether keys may expire: see [`KeyspaceOptions::expires`].
    ///
    /// ```
    /// # use holm::KeyspaceOptions;
    /// assert!(KeyspaceOptions::new().expires(true).has_expiry() && !KeyspaceOptions::new().has_expiry());
    /// ```
    pub fn has_expiry(&self) -> bool {
        self.expires
    }

    /// Returns the options that flags stand for; `None` if this version does not know one of them.
    fn from_flags(flags: u8) -> Option<Self> {
        let options = KeyspaceOptions { expires: flags & EXPIRES != 0 };
        (options.flags() == flags).then_some(options)
    }

    /// Returns the options that a keyspace's flags stand for.
    ///
    /// # Errors
    /// `Geometry`: a flag that this version does not know. It would take the keyspace's values for something else.
    pub(crate) fn known(flags: u8, name: &str) -> Result<Self> {
        KeyspaceOptions::from_flags(flags).ok_or_else(|| Error::Geometry {
            what: "set of keyspace flags",
            found: format!("{flags:#04x} in the keyspace {name:?}"),
            expected: format!("flags among {EXPIRES:#04x}"),
        })
    }

    /// Returns the options as the catalog and streams have them.
    pub(crate) fn flags(&self) -> u8 {
        if self.expires { EXPIRES } else { 0 }
    }

    pub(crate) fn format(&self) -> ValueFormat {
        if self.expires { ValueFormat::Expiring } else { ValueFormat::Plain }
    }
}
