//! The commands about connections and the server, one file for each family, and the table of all.

mod acl;
mod changes;
mod channels;
mod clients;
mod config;
mod connection;
mod debug;
mod describe;
mod info;
mod kill;
mod latency;
mod memory;
mod ours;
mod rewrite;
mod server;
mod subcommands;
mod tracking;
mod transactions;

pub(crate) use changes::{epoch as changes_message, refusal as feed_refusal, unfollow_all};
pub(crate) use memory::{MEMORY, is_about_server};
pub(crate) use tracking::Mode;

use crate::session::Session;
use crate::shared::Shared;
use holm_commands::{
    ADMIN, ALL, ALONE, Arguments, CONNECTION, Command, FAST, Group, Keys, NO_AUTH, Outcome, PUBSUB, Reply, UNQUEUED,
    container, of,
};

/// A function that carries out a command about a connection or the server.
pub(crate) type OwnFunction = fn(&mut Session, &Shared, &Arguments<'_>) -> Outcome<Reply>;

/// Of any connection, before it has said who it is.
const OPEN: u32 = CONNECTION | FAST | NO_AUTH;
const HELLO: u32 = OPEN | ALONE;
const NOW: u32 = CONNECTION | FAST | UNQUEUED;
const MESSAGES: u32 = PUBSUB | FAST;
const WHOLE: u32 = ADMIN | ALONE;
const NONE: Keys = Keys::None;

#[rustfmt::skip]
const OF_CONNECTIONS: &[Command<OwnFunction>] = &[
    of("ping", -1, CONNECTION | FAST, NONE, connection::ping, "Answers PONG, or what it is given"),
    of("echo", 2, CONNECTION | FAST, NONE, connection::echo, "Answers what it is given"),
    of("hello", -1, HELLO, NONE, connection::hello, "Chooses the protocol: AUTH, SETNAME"),
    of("auth", -2, OPEN, NONE, connection::auth, "Gives the password"),
    of("quit", -1, OPEN | UNQUEUED, NONE, connection::quit, "Ends the connection"),
    of("reset", 1, OPEN | UNQUEUED, NONE, connection::reset, "Begins the session anew"),
    of("select", 2, CONNECTION | FAST, NONE, connection::select, "Selects a database"),
    container(of("client", -2, CONNECTION, NONE, clients::client,
        "ID, GETNAME, SETNAME, SETINFO, INFO, LIST, KILL, UNBLOCK, PAUSE, UNPAUSE, TRACKING, CACHING and others"),
        subcommands::CLIENT),
];

#[rustfmt::skip]
const OF_TRANSACTIONS: &[Command<OwnFunction>] = &[
    of("multi", 1, NOW, NONE, transactions::multi, "Begins to queue commands"),
    of("exec", 1, NOW, NONE, transactions::exec, "Carries out the queued commands at one instant"),
    of("discard", 1, NOW, NONE, transactions::discard, "Forgets the queued commands"),
    of("watch", -2, NOW, ALL, transactions::watch, "Lets EXEC do nothing if keys have changed by then"),
    of("unwatch", 1, CONNECTION | FAST, NONE, transactions::unwatch, "Watches no key any more"),
];

#[rustfmt::skip]
const OF_CHANNELS: &[Command<OwnFunction>] = &[
    of("subscribe", -2, MESSAGES | ALONE, NONE, channels::subscribe, "Subscribes to channels"),
    of("unsubscribe", -1, MESSAGES | ALONE, NONE, channels::unsubscribe, "Ends subscriptions to channels"),
    of("psubscribe", -2, MESSAGES | ALONE, NONE, channels::psubscribe, "Subscribes to patterns of channels"),
    of("punsubscribe", -1, MESSAGES | ALONE, NONE, channels::punsubscribe, "Ends subscriptions to patterns"),
    of("publish", 3, MESSAGES, NONE, channels::publish, "Sends a message to a channel"),
    of("ssubscribe", -2, MESSAGES | ALONE, NONE, channels::ssubscribe, "Subscribes to channels of shards"),
    of("sunsubscribe", -1, MESSAGES | ALONE, NONE, channels::sunsubscribe, "Ends subscriptions to channels of shards"),
    of("spublish", 3, MESSAGES, NONE, channels::spublish, "Sends a message to a channel of a shard"),
    container(of("pubsub", -2, PUBSUB, NONE, channels::pubsub,
        "CHANNELS, NUMSUB, NUMPAT, SHARDCHANNELS, SHARDNUMSUB, HELP"), subcommands::PUBSUB),
];

#[rustfmt::skip]
const OF_THE_SERVER: &[Command<OwnFunction>] = &[
    container(of("acl", -2, CONNECTION, NONE, acl::acl,
        "CAT, DELUSER, DRYRUN, GENPASS, GETUSER, HELP, LIST, LOAD, LOG, SAVE, SETUSER, USERS, WHOAMI"),
        subcommands::ACL),
    of("info", -1, CONNECTION, NONE, info::info, "Returns what the server knows of itself, by sections"),
    container(of("config", -2, ADMIN, NONE, config::config, "GET, SET, RESETSTAT, REWRITE, HELP"),
        subcommands::CONFIG),
    container(of("command", -1, CONNECTION, NONE, describe::command,
        "COUNT, LIST, INFO, DOCS, GETKEYS, GETKEYSANDFLAGS, HELP"), subcommands::COMMAND),
    of("time", 1, FAST, NONE, server::time, "Returns the time of the day"),
    of("flushdb", -1, WHOLE, NONE, server::flushdb, "Removes all keys of a database at one instant"),
    of("flushall", -1, WHOLE, NONE, server::flushall, "Removes all keys of all databases at one instant"),
    of("swapdb", 3, WHOLE, NONE, server::swapdb, "Lets two databases change places"),
    container(of("slowlog", -2, ADMIN, NONE, server::slowlog, "GET, LEN, RESET, HELP"), subcommands::SLOWLOG),
    container(of("latency", -2, ADMIN, NONE, latency::latency,
        "DOCTOR, GRAPH, HISTOGRAM, HISTORY, LATEST, RESET, HELP"), subcommands::LATENCY),
    of("wait", 3, CONNECTION, NONE, server::wait, "Answers 0: there are no replicas"),
    of("waitaof", 4, CONNECTION, NONE, server::waitaof, "Answers once all that was written survives a power cut"),
    of("lastsave", 1, FAST, NONE, server::lastsave, "Returns the time: what is written is saved"),
    of("save", 1, WHOLE, NONE, server::save, "Syncs what is written"),
    of("bgsave", -1, ADMIN, NONE, server::save, "Syncs what is written"),
    of("bgrewriteaof", 1, ADMIN, NONE, server::save, "Syncs what is written: the log rewrites itself"),
    of("role", 1, FAST, NONE, server::role, "Answers that the server is a master without replicas"),
    of("debug", -2, ADMIN, NONE, debug::debug, "SLEEP, RELOAD, PROTOCOL and others: for tests"),
    of("function", -2, ADMIN, NONE, server::function, "FLUSH, LIST: there are no functions"),
    of("shutdown", -1, WHOLE, NONE, server::shutdown, "Stops the server as SIGTERM does"),
];

#[rustfmt::skip]
const OURS: &[Command<OwnFunction>] = &[
    of("holm.acknowledge", -1, CONNECTION, NONE, ours::acknowledge, "Lets replies wait for syncs: SYNCED, DEFAULT"),
    of("holm.epoch", 1, FAST, NONE, ours::epoch, "Returns the active and the last durable epoch"),
    of("holm.snapshot", 2, CONNECTION | ALONE, NONE, ours::snapshot, "BEGIN, END: reads of one instant over calls"),
    of("holm.changes", -2, WHOLE, NONE, changes::changes,
        "OPEN, READ, FOLLOW, ACKNOWLEDGE, UNFOLLOW, CLOSE, LIST: a feed of durable changes"),
    of("holm.backup", 2, WHOLE, NONE, ours::backup, "Makes a copy of the database in a folder of the server"),
];

/// All commands about connections and the server, by family.
pub(crate) const OWN: &[Group<OwnFunction>] = &[
    Group { title: "connection", commands: OF_CONNECTIONS },
    Group { title: "transactions", commands: OF_TRANSACTIONS },
    Group { title: "channels", commands: OF_CHANNELS },
    Group { title: "server", commands: OF_THE_SERVER },
    Group { title: "holm, of the server", commands: OURS },
];

/// Returns the table of all commands as a page has it: by family, each with its words and what it does.
pub fn table_of_commands() -> String {
    let mut page = String::new();
    let mut last = "";
    for (group, command) in describe::all() {
        if group != last {
            page.push_str(&format!("\n### {}{}\n\n| command | |\n|---|---|\n", group[..1].to_uppercase(), &group[1..]));
            last = group;
        }
        page.push_str(&format!("| `{}` | {} |\n", command.name.to_uppercase(), command.summary));
    }
    page
}
