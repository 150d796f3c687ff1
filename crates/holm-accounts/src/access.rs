//! What commands do to the keys that they name: read, write, or neither.

use holm_commands::{Arguments, Command, Keys, WRITE};

/// What a command does to a key, or what a pattern of a user allows: a sum of [`READS`] and [`WRITES`].
pub(crate) type Access = u8;

/// Replies tell what the key has.
pub(crate) const READS: Access = 1;
/// The key is changed.
pub(crate) const WRITES: Access = 2;
/// Both.
pub(crate) const BOTH: Access = READS | WRITES;

/// Commands that tell no more of a key than whether it is there, of which type and how long.
const PRESENCE: &[&str] = &[
    "exists",
    "hexists",
    "hlen",
    "hstrlen",
    "llen",
    "memory",
    "object",
    "scard",
    "sismember",
    "strlen",
    "touch",
    "type",
    "watch",
    "zcard",
];

/// Commands that change keys and return what they had or have.
const UPDATES: &[&str] = &[
    "blmpop",
    "blpop",
    "brpop",
    "bzmpop",
    "bzpopmax",
    "bzpopmin",
    "decr",
    "decrby",
    "getdel",
    "getex",
    "getset",
    "hincrby",
    "hincrbyfloat",
    "incr",
    "incrby",
    "incrbyfloat",
    "lmpop",
    "lpop",
    "move",
    "rpop",
    "setbit",
    "spop",
    "zincrby",
    "zmpop",
    "zpopmax",
    "zpopmin",
];

/// Commands that take from their first key, and give to the second.
const MOVES: &[&str] = &["blmove", "brpoplpush", "lmove", "renamenx", "rename", "rpoplpush", "smove"];

/// Commands that store in their first key what they find in the others.
const STORES: &[&str] = &["bitop", "geosearchstore", "sdiffstore", "sinterstore", "sunionstore", "zrangestore"];

/// Commands that read any key.
const READ_ALL: &[&str] = &["holm.changes", "holm.count", "holm.range"];

/// Commands that may store in a key that an option names.
const WITH_TARGET: &[&str] = &["georadius", "georadiusbymember", "sort"];

/// What a command does to keys.
pub(crate) struct Uses<'a> {
    /// Each key, in the order of the command.
    pub(crate) keys: Vec<(&'a [u8], Access)>,
    /// What it does to keys that it does not name.
    pub(crate) others: Access,
}

/// Returns what a command does to keys.
pub(crate) fn uses<'a>(command: &Command<()>, arguments: &Arguments<'a>) -> Uses<'a> {
    let name = command.name;
    let keys = command.keys_of(arguments).into_iter().enumerate();
    let mut keys: Vec<_> = keys.map(|(index, key)| (key, access(command, arguments, index))).collect();
    if WITH_TARGET.contains(&name) {
        let is_target = |index: &usize| arguments.is(*index, "store") || arguments.is(*index, "storedist");
        let target = (2..arguments.len()).filter(is_target).filter_map(|index| arguments.get(index + 1)).next_back();
        keys.truncate(1);
        keys.iter_mut().for_each(|(_, access)| *access = READS);
        keys.extend(target.map(|key| (key, WRITES)));
    }
    let others = match name {
        "holm.remove" => WRITES,
        // Nodes and operators read and write by it whatever there is.
        "holm.cluster" => BOTH,
        _ if READ_ALL.contains(&name) => READS,
        _ => 0,
    };
    Uses { keys, others }
}

fn access(command: &Command<()>, arguments: &Arguments<'_>, index: usize) -> Access {
    let has = |from: usize, option: &str| (from..arguments.len()).any(|index| arguments.is(index, option));
    let is_first = index == 0;
    match command.name {
        "set" if has(3, "get") => BOTH,
        "copy" => {
            if is_first {
                READS
            } else {
                WRITES
            }
        }
        "pfmerge" => {
            if is_first {
                BOTH
            } else {
                READS
            }
        }
        "bitfield" if !has(2, "set") && !has(2, "incrby") => READS,
        "bitfield" => BOTH,
        name if PRESENCE.contains(&name) => 0,
        name if UPDATES.contains(&name) => BOTH,
        name if MOVES.contains(&name) => {
            if is_first {
                BOTH
            } else {
                WRITES
            }
        }
        name if STORES.contains(&name) => {
            if is_first {
                WRITES
            } else {
                READS
            }
        }
        _ if matches!(command.keys, Keys::TargetAndCounted(_)) => {
            if is_first {
                WRITES
            } else {
                READS
            }
        }
        _ if command.flags & WRITE != 0 => WRITES,
        _ => READS,
    }
}

/// Returns the option of SORT by which it reads keys that it does not name, if it has one.
pub(crate) fn outside_option(command: &Command<()>, arguments: &Arguments<'_>) -> Option<&'static str> {
    if !matches!(command.name, "sort" | "sort_ro") {
        return None;
    }
    (2..arguments.len().saturating_sub(1)).find_map(|index| match () {
        () if arguments.is(index, "by") && arguments[index + 1].contains(&b'*') => Some("BY"),
        () if arguments.is(index, "get") => Some("GET"),
        () => None,
    })
}
