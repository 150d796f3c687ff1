//! The commands that a node's front answers itself, beside those about keys, and what COMMAND says of all of them.

use crate::subcommands;
use holm_commands::{
    ADMIN, Arguments, CONNECTION, Command, FAST, FLAG_NAMES, Group, Keys, NO_AUTH, READ, Reply, TABLE, WRITE,
    container, help, of, wrong_words,
};

const NONE: Keys = Keys::None;
/// What clients may use that have not said who they are.
const OPEN: u32 = FAST | NO_AUTH | CONNECTION;
const HERE: u32 = FAST | CONNECTION;

#[rustfmt::skip]
const OF_CONNECTIONS: &[Command<()>] = &[
    of("hello", -1, OPEN, NONE, (), "Says which protocol the client speaks: AUTH, SETNAME"),
    of("auth", -2, OPEN, NONE, (), "Says who the client is"),
    of("quit", -1, OPEN, NONE, (), "Ends the connection"),
    of("reset", 1, OPEN, NONE, (), "Makes the connection as it was at first"),
    of("ping", -1, HERE, NONE, (), "Answers PONG, or what was said"),
    of("echo", 2, HERE, NONE, (), "Answers what was said"),
    of("select", 2, HERE, NONE, (), "Accepts database 0, the only one"),
    container(of("client", -2, HERE, NONE, (), "ID, GETNAME, SETNAME, SETINFO, INFO, LIST, NO-EVICT, NO-TOUCH, HELP"),
        subcommands::CLIENT),
    of("readonly", 1, HERE, NONE, (), "Lets reads of this connection be answered by any replica"),
    of("readwrite", 1, HERE, NONE, (), "Takes READONLY back"),
    of("asking", 1, HERE, NONE, (), "Accepted; no slot is ever asked for elsewhere"),
];

#[rustfmt::skip]
const OF_TRANSACTIONS: &[Command<()>] = &[
    of("multi", 1, HERE, NONE, (), "Begins a transaction within one slot"),
    of("exec", 1, HERE, NONE, (), "Carries the transaction out, at one instant"),
    of("discard", 1, HERE, NONE, (), "Gives the transaction up"),
    of("watch", -2, HERE, Keys::Span(1, -1, 1), (), "Lets EXEC fail if a key changes before it"),
    of("unwatch", 1, HERE, NONE, (), "Takes WATCH back"),
];

#[rustfmt::skip]
const OF_THE_CLUSTER: &[Command<()>] = &[
    container(of("acl", -2, CONNECTION, NONE, (),
        "CAT, DELUSER, DRYRUN, GENPASS, GETUSER, HELP, LIST, LOG, SETUSER, USERS, WHOAMI: users of the whole cluster"),
        subcommands::ACL),
    container(of("command", -1, 0, NONE, (), "Describes commands: COUNT, LIST, INFO, DOCS, GETKEYS, HELP"),
        subcommands::COMMAND),
    container(of("cluster", -2, 0, NONE, (),
        "INFO, MYID, SLOTS, SHARDS, NODES, KEYSLOT, COUNTKEYSINSLOT, GETKEYSINSLOT, HELP"), subcommands::CLUSTER),
    of("info", -1, 0, NONE, (), "Describes the node and its groups"),
    container(of("config", -2, ADMIN, NONE, (), "GET, SET, HELP: parameters of the node"), subcommands::CONFIG),
    of("time", 1, FAST, NONE, (), "Returns the time of the node"),
    of("wait", 3, CONNECTION, NONE, (), "Answers at once: a write is acknowledged when most replicas have it"),
    of("flushall", -1, WRITE, NONE, (), "Removes all keys, one group after the other"),
    of("flushdb", -1, WRITE, NONE, (), "As FLUSHALL"),
    of("holm.hash", 2, READ, NONE, (), "Returns a group's last entry and the hash of its changes, for comparisons"),
    of("holm.cluster", -2, ADMIN, NONE, (), "For nodes and operators: where the groups are, and changes of that"),
    of("holm.leader", 2, ADMIN, NONE, (), "Asks a group's leader to hand the lead to this node"),
];

/// The commands about connections, transactions and the cluster, by family.
pub const FRONT: &[Group<()>] = &[
    Group { title: "connection", commands: OF_CONNECTIONS },
    Group { title: "transactions", commands: OF_TRANSACTIONS },
    Group { title: "cluster", commands: OF_THE_CLUSTER },
];

fn all() -> Vec<(&'static str, Command<()>)> {
    let data = TABLE.iter().flat_map(|Group { title, commands }| commands.iter().map(|one| (*title, one.about())));
    let front = FRONT.iter().flat_map(|Group { title, commands }| commands.iter().map(|one| (*title, one.about())));
    data.chain(front).collect()
}

fn line(command: &Command<()>) -> Reply {
    let (first, last, step) = match command.keys {
        Keys::Span(first, last, step) => (first, last, step),
        Keys::TargetAndCounted(_) | Keys::OneAndStore => (1, 1, 1),
        Keys::None | Keys::Counted(_) => (0, 0, 0),
    };
    let movable = (!matches!(command.keys, Keys::None | Keys::Span(..))).then_some("movablekeys");
    let flags = FLAG_NAMES.iter().filter(|(flag, _)| command.flags & flag != 0).map(|(_, name)| *name);
    let empty = || Reply::Array(Vec::new());
    Reply::Array(vec![
        Reply::fixed(command.name),
        Reply::Integer(i64::from(command.arity)),
        Reply::Set(flags.chain(movable).map(|name| Reply::Status(name.into())).collect()),
        Reply::Integer(i64::from(first)),
        Reply::Integer(i64::from(last)),
        Reply::Integer(i64::from(step)),
        Reply::Set(Vec::new()),
        empty(),
        empty(),
        empty(),
    ])
}

fn document((title, command): &(&'static str, Command<()>)) -> (Reply, Reply) {
    let details = vec![
        (Reply::fixed("summary"), Reply::fixed(command.summary)),
        (Reply::fixed("since"), Reply::fixed("1.0.0")),
        (Reply::fixed("group"), Reply::fixed(title)),
    ];
    (Reply::fixed(command.name), Reply::Map(details))
}

/// Answers COMMAND, and HELP of the commands that have subcommands.
pub fn describe(arguments: &Arguments<'_>) -> Reply {
    let all = all();
    let find = |name: &[u8]| all.iter().find(|(_, command)| command.name.as_bytes().eq_ignore_ascii_case(name));
    if let Some((_, command)) = find(arguments.at(0)).filter(|_| arguments.is(1, "help")) {
        return help(command.name, command.subcommands);
    }
    let lines = || Reply::Array(all.iter().map(|(_, command)| line(command)).collect());
    match (&arguments.at(1).to_ascii_lowercase()[..], arguments.len()) {
        (_, 1) | (b"info", 2) => lines(),
        (b"count", 2) => Reply::count(all.len()),
        (b"list", _) => Reply::bulks(all.iter().map(|(_, command)| command.name)),
        (b"info", _) => {
            let found = arguments.from(2).map(|name| find(name).map_or(Reply::NullArray, |(_, found)| line(found)));
            Reply::Array(found.collect())
        }
        (b"docs", 2) => Reply::Map(all.iter().map(document).collect()),
        (b"docs", _) => Reply::Map(arguments.from(2).filter_map(find).map(document).collect()),
        (b"getkeys", 3..) => match find(&arguments[2]) {
            None => Reply::error("ERR Invalid command specified"),
            Some((_, command)) if !command.accepts(arguments.len() - 2) => {
                Reply::error("ERR Invalid number of arguments specified for command")
            }
            Some((_, Command { keys: Keys::None, .. })) => Reply::error("ERR The command has no key arguments"),
            Some((_, command)) => Reply::bulks(command.keys_of(&arguments.tail(2))),
        },
        _ => Reply::Error(wrong_words("command", arguments).into_text()),
    }
}
