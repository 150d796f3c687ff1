//! A value per scheduled thread. All scheduled threads run on one thread of the system, and would share a
//! thread-local.

use shuttle::current::me;
use shuttle::scheduler::TaskId;
use std::sync::OnceLock;

/// More threads than ever use one such value.
const MOST_THREADS: usize = 64;

/// A value per scheduled thread.
///
/// In boxes: stacks of scheduled threads are small.
pub struct PerThread<T>([OnceLock<Box<(TaskId, T)>>; MOST_THREADS]);

impl<T> Default for PerThread<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PerThread<T> {
    /// No values yet.
    pub const fn new() -> Self {
        PerThread([const { OnceLock::new() }; MOST_THREADS])
    }

    /// The value of this thread, if it has one.
    pub fn get(&self) -> Option<&T> {
        let own = me();
        self.0.iter().map_while(OnceLock::get).find(|own_value| own_value.0 == own).map(|own_value| &own_value.1)
    }

    /// The value of this thread; makes it if it has none.
    pub fn get_or(&self, make: impl FnOnce() -> T) -> &T {
        self.get().unwrap_or_else(|| {
            let value = make();
            let place = self.0.iter().find(|place| place.get().is_none()).expect("few threads");
            &place.get_or_init(|| Box::new((me(), value))).1
        })
    }

    /// The same with the default value.
    pub fn get_or_default(&self) -> &T
    where
        T: Default,
    {
        self.get_or(T::default)
    }

    /// The values of all threads.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map_while(OnceLock::get).map(|own_value| &own_value.1)
    }
}
