//! Cursors of scans: numbers that stand for the key behind which a scan goes on.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most cursors that are remembered.
const MOST: usize = 1 << 16;

/// The cursors that clients may come back with. The latest 65,536 are remembered.
#[derive(Debug, Default)]
pub struct Cursors(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    last: u64,
    keys: HashMap<u64, Vec<u8>>,
    order: VecDeque<u64>,
}

impl Cursors {
    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the last key that a scan has visited.
    pub fn remember(&self, key: Vec<u8>) -> u64 {
        let mut cursors = self.lock();
        cursors.last += 1;
        let number = cursors.last;
        cursors.keys.insert(number, key);
        cursors.order.push_back(number);
        if cursors.order.len() > MOST
            && let Some(oldest) = cursors.order.pop_front()
        {
            cursors.keys.remove(&oldest);
        }
        number
    }

    /// Returns the key of a cursor, unless it is forgotten.
    pub fn find(&self, number: u64) -> Option<Vec<u8>> {
        self.lock().keys.get(&number).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_cursor_is_forgotten_first() {
        let cursors = Cursors::default();
        let first = cursors.remember(b"first".to_vec());
        assert_eq!(cursors.find(first).as_deref(), Some(&b"first"[..]));
        let second = cursors.remember(b"second".to_vec());
        for _ in 1..MOST {
            cursors.remember(Vec::new());
        }
        assert_eq!(cursors.find(first), None);
        assert_eq!(cursors.find(second).as_deref(), Some(&b"second"[..]));
    }
}
