//! How many bytes of replies and messages may wait for a client, by its class: `client-output-buffer-limit` of Redis.
//!
//! A client beyond the hard limit is disconnected at once, and gets nothing of what waits. One that stays beyond the
//! soft limit for some seconds is disconnected, too. A limit of 0 is none.

use crate::clients::ClientKind;
use crate::sizes::parse_size;
use std::fmt::{Display, Formatter};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// What all classes have unless they are given other limits.
const DEFAULT: &str = "normal 256mb 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60";

/// The limits of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OutputLimit {
    hard: usize,
    soft: usize,
    seconds: u64,
}

/// Reads limits as `class hard soft seconds`, any number of times.
///
/// # Errors
/// What is wrong with them.
fn parse(text: &str) -> Result<Vec<(ClientKind, OutputLimit)>, &'static str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (quadruples, []) = words.as_chunks::<4>() else {
        return Err("Wrong number of arguments in buffer limit configuration.");
    };
    let read = |[class, hard, soft, seconds]: &[&str; 4]| {
        let kind = match &class.to_ascii_lowercase()[..] {
            "normal" => ClientKind::Normal,
            "replica" | "slave" => ClientKind::Server,
            "pubsub" => ClientKind::Subscriber,
            _ => return Err("Invalid client class specified in buffer limit configuration."),
        };
        let limit = (|| {
            let (hard, soft) = (parse_size(hard)?, parse_size(soft)?);
            Some(OutputLimit { hard, soft, seconds: u64::from(seconds.parse::<u32>().ok()?) })
        })();
        let wrong = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
        Ok((kind, limit.ok_or(wrong)?))
    };
    quadruples.iter().map(read).collect()
}

/// Checks limits without using them.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn check(text: &str) -> Result<(), &'static str> {
    parse(text).map(drop)
}

#[derive(Debug, Default)]
struct Cell {
    hard: AtomicUsize,
    soft: AtomicUsize,
    seconds: AtomicU64,
}

/// The limits of all classes. They may change while they are read.
#[derive(Debug)]
pub(crate) struct OutputLimits([Cell; 3]);

impl OutputLimits {
    /// Returns the limits that settings state, one after the other.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn new(texts: &[String]) -> Result<Self, &'static str> {
        let limits = OutputLimits(Default::default());
        limits.set(DEFAULT)?;
        texts.iter().try_for_each(|text| limits.set(text))?;
        Ok(limits)
    }

    fn of(&self, kind: ClientKind) -> &Cell {
        &self.0[kind as usize]
    }

    /// Changes the limits of the classes that the text names.
    ///
    /// # Errors
    /// What is wrong with the text; nothing has changed then.
    pub(crate) fn set(&self, text: &str) -> Result<(), &'static str> {
        for (kind, limit) in parse(text)? {
            let cell = self.of(kind);
            cell.hard.store(limit.hard, Ordering::Relaxed);
            cell.soft.store(limit.soft, Ordering::Relaxed);
            cell.seconds.store(limit.seconds, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the most bytes that may wait for a client.
    pub(crate) fn hard(&self, kind: ClientKind) -> usize {
        match self.of(kind).hard.load(Ordering::Relaxed) {
            0 => usize::MAX,
            hard => hard,
        }
    }

    /// Returns how long this number of bytes may wait for a client; `None` for any time.
    pub(crate) fn patience(&self, kind: ClientKind, bytes: usize) -> Option<Duration> {
        let cell = self.of(kind);
        let soft = cell.soft.load(Ordering::Relaxed);
        (soft > 0 && bytes > soft).then(|| Duration::from_secs(cell.seconds.load(Ordering::Relaxed)))
    }
}

impl Display for OutputLimits {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let classes =
            [("normal", ClientKind::Normal), ("slave", ClientKind::Server), ("pubsub", ClientKind::Subscriber)];
        for (index, (name, kind)) in classes.into_iter().enumerate() {
            let Cell { hard, soft, seconds } = self.of(kind);
            let separator = if index == 0 { "" } else { " " };
            write!(formatter, "{separator}{name} {}", hard.load(Ordering::Relaxed))?;
            write!(formatter, " {} {}", soft.load(Ordering::Relaxed), seconds.load(Ordering::Relaxed))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::OutputLimits;
    use crate::clients::ClientKind;
    use std::time::Duration;

    #[test]
    fn limits_are_set_by_class_and_a_wrong_one_changes_nothing() {
        let limits = OutputLimits::new(&["pubsub 1kb 10 3".to_owned()]).unwrap();
        let first = "normal 268435456 0 0 slave 268435456 67108864 60 pubsub 1024 10 3";
        assert_eq!(limits.to_string(), first);
        for (text, word) in [
            ("normal 1 2", "Wrong"),
            ("", ""),
            ("master 1 2 3", "class"),
            ("normal 1 2 3 pubsub 1x 2 3", "Error"),
            ("normal 1 2 3 pubsub 1 -2 3", "Error"),
            ("normal 1 2 3 pubsub 1 2 3s", "Error"),
        ] {
            let refused = limits.set(text).err();
            assert_eq!(refused.is_some(), !word.is_empty(), "{text}");
            assert!(refused.unwrap_or_default().contains(word), "{text}");
            assert_eq!(limits.to_string(), first, "{text}");
        }
        limits.set("Replica 0 0 0 NORMAL 5 0 0").unwrap();
        assert_eq!(limits.to_string(), "normal 5 0 0 slave 0 0 0 pubsub 1024 10 3");
    }

    #[test]
    fn none_is_no_limit() {
        let limits = OutputLimits::new(&["normal 0 0 5 pubsub 9 7 0".to_owned()]).unwrap();
        assert_eq!(limits.hard(ClientKind::Normal), usize::MAX);
        assert_eq!(limits.patience(ClientKind::Normal, usize::MAX), None);
        assert_eq!(limits.hard(ClientKind::Subscriber), 9);
        assert_eq!(limits.patience(ClientKind::Subscriber, 7), None);
        assert_eq!(limits.patience(ClientKind::Subscriber, 8), Some(Duration::ZERO));
    }
}
