//! The messages of a child that runs transactions. A message is a number of words and the words, little-endian. The
//! process may die within one: then the message was not sent, and what it announces has not begun.

use crate::cycles::{Lists, Outcome, Step, Transaction};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Message {
    /// The database is open.
    Opened,
    /// What had returned before this instant survives the loss of power.
    Durable { instant: u64 },
    /// A transaction is about to take effect (its outcome is unknown), or has ended.
    Transaction { thread: u64, transaction: Transaction },
}

/// The child's end of the pipe, which its threads share.
pub(super) struct Pipe(Mutex<File>);

impl Pipe {
    pub(super) fn standard_output() -> io::Result<Self> {
        Ok(Pipe(Mutex::new(File::options().write(true).open("/proc/self/fd/1")?)))
    }

    pub(super) fn send(&self, message: &Message) -> io::Result<()> {
        let bytes = message.encode();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&bytes)
    }
}

fn push_list(words: &mut Vec<u64>, key: u64, list: &[u64]) {
    words.extend([key, list.len() as u64]);
    words.extend(list);
}

fn push_step(words: &mut Vec<u64>, step: &Step) {
    match step {
        Step::Append { key, element } => words.extend([0, *key, *element]),
        Step::Read { key, list } => {
            words.push(1);
            push_list(words, *key, list);
        }
        Step::Scan { keys, found } => {
            words.extend([2, keys.start, keys.end, found.len() as u64]);
            found.iter().for_each(|(key, list)| push_list(words, *key, list));
        }
    }
}

/// Takes what `push_step` has pushed off the front of some words.
struct Words<'w>(&'w [u64]);

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        self.0.split_off_first().copied()
    }

    fn list(&mut self) -> Option<(u64, Vec<u64>)> {
        let (key, len) = (self.next()?, self.next()?);
        Some((key, self.0.split_off(..len as usize)?.to_vec()))
    }

    fn step(&mut self) -> Option<Step> {
        match self.next()? {
            0 => Some(Step::Append { key: self.next()?, element: self.next()? }),
            1 => self.list().map(|(key, list)| Step::Read { key, list }),
            _ => {
                let (keys, count) = (self.next()?..self.next()?, self.next()?);
                let found: Option<Lists> = (0..count).map(|_| self.list()).collect();
                Some(Step::Scan { keys, found: found? })
            }
        }
    }
}

impl Message {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut words = vec![0];
        match self {
            Message::Opened => words.push(0),
            Message::Durable { instant } => words.extend([1, *instant]),
            Message::Transaction { thread, transaction } => {
                let (kind, ended) = match transaction.outcome {
                    Outcome::Unknown => (0, 0),
                    Outcome::Committed(at) => (1, at),
                    Outcome::Aborted(at) => (2, at),
                };
                words.extend([2, *thread, transaction.began, kind, ended, transaction.label.unwrap_or(0)]);
                transaction.steps.iter().for_each(|step| push_step(&mut words, step));
            }
        }
        words[0] = words.len() as u64 - 1;
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// The next message; `None` at the end of the pipe.
    pub(super) fn receive(from: &mut impl Read) -> Option<Message> {
        let mut len = [0; 8];
        from.read_exact(&mut len).ok()?;
        let mut raw = vec![0; u64::from_le_bytes(len) as usize * 8];
        from.read_exact(&mut raw).ok()?;
        let words: Vec<u64> = raw.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let mut words = Words(&words);
        match words.next()? {
            0 => Some(Message::Opened),
            1 => Some(Message::Durable { instant: words.next()? }),
            _ => {
                let (thread, began, kind, ended) = (words.next()?, words.next()?, words.next()?, words.next()?);
                let outcome =
                    [Outcome::Unknown, Outcome::Committed(ended), Outcome::Aborted(ended)].get(kind as usize).copied();
                let label = words.next().filter(|label| *label > 0);
                let mut steps = Vec::new();
                while !words.0.is_empty() {
                    steps.push(words.step()?);
                }
                Some(Message::Transaction {
                    thread,
                    transaction: Transaction { began, outcome: outcome?, label, steps },
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_pipe() {
        let found = Lists::from([(3, vec![7, 8]), (4, vec![])]);
        let steps = vec![
            Step::Append { key: 1, element: 2 },
            Step::Read { key: 5, list: vec![] },
            Step::Read { key: 5, list: vec![9, 10, 11] },
            Step::Scan { keys: 0..6, found },
        ];
        let transaction = Transaction { began: 12, outcome: Outcome::Aborted(13), label: Some(7), steps };
        let messages =
            [Message::Durable { instant: 14 }, Message::Transaction { thread: 2, transaction }, Message::Opened];
        let bytes: Vec<u8> = messages.iter().flat_map(Message::encode).collect();
        let mut pipe = &bytes[..];
        assert_eq!(std::array::from_fn(|_| Message::receive(&mut pipe).expect("it is whole")), messages);
        assert_eq!(Message::receive(&mut pipe), None);
    }
}
