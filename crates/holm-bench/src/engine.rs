//! The interface that a store must implement to be measured: six calls through a shared reference, from any thread. An
//! adapter holds what the store needs (tables, a transaction per call). It copies out what it reads, because every
//! engine should pay the same for handing a value to its user.

/// The error of any engine.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An open store. Its durability was chosen when it was opened.
pub trait Engine: Send + Sync {
    /// The engine's name in reports.
    fn name(&self) -> &str;

    /// Inserts the pair or replaces the value.
    ///
    /// # Errors
    /// The engine's own.
    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError>;

    /// Replaces the content of `into` with the value and returns whether there is one. Without a value, `into` is
    /// empty.
    ///
    /// # Errors
    /// The engine's own.
    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError>;

    /// Calls `visit` with up to `count` pairs in ascending order, the first at or after `from`. Returns the number of
    /// pairs.
    ///
    /// # Errors
    /// The engine's own.
    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError>;

    /// Returns when all earlier inserts would survive a power failure.
    ///
    /// # Errors
    /// The engine's own.
    fn sync(&self) -> Result<(), BoxError>;

    /// Inserts all pairs or none. If the engine was opened as durable, the batch is durable on return.
    ///
    /// # Errors
    /// The engine's own.
    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError>;
}
