//! Events about keys: the messages that subscribers of keyspace notifications get.
//!
//! Commands replace records in one place, and the name of the running command says which event that is. Those that do
//! different things with several keys state the event before they do each.

use crate::context::{Context, Signal};
use crate::entry::Entry;
use crate::expiring::Expiring;
use crate::lookups::Lookups;
use crate::record::{Kind, NewRecord};
use std::sync::atomic::{AtomicU32, Ordering};

/// A class of events, or a kind of channels, by the letter that asks for it. The letter `A` asks for the classes that
/// are marked.
const LETTERS: &[(u8, u32, bool)] = &[
    (b'g', GENERIC, true),
    (b'$', 1 << 3, true),
    (b'l', 1 << 4, true),
    (b's', 1 << 5, true),
    (b'h', 1 << 6, true),
    (b'z', 1 << 7, true),
    (b'x', EXPIRED, true),
    (b'e', 1 << 9, true),
    (b't', 1 << 10, true),
    (b'd', 1 << 11, true),
    (b'n', NEW, false),
    (b'K', BY_KEY, false),
    (b'E', BY_EVENT, false),
    (b'm', 1 << 12, false),
];

const BY_KEY: u32 = 1;
const BY_EVENT: u32 = 1 << 1;
const GENERIC: u32 = 1 << 2;
const EXPIRED: u32 = 1 << 8;
const NEW: u32 = 1 << 13;
/// Not a class: each key that changes is noted by its name.
const CHANGES: u32 = 1 << 31;

fn class_of(kind: Kind) -> u32 {
    match kind {
        Kind::String => 1 << 3,
        Kind::List => 1 << 4,
        Kind::Set => 1 << 5,
        Kind::Hash => 1 << 6,
        Kind::SortedSet => 1 << 7,
    }
}

fn all() -> u32 {
    LETTERS.iter().filter(|(_, _, is_among_all)| *is_among_all).map(|(_, flag, _)| flag).sum()
}

/// Which events subscribers get messages of: none, until an operator asks for some.
#[derive(Debug, Default)]
pub struct Notifications(AtomicU32);

impl Notifications {
    /// Reads letters, as the parameter `notify-keyspace-events` has them. Returns whether each is one.
    pub fn set(&self, letters: &[u8]) -> bool {
        let flag = |letter: &u8| match letter {
            b'A' => Some(all()),
            letter => LETTERS.iter().find(|(known, ..)| known == letter).map(|(_, flag, _)| *flag),
        };
        let flags = letters.iter().try_fold(0, |flags, letter| Some(flags | flag(letter)?));
        if let Some(flags) = flags {
            // It does not fail: the closure always has a value.
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(old & CHANGES | flags));
        }
        flags.is_some()
    }

    /// States whether the keys that change are noted. A command that has begun may not notice it.
    pub fn note_changes(&self, are_noted: bool) {
        match are_noted {
            true => self.0.fetch_or(CHANGES, Ordering::SeqCst),
            false => self.0.fetch_and(!CHANGES, Ordering::SeqCst),
        };
    }

    /// Returns whether the keys that change are noted.
    pub fn notes_changes(&self) -> bool {
        self.0.load(Ordering::Relaxed) & CHANGES != 0
    }

    /// Returns the letters, in one order, and `A` in place of those that it stands for.
    pub fn letters(&self) -> String {
        let flags = self.0.load(Ordering::Relaxed);
        let has_all = flags & all() == all();
        let own = LETTERS.iter().filter(|(_, flag, is_among_all)| flags & flag != 0 && !(has_all && *is_among_all));
        has_all.then_some('A').into_iter().chain(own.map(|(letter, ..)| char::from(*letter))).collect()
    }

    /// Returns the classes that are asked for, if there is a channel for them.
    pub(crate) fn classes(&self) -> u32 {
        let flags = self.0.load(Ordering::Relaxed);
        if flags & (BY_KEY | BY_EVENT) == 0 { flags & CHANGES } else { flags & !(BY_KEY | BY_EVENT) }
    }

    /// Returns the channels and messages of an event.
    pub fn messages(&self, event: &Event) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        let flags = self.0.load(Ordering::Relaxed);
        let Event { database, name, key } = event;
        let channel = |kind: &str, of: &[u8]| [format!("__{kind}@{database}__:").as_bytes(), of].concat();
        let by_key = (flags & BY_KEY != 0).then(|| (channel("keyspace", key), name.as_bytes().to_vec()));
        let by_event = (flags & BY_EVENT != 0).then(|| (channel("keyevent", name.as_bytes()), key.clone()));
        by_key.into_iter().chain(by_event)
    }
}

/// Something has happened to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The number of the database.
    pub database: u32,
    /// What has happened, such as `set` or `expired`.
    pub name: &'static str,
    /// The key.
    pub key: Vec<u8>,
}

/// What others may want to know of a command that was carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Keys to which elements have come that clients may wait for.
    pub signals: Vec<Signal>,
    /// What has happened to keys, in its order.
    pub events: Vec<Event>,
    /// The keys that have changed, of any database, if [`Notifications::note_changes`] asks for them. One may be there
    /// several times.
    pub changed: Vec<Vec<u8>>,
    /// How often keys were found.
    pub lookups: Lookups,
    /// By how much it changes how many keys of which databases expire.
    pub(crate) expiring: Vec<(u32, Expiring)>,
}

/// Returns the event of a command that gives a key a value.
fn event_of(command: &'static str) -> &'static str {
    match command {
        "setex" | "psetex" | "setnx" | "getset" | "mset" | "msetnx" | "bitop" => "set",
        "incr" | "decr" | "decrby" => "incrby",
        "hmset" | "hsetnx" => "hset",
        "lpushx" => "lpush",
        "rpushx" => "rpush",
        "pexpire" | "expireat" | "pexpireat" => "expire",
        "bitfield" => "setbit",
        "pfmerge" => "pfadd",
        "geoadd" => "zadd",
        "zincrby" => "zincr",
        "sort" => "sortstore",
        "georadius" | "georadiusbymember" => "georadiusstore",
        other => other,
    }
}

/// Returns whether an event is about elements that were removed, so that it comes before the one about the key.
fn takes_elements(event: &str) -> bool {
    matches!(event, "lpop" | "rpop" | "lrem" | "ltrim" | "hdel" | "zpopmin" | "zpopmax")
        || ["srem", "spop", "zrem"].iter().any(|prefix| event.starts_with(prefix))
}

impl Context<'_> {
    /// Notes an event of the class of a kind; of no class in particular without one.
    pub(crate) fn note_event(&self, database: u32, kind: Option<Kind>, name: &'static str, key: &[u8]) {
        let class = match (kind, name) {
            (_, "expired") => EXPIRED,
            (_, "new") => NEW,
            (Some(kind), _) => class_of(kind),
            (None, _) => GENERIC,
        };
        if self.wanted_events & class != 0 {
            self.effects.borrow_mut().events.push(Event { database, name, key: key.to_vec() });
        }
    }

    /// Notes that what a key has changes.
    pub(crate) fn note_changed(&self, key: &[u8]) {
        if self.wanted_events & CHANGES != 0 {
            let changed = &mut self.effects.borrow_mut().changed;
            if changed.last().is_none_or(|last| last != key) {
                changed.push(key.to_vec());
            }
        }
    }

    /// Notes what the running command does with a key, right before it does.
    pub(crate) fn note_change(&self, entry: &Entry<'_>, new: Option<&NewRecord<'_>>) {
        let stated = self.event.take();
        if self.wanted_events == 0 {
            return;
        }
        if entry.is_stored() || new.is_some() {
            self.note_changed(&entry.key);
        }
        if self.is_quiet.get() {
            // Redis removes what the key has had, and adds it.
            if new.is_some() {
                self.note_event(entry.database, None, "new", &entry.key);
            }
            return;
        }
        let name = stated.unwrap_or_else(|| event_of(self.command.get()));
        let note = |kind, name| self.note_event(entry.database, kind, name, &entry.key);
        match (entry.live(), new) {
            (old, Some(new)) => {
                if old.is_none() {
                    note(None, "new");
                }
                let expiry_is_new = new.expiry.is_some() && new.expiry != entry.expiry();
                match name {
                    "getex" => note(None, if new.expiry.is_some() { "expire" } else { "persist" }),
                    "expire" | "persist" | "restore" => note(None, name),
                    _ => {
                        note(Some(new.kind), name);
                        if name == "set" && expiry_is_new {
                            note(None, "expire");
                        }
                    }
                }
            }
            (Some(old), None) => {
                if takes_elements(name) {
                    note(Some(old.kind), name);
                }
                note(None, "del");
            }
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_read_back_in_one_order() {
        let notifications = Notifications::default();
        for (given, shown) in [
            ("", ""),
            ("KEA", "AKE"),
            ("gKE", "gKE"),
            ("$lshzxeKE", "$lshzxeKE"),
            ("KA", "AK"),
            ("EA", "AE"),
            ("nE", "nE"),
            ("EKg$lshzxetdmn", "AnKEm"),
        ] {
            assert!(notifications.set(given.as_bytes()));
            assert_eq!(notifications.letters(), shown, "{given}");
        }
        assert!(!notifications.set(b"KEQ"));
        assert_eq!(notifications.letters(), "AnKEm");
    }

    #[test]
    fn nothing_is_noted_without_a_channel() {
        let notifications = Notifications::default();
        notifications.set(b"g$");
        assert_eq!(notifications.classes(), 0);
        notifications.set(b"g$K");
        assert_ne!(notifications.classes(), 0);
    }
}
