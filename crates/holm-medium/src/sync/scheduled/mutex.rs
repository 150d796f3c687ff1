//! Shuttle's mutex, with a guard that knows its mutex: a wait with an end must release it and take it again.

use shuttle::sync as scheduled;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// A mutex, as std's.
#[derive(Default, Debug)]
pub struct Mutex<T: ?Sized>(scheduled::Mutex<T>);

/// A guard, as std's.
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) mutex: &'a Mutex<T>,
    pub(super) guard: scheduled::MutexGuard<'a, T>,
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Self {
        Mutex(scheduled::Mutex::new(value))
    }

    /// The value.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.guard(self.0.lock())
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If it is not, or a thread panicked while it held the lock.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Ok(MutexGuard { mutex: self, guard }),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            Err(TryLockError::Poisoned(poisoned)) => {
                let guard = MutexGuard { mutex: self, guard: poisoned.into_inner() };
                Err(TryLockError::Poisoned(PoisonError::new(guard)))
            }
        }
    }

    /// The value: no other thread can hold the lock.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }

    pub(super) fn guard<'a>(
        &'a self,
        locked: LockResult<scheduled::MutexGuard<'a, T>>,
    ) -> LockResult<MutexGuard<'a, T>> {
        match locked {
            Ok(guard) => Ok(MutexGuard { mutex: self, guard }),
            Err(poisoned) => Err(PoisonError::new(MutexGuard { mutex: self, guard: poisoned.into_inner() })),
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}
