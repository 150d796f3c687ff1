//! Keys that a connection reads within a transaction after it has written them: what it reads is what others see from
//! then on, so it goes on to hold that.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What a transaction does with a key, as far as its author holds it.
#[derive(Clone, Copy, Debug)]
struct Course {
    /// The author has held the key when it wrote it.
    was_held: bool,
    is_written: bool,
    /// It is read after the last write.
    is_reread: bool,
}

/// The keys of a transaction, by what its commands do with them one after the other.
#[derive(Debug, Default)]
pub(crate) struct Rereads(HashMap<Vec<u8>, Course>);

impl Rereads {
    /// Notes that a command reads a key, and whether the author is noted at it for the first time.
    pub(crate) fn read(&mut self, key: &[u8], is_new: bool) {
        match self.0.entry(key.to_vec()) {
            Entry::Vacant(place) => drop(place.insert(Course { was_held: true, is_written: false, is_reread: false })),
            Entry::Occupied(mut place) => {
                let course = place.get_mut();
                if course.is_written && !course.is_reread {
                    course.was_held |= !is_new;
                    course.is_reread = true;
                }
            }
        }
    }

    /// Notes that a command may write a key.
    pub(crate) fn write(&mut self, key: &[u8]) {
        let course = Course { was_held: false, is_written: true, is_reread: false };
        let course = self.0.entry(key.to_vec()).or_insert(course);
        (course.is_written, course.is_reread) = (true, false);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the author must give up what it held of a key; `None` if it has not read the key anew.
    pub(crate) fn gives_up(&self, key: &[u8]) -> Option<bool> {
        self.0.get(key).filter(|course| course.is_reread).map(|course| course.was_held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays reads and writes of a key that the author has held before, or not.
    fn after(steps: &str, mut is_held: bool) -> Option<bool> {
        let mut rereads = Rereads::default();
        for step in steps.chars() {
            match step {
                'r' => rereads.read(b"k", !std::mem::replace(&mut is_held, true)),
                _ => rereads.write(b"k"),
            }
        }
        rereads.gives_up(b"k")
    }

    #[test]
    fn what_is_read_last_is_held_and_what_was_held_before_is_given_up() {
        for (steps, of_new, of_held) in [
            ("r", None, None),
            ("w", None, None),
            ("rw", None, None),
            ("wr", Some(false), Some(true)),
            ("wrr", Some(false), Some(true)),
            ("rwr", Some(true), Some(true)),
            ("wrw", None, None),
            ("wrwr", Some(true), Some(true)),
        ] {
            assert_eq!((after(steps, false), after(steps, true)), (of_new, of_held), "{steps}");
        }
    }
}
