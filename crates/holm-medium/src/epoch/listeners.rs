//! The functions that are called for news about epochs, and the thread that calls them.
//!
//! That thread does nothing else: it ends no epoch, and no epoch waits for it. So a function may wait for the database
//! as any other code of its program may.

#![forbid(unsafe_code)]

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

/// What is called when there is news about epochs.
type Listener = Arc<dyn Fn() + Send + Sync>;

/// The listeners of a clock.
#[derive(Default)]
pub(super) struct Listeners {
    state: Mutex<State>,
    told: Condvar,
}

#[derive(Default)]
struct State {
    listeners: Vec<Listener>,
    /// There is news that no listener has been called for.
    news: bool,
    /// No news comes any more.
    ended: bool,
}

impl Listeners {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, listener: Listener) {
        self.lock().listeners.push(listener);
    }

    /// Has the listeners called soon. News that come in quick succession may be one call.
    pub(super) fn tell(&self) {
        let mut state = self.lock();
        if !state.listeners.is_empty() {
            state.news = true;
            self.told.notify_all();
        }
    }

    /// Ends [`Listeners::call`], once the listeners have been called for all news.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.told.notify_all();
    }

    /// Calls the listeners for all news, until [`Listeners::end`].
    pub(super) fn call(&self) {
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.news) {
                let listeners = state.listeners.clone();
                // Without the lock: a listener may add another one, or end an epoch.
                drop(state);
                for listener in listeners {
                    // Their callers' bug: it must not keep the other listeners from their news.
                    if catch_unwind(AssertUnwindSafe(|| listener())).is_err() {
                        ::log::error!("holm: a function that is called for news about epochs has panicked");
                    }
                }
                state = self.lock();
                continue;
            }
            if state.ended {
                return;
            }
            state = self.told.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
