//! The commands and subcommands that users are allowed by name or by category.

use holm_commands::{ADMIN, BLOCKING, Command, FAST, Group, PUBSUB, READ, TABLE, UNSUPPORTED, WRITE};

/// The categories, in the order of their bits.
pub(crate) const CATEGORIES: &[&str] = &[
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

/// The categories of flags.
const OF_FLAGS: &[(u32, &str)] = &[
    (READ, "read"),
    (WRITE, "write"),
    (FAST, "fast"),
    (BLOCKING, "blocking"),
    (ADMIN, "admin dangerous"),
    (PUBSUB, "pubsub"),
];

/// The categories of families.
const OF_GROUPS: &[(&str, &str)] = &[
    ("strings", "string"),
    ("bitmaps", "bitmap"),
    ("keys", "keyspace"),
    ("expiry", "keyspace"),
    ("hashes", "hash"),
    ("sets", "set"),
    ("sorted sets", "sortedset"),
    ("lists", "list"),
    ("counting", "hyperloglog"),
    ("places", "geo"),
    ("ordered keys", "keyspace"),
    ("connection", "connection"),
    ("transactions", "transaction"),
];

/// Further categories of single commands.
const OF_COMMANDS: &[(&str, &str)] = &[
    ("bgsave", "admin dangerous"),
    ("client", "connection"),
    ("command", "connection"),
    ("flushall", "keyspace write dangerous"),
    ("flushdb", "keyspace write dangerous"),
    ("function", "scripting"),
    ("holm.acknowledge", "connection"),
    ("holm.changes", "dangerous read"),
    ("holm.epoch", "connection"),
    ("holm.remove", "dangerous"),
    ("holm.snapshot", "connection"),
    ("info", "dangerous"),
    ("keys", "dangerous"),
    ("lastsave", "admin dangerous"),
    ("restore", "dangerous"),
    ("sort", "set sortedset list dangerous"),
    ("sort_ro", "set sortedset list dangerous"),
    ("swapdb", "keyspace write dangerous"),
    ("wait", "blocking"),
    ("waitaof", "blocking"),
];

/// The categories of commands that are absent, by what the reason ends with.
const OF_REASONS: &[(&str, &str)] = &[
    ("scripts", "scripting"),
    ("functions", "scripting"),
    ("streams", "stream"),
    ("modules", "admin dangerous"),
    ("node", "admin dangerous"),
    ("clients", "admin dangerous"),
];

/// Subcommands by command, with their categories. A command that is absent here has none: a word after its name is an
/// argument.
const SUBCOMMANDS: &[(&str, &[&str], &str)] = &[
    ("acl", &["acl|cat", "acl|genpass", "acl|help", "acl|whoami"], ""),
    (
        "acl",
        &[
            "acl|deluser",
            "acl|dryrun",
            "acl|getuser",
            "acl|list",
            "acl|load",
            "acl|log",
            "acl|save",
            "acl|setuser",
            "acl|users",
        ],
        "admin dangerous",
    ),
    (
        "client",
        &[
            "client|caching",
            "client|getname",
            "client|getredir",
            "client|help",
            "client|id",
            "client|info",
            "client|reply",
            "client|setinfo",
            "client|setname",
            "client|tracking",
            "client|trackinginfo",
        ],
        "connection",
    ),
    (
        "client",
        &[
            "client|kill",
            "client|list",
            "client|no-evict",
            "client|no-touch",
            "client|pause",
            "client|unblock",
            "client|unpause",
        ],
        "admin connection dangerous",
    ),
    (
        "cluster",
        &[
            "cluster|countkeysinslot",
            "cluster|getkeysinslot",
            "cluster|help",
            "cluster|info",
            "cluster|keyslot",
            "cluster|links",
            "cluster|myid",
            "cluster|myshardid",
            "cluster|nodes",
            "cluster|shards",
            "cluster|slots",
        ],
        "",
    ),
    (
        "cluster",
        &[
            "cluster|addslots",
            "cluster|addslotsrange",
            "cluster|bumpepoch",
            "cluster|count-failure-reports",
            "cluster|delslots",
            "cluster|delslotsrange",
            "cluster|failover",
            "cluster|flushslots",
            "cluster|forget",
            "cluster|meet",
            "cluster|replicas",
            "cluster|replicate",
            "cluster|reset",
            "cluster|saveconfig",
            "cluster|set-config-epoch",
            "cluster|setslot",
            "cluster|slaves",
        ],
        "admin dangerous",
    ),
    (
        "command",
        &[
            "command|count",
            "command|docs",
            "command|getkeys",
            "command|getkeysandflags",
            "command|help",
            "command|info",
            "command|list",
        ],
        "connection",
    ),
    ("config", &["config|get", "config|resetstat", "config|rewrite", "config|set"], "admin dangerous"),
    ("config", &["config|help"], ""),
    ("function", &["function|delete", "function|flush", "function|load", "function|restore"], "scripting write"),
    ("function", &["function|dump", "function|help", "function|kill", "function|list", "function|stats"], "scripting"),
    (
        "latency",
        &["latency|doctor", "latency|graph", "latency|histogram", "latency|history", "latency|latest", "latency|reset"],
        "admin dangerous",
    ),
    ("latency", &["latency|help"], ""),
    ("memory", &["memory|doctor", "memory|help", "memory|malloc-stats", "memory|purge", "memory|stats"], ""),
    ("memory", &["memory|usage"], "read"),
    ("object", &["object|encoding", "object|freq", "object|idletime", "object|refcount"], "keyspace read"),
    ("object", &["object|help"], "keyspace"),
    (
        "pubsub",
        &["pubsub|channels", "pubsub|numpat", "pubsub|numsub", "pubsub|shardchannels", "pubsub|shardnumsub"],
        "pubsub",
    ),
    ("pubsub", &["pubsub|help"], ""),
    ("slowlog", &["slowlog|get", "slowlog|len", "slowlog|reset"], "admin dangerous"),
    ("slowlog", &["slowlog|help"], ""),
];

/// A command, or a subcommand.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The name; that of a subcommand has the command's before it, and a bar between them.
    pub(crate) name: &'static str,
    categories: u32,
    /// Its words are allowed one by one.
    pub(crate) has_subcommands: bool,
}

/// All commands and subcommands that rules may name, with their categories.
#[derive(Debug)]
pub struct Catalog {
    entries: Vec<Entry>,
}

/// Returns the number of a category.
pub(crate) fn category(name: &str) -> Option<usize> {
    CATEGORIES.iter().position(|category| category.eq_ignore_ascii_case(name))
}

/// Returns the bits of categories.
fn bits_of(names: &str) -> u32 {
    names.split_whitespace().filter_map(category).fold(0, |bits, category| bits | 1 << category)
}

/// Returns the bits, with `slow` unless there is `fast`.
fn with_speed(bits: u32) -> u32 {
    if bits & bits_of("fast") == 0 { bits | bits_of("slow") } else { bits }
}

fn categories(group: &str, command: &Command<()>) -> u32 {
    let of_flags = OF_FLAGS.iter().filter(|(flag, _)| command.flags & flag != 0).map(|(_, names)| *names);
    let of_group = OF_GROUPS.iter().filter(|(title, _)| *title == group).map(|(_, names)| *names);
    let of_command = OF_COMMANDS.iter().filter(|(name, _)| *name == command.name).map(|(_, names)| *names);
    with_speed(of_flags.chain(of_group).chain(of_command).map(bits_of).fold(0, |all, bits| all | bits))
}

fn of_groups<F: Copy>(groups: &[Group<F>]) -> impl Iterator<Item = (&'static str, Command<()>)> {
    groups.iter().flat_map(|group| group.commands.iter().map(|command| (group.title, command.about())))
}

impl Catalog {
    /// Returns the commands about keys, and those of a server, by family.
    pub fn new<F: Copy>(own: &[Group<F>]) -> Self {
        let mut entries = Vec::new();
        for (group, command) in of_groups(TABLE).chain(of_groups(own)) {
            let subcommands = SUBCOMMANDS.iter().filter(|(of, ..)| *of == command.name);
            let before = entries.len();
            for (_, names, categories) in subcommands {
                let categories = with_speed(bits_of(categories));
                entries.extend(names.iter().map(|name| Entry { name, categories, has_subcommands: false }));
            }
            let has_subcommands = entries.len() > before;
            let categories = categories(group, &command);
            entries.push(Entry { name: command.name, categories, has_subcommands });
        }
        // Rules that were written for other servers name these, too.
        let is_absent = |name: &str| entries.iter().all(|entry: &Entry| entry.name != name);
        let absent: Vec<_> = UNSUPPORTED.iter().filter(|(name, _)| is_absent(name)).collect();
        entries.extend(absent.into_iter().map(|(name, reason)| {
            let categories = OF_REASONS.iter().filter(|(word, _)| reason.ends_with(word)).map(|(_, names)| *names);
            let categories = with_speed(categories.map(bits_of).fold(0, |all, bits| all | bits));
            Entry { name, categories, has_subcommands: false }
        }));
        entries.sort_by_key(|entry| entry.name);
        Catalog { entries }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entry(&self, number: usize) -> &Entry {
        &self.entries[number]
    }

    /// Returns the number of a command or subcommand.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let lower = name.to_ascii_lowercase();
        self.entries.binary_search_by(|entry| entry.name.cmp(&lower)).ok()
    }

    /// Returns the number of what a command line calls: that of the subcommand if there is one.
    pub(crate) fn called(&self, name: &str, first: Option<&[u8]>) -> Option<usize> {
        let command = self.find(name)?;
        let first = first.filter(|_| self.entries[command].has_subcommands);
        let first = first.and_then(|first| std::str::from_utf8(first).ok());
        first.and_then(|first| self.find(&format!("{name}|{first}"))).or(Some(command))
    }

    /// Returns the full name of what a command line calls.
    pub fn name_of(&self, name: &'static str, first: Option<&[u8]>) -> &'static str {
        self.called(name, first).map_or(name, |number| self.entries[number].name)
    }

    /// Iterates over a command and its subcommands, or over a subcommand alone.
    pub(crate) fn family(&self, number: usize) -> impl Iterator<Item = usize> {
        let name = self.entries[number].name;
        let is_of = move |entry: &Entry| entry.name.split('|').next() == Some(name);
        let others = (0..self.entries.len()).filter(move |other| is_of(&self.entries[*other]));
        std::iter::once(number).chain(others.filter(move |other| *other != number))
    }

    /// Iterates over the members of a category.
    pub(crate) fn members(&self, category: usize) -> impl Iterator<Item = usize> {
        (0..self.entries.len()).filter(move |number| self.entries[*number].categories & 1 << category != 0)
    }

    /// Returns the names of a command's categories.
    pub fn categories_of(&self, name: &str) -> Vec<&'static str> {
        let bits = self.find(name).map_or(0, |number| self.entries[number].categories);
        let names = CATEGORIES.iter().enumerate().filter(|(number, _)| bits & 1 << number != 0);
        names.map(|(_, name)| *name).collect()
    }
}
