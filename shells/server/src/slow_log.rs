//! The commands that took longest.

use crate::clients::Client;
use holm_commands::{Arguments, Reply};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most arguments, and the most bytes of each, that are kept.
const MOST_ARGUMENTS: usize = 32;
const MOST_BYTES: usize = 128;

/// The parameters of CONFIG SET whose values are passwords.
const SECRET_PARAMETERS: &[&str] = &["masterauth", "masteruser", "requirepass", "tls-key-file-pass"];

/// A command that took long.
#[derive(Clone, Debug)]
pub(crate) struct SlowCommand {
    pub(crate) id: u64,
    /// The connection, and the number of the request on it: the same as in the log.
    pub(crate) request: String,
    pub(crate) seconds: u64,
    pub(crate) micros: u64,
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) address: String,
    pub(crate) name: Vec<u8>,
}

/// Returns whether a word of a command may be a password, or tell one's hash.
fn is_secret(arguments: &Arguments<'_>, index: usize) -> bool {
    let follows = |option: &str, distance: usize| index > distance && arguments.is(index - distance, option);
    if arguments.is(0, "acl") {
        return index >= 2 && arguments.is(1, "setuser");
    }
    if arguments.is(0, "hello") {
        return follows("auth", 1) || follows("auth", 2);
    }
    let of_pair = index >= 3 && index % 2 == 1 && SECRET_PARAMETERS.iter().any(|name| arguments.is(index - 1, name));
    arguments.is(0, "config") && arguments.is(1, "set") && of_pair
}

struct Kept {
    commands: VecDeque<SlowCommand>,
    next: u64,
    most: usize,
}

/// Slow commands, the latest first.
pub(crate) struct SlowLog {
    kept: Mutex<Kept>,
    /// Since the start, those among them that are not kept.
    total: AtomicU64,
}

impl SlowLog {
    pub(crate) fn new(most: usize) -> Self {
        SlowLog { kept: Mutex::new(Kept { commands: VecDeque::new(), next: 0, most }), total: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_most(&self, most: usize) {
        let mut kept = self.lock();
        kept.most = most;
        kept.commands.truncate(most);
    }

    pub(crate) fn most(&self) -> usize {
        self.lock().most
    }

    /// Keeps a command. Passwords are left out.
    pub(crate) fn add(&self, arguments: &Arguments<'_>, micros: u64, client: &Client, request: u64) {
        self.total.fetch_add(1, Ordering::Relaxed);
        let details = client.details().clone();
        let request = format!("{}-{request}", client.place.id);
        let command = arguments[0][..arguments[0].len().min(MOST_BYTES)].escape_ascii();
        tracing::info!(request, %command, micros, user = %details.user().escape_ascii(), "slow command");
        if arguments.is(0, "auth") {
            return;
        }
        let shorten = |word: &[u8]| match word.len().checked_sub(MOST_BYTES) {
            None | Some(0) => word.to_vec(),
            Some(more) => [&word[..MOST_BYTES], format!("... ({more} more bytes)").as_bytes()].concat(),
        };
        let shown = |(index, word)| if is_secret(arguments, index) { b"(redacted)".to_vec() } else { shorten(word) };
        let mut words: Vec<_> = arguments.from(0).take(MOST_ARGUMENTS).enumerate().map(shown).collect();
        if arguments.len() > MOST_ARGUMENTS {
            let more = arguments.len() - MOST_ARGUMENTS + 1;
            words[MOST_ARGUMENTS - 1] = format!("... ({more} more arguments)").into_bytes();
        }
        let mut kept = self.lock();
        let id = kept.next;
        kept.next += 1;
        let seconds = crate::shared::now_millis() / 1_000;
        let (address, name) = (client.address.clone(), details.name);
        kept.commands.push_front(SlowCommand { id, request, seconds, micros, arguments: words, address, name });
        let most = kept.most;
        kept.commands.truncate(most);
    }

    /// Returns the number of slow commands since the start.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    pub(crate) fn all(&self) -> Vec<SlowCommand> {
        self.lock().commands.iter().cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().commands.len()
    }

    pub(crate) fn clear(&self) {
        self.lock().commands.clear();
    }

    /// Returns the latest commands.
    pub(crate) fn latest(&self, count: usize) -> Reply {
        let kept = self.lock();
        let line = |command: &SlowCommand| {
            Reply::Array(vec![
                Reply::Integer(command.id as i64),
                Reply::Integer(command.seconds as i64),
                Reply::Integer(command.micros as i64),
                Reply::bulks(command.arguments.iter().cloned()),
                Reply::bulk(command.address.as_bytes()),
                Reply::bulk(command.name.clone()),
            ])
        };
        Reply::Array(kept.commands.iter().take(count).map(line).collect())
    }
}
