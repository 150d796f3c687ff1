//! The interface that a store must implement to be measured: six calls through a shared reference, from any thread, and
//! a seventh if it has transactions. An adapter holds what the store needs (tables, a transaction per call). It copies
//! out what it reads, because every engine should pay the same for handing a value to its user.

/// The error of any engine.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a transaction does with the values that it has read. It may run several times.
pub type Change<'a> = &'a dyn Fn(&mut [Vec<u8>; 2]);

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

    /// Reads the values of two keys into `values`, lets `change` change them, and stores both: one serializable
    /// transaction, which begins anew after a conflict and returns when it has committed. Stores nothing and returns
    /// false if a key is absent. If the engine was opened as durable, the transaction is durable on return.
    ///
    /// # Errors
    /// The engine's own; without this method, that there are no transactions.
    fn transact(&self, keys: [&[u8]; 2], values: &mut [Vec<u8>; 2], change: Change<'_>) -> Result<bool, BoxError> {
        let _ = (keys, values, change);
        Err(format!("the engine {} has no transactions here", self.name()).into())
    }

    /// Inserts all pairs or none. If the engine was opened as durable, the batch is durable on return.
    ///
    /// # Errors
    /// The engine's own.
    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError>;
}
