//! A thread that waits for an epoch ends it itself, where no other thread does.

#![forbid(unsafe_code)]

/// Ends epochs in the threads that wait for them.
pub trait CommitLeader: Send + Sync {
    /// Ends the active epoch in this thread, which has pinned no epoch, and makes it durable. No other thread ends one
    /// meanwhile, and none before the thread that ends epochs has taken what this leaves. Panics are caught here.
    fn lead(&self) -> Led;
}

/// What a leader has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Led {
    /// The epoch is durable, or has not been touched.
    Whole,
    /// What is left is for the thread that ends epochs: an epoch that is not durable yet, or an error.
    Left,
}
