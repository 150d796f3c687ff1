//! What a store must do to be measured: six calls, all through a shared reference, all from any thread. An adapter
//! keeps whatever the store wants kept (tables, transactions per call) and copies out what it reads, because every
//! engine should pay the same for handing a value to its user.

/// The error of an engine, whatever its own type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An open store. How durable `insert` is was decided when it was opened.
pub trait Engine: Send + Sync {
    /// The name in a report's table.
    fn name(&self) -> &str;

    /// Inserts the pair or replaces the value.
    ///
    /// # Errors
    /// The engine's own.
    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError>;

    /// Replaces what is in `into` with the value and says whether there was one; without one, `into` is left empty.
    ///
    /// # Errors
    /// The engine's own.
    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError>;

    /// Shows up to `count` pairs in ascending order, the first at or after `from`; returns how many were shown.
    ///
    /// # Errors
    /// The engine's own.
    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError>;

    /// Returns when everything inserted before would survive a power cut.
    ///
    /// # Errors
    /// The engine's own.
    fn sync(&self) -> Result<(), BoxError>;

    /// Inserts all pairs or none; durable when it returns if the engine was opened so.
    ///
    /// # Errors
    /// The engine's own.
    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError>;
}
