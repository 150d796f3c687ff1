//! The reads of a transaction in memory that the thread's last transaction has left.

use super::Reads;
use std::cell::Cell;
use std::ops::{Deref, DerefMut};

holm_medium::sync::thread_local! {
    /// The reads of the last transaction, cleared.
    static SPARE: Cell<Option<Box<Reads>>> = const { Cell::new(None) };
}

/// The reads of one transaction. Its drop leaves the buffers to the thread's next transaction. In a box, because a
/// transaction is moved several times.
pub(in crate::transaction) struct PooledReads(Option<Box<Reads>>);

impl PooledReads {
    pub(in crate::transaction) fn take() -> Self {
        // The thread local is gone while the thread exits.
        PooledReads(Some(SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()))
    }
}

impl Drop for PooledReads {
    fn drop(&mut self) {
        if let Some(mut reads) = self.0.take()
            && reads.clear()
        {
            let _ = SPARE.try_with(|spare| spare.set(Some(reads)));
        }
    }
}

impl Deref for PooledReads {
    type Target = Reads;

    #[inline]
    fn deref(&self) -> &Reads {
        self.0.as_ref().expect("only the drop takes it")
    }
}

impl DerefMut for PooledReads {
    #[inline]
    fn deref_mut(&mut self) -> &mut Reads {
        self.0.as_mut().expect("only the drop takes it")
    }
}
