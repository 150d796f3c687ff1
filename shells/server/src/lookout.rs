//! Waiting for events: a worker that expects the next ones at once asks for them again and again before it sleeps.
//!
//! A thread that sleeps must be woken, and who wakes it pays: the client's send, on the same machine, or the kernel's
//! network thread. Where requests follow each other within some tens of microseconds, that costs more than they do.
//! How long a worker stays awake adapts, as the polling of halted virtual processors does in KVM: longer when a sleep
//! has turned out to be short, and not at all when it was long. Between two questions it yields, so that it takes no
//! time from threads that have something to do.

use mio::{Events, Poll};
use std::io;
use std::time::{Duration, Instant};

/// The longest time without events that a worker stays awake for.
const MOST: Duration = Duration::from_micros(50);

/// Where it begins.
const LEAST: Duration = Duration::from_micros(10);

/// How long a worker stays awake without events.
#[derive(Default)]
pub(crate) struct Lookout {
    patience: Duration,
}

impl Lookout {
    /// Waits as [`Poll::poll`] does.
    pub(crate) fn wait(&mut self, poll: &mut Poll, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            return poll.poll(events, timeout);
        }
        let begun = Instant::now();
        let patience = timeout.map_or(self.patience, |timeout| timeout.min(self.patience));
        while begun.elapsed() < patience {
            poll.poll(events, Some(Duration::ZERO))?;
            if !events.is_empty() {
                return Ok(());
            }
            std::thread::yield_now();
        }
        poll.poll(events, timeout)?;
        self.patience = self.patience_after(begun.elapsed());
        Ok(())
    }

    /// Returns how long to stay awake the next time, after events came this long after the wait began.
    fn patience_after(&self, waited: Duration) -> Duration {
        match waited <= MOST {
            true => (self.patience * 2).clamp(LEAST, MOST),
            false if self.patience > LEAST => self.patience / 2,
            false => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(waits: &[u64]) -> Duration {
        let mut lookout = Lookout::default();
        for micros in waits {
            lookout.patience = lookout.patience_after(Duration::from_micros(*micros));
        }
        lookout.patience
    }

    #[test]
    fn short_waits_keep_a_worker_awake_and_long_ones_let_it_sleep() {
        assert_eq!(after(&[]), Duration::ZERO);
        assert_eq!(after(&[1]), LEAST);
        assert_eq!(after(&[1, 1]), 2 * LEAST);
        assert_eq!(after(&[1, 49, 1, 50, 1]), MOST);
        assert_eq!(after(&[1, 1, 1, 1, 51]), MOST / 2);
        assert_eq!(after(&[1, 1, 1, 1, 9_000, 9_000, 9_000, 9_000]), Duration::ZERO);
    }

    #[test]
    fn a_worker_that_is_awake_sees_events_and_the_end_of_its_time() {
        let mut poll = Poll::new().expect("a poll");
        let waker = mio::Waker::new(poll.registry(), mio::Token(7)).expect("a waker");
        let mut events = Events::with_capacity(4);
        let mut lookout = Lookout { patience: MOST };
        waker.wake().expect("a wake-up");
        lookout.wait(&mut poll, &mut events, None).expect("an event");
        assert_eq!(events.iter().map(|event| event.token()).collect::<Vec<_>>(), [mio::Token(7)]);
        lookout.wait(&mut poll, &mut events, Some(Duration::from_millis(2))).expect("the end of the time");
        assert!(events.is_empty());
        assert_eq!(lookout.patience, MOST / 2, "that sleep was long");
    }
}
