//! The subcommands of the commands about connections and the server.

use holm_commands::{HELP, Subcommand};

const fn of(name: &'static str, arity: i32, usage: &'static str, summary: &'static str) -> Subcommand {
    Subcommand::new(name, arity, usage, summary)
}

#[rustfmt::skip]
pub(super) const ACL: &[Subcommand] = &[
    of("cat", -2, "[<category>]", "List the categories, or the commands of one."),
    of("deluser", -3, "<username> [<username> ...]", "Remove users, and disconnect their clients."),
    of("dryrun", -4, "<username> <command> [<arg> ...]", "Return whether a user may use a command, without using it."),
    of("genpass", -2, "[<bits>]", "Return a password: 256 bits by default."),
    of("getuser", 3, "<username>", "Return what a user may do."),
    of("list", 2, "", "List the users as lines of the ACL file."),
    of("load", 2, "", "Read the users from the ACL file."),
    of("log", -2, "[<count> | RESET]", "Show, or forget, what users were refused."),
    of("save", 2, "", "Write the users to the ACL file."),
    of("setuser", -3, "<username> <rule> [<rule> ...]", "Make or change a user."),
    of("users", 2, "", "List the names of the users."),
    of("whoami", 2, "", "Return the name of the present user."),
    HELP,
];

#[rustfmt::skip]
pub(super) const CLIENT: &[Subcommand] = &[
    of("caching", 3, "(YES|NO)", "Choose whether tracking notes the keys that the next command reads."),
    of("getname", 2, "", "Return the name of this connection."),
    of("getredir", 2, "", "Return the connection that hears of changes in its place: 0 for none, -1 without tracking."),
    of("id", 2, "", "Return the number of this connection."),
    of("info", 2, "", "Return what is known about this connection."),
    of("kill", -3, "<ip:port> | <option> <value> [<option> <value> ...]",
        "End connections, by ID, ADDR, LADDR, USER, TYPE; SKIPME (YES|NO)."),
    of("list", -2, "[TYPE <type> | ID <id> [<id> ...]]", "Return what is known about the connections."),
    of("no-evict", 3, "(ON|OFF)", "Do nothing: no client is disconnected for memory."),
    of("no-touch", 3, "(ON|OFF)", "Do nothing: idle times are not noted."),
    of("pause", -3, "<milliseconds> [WRITE|ALL]", "Let commands of clients wait: all of them, or those that write."),
    of("reply", 3, "(ON|OFF|SKIP)", "Choose which replies this connection gets."),
    of("setinfo", 4, "(LIB-NAME|LIB-VER) <value>", "State the library of this client."),
    of("setname", 3, "<name>", "Give this connection a name."),
    of("tracking", -3, "(ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> ...] [OPTIN] [OPTOUT] [NOLOOP]",
        "Hear of changes of keys that this connection has read, or that begin with a prefix."),
    of("trackinginfo", 2, "", "Return how this connection tracks."),
    of("unblock", -3, "<id> [TIMEOUT|ERROR]", "Let a client wait no longer."),
    of("unpause", 2, "", "End a pause."),
    HELP,
];

#[rustfmt::skip]
pub(super) const COMMAND: &[Subcommand] = &[
    of("count", 2, "", "Return the number of commands."),
    of("docs", -2, "[<command> ...]", "Return what commands do, all by default."),
    of("getkeys", -3, "<command> [<arg> ...]", "Return the keys of a whole command."),
    of("getkeysandflags", -3, "<command> [<arg> ...]", "Return the keys of a command, and whether it writes them."),
    of("info", -2, "[<command> ...]", "Return words, flags, keys and categories of commands, all by default."),
    of("list", -2, "[FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <pattern>)]", "Return names of commands."),
    HELP,
];

#[rustfmt::skip]
pub(super) const CONFIG: &[Subcommand] = &[
    of("get", -3, "<pattern> [<pattern> ...]", "Return parameters whose names match, and their values."),
    of("resetstat", 2, "", "Begin the counts of INFO anew."),
    of("rewrite", 2, "", "Write what was changed to the file of options."),
    of("set", -4, "<parameter> <value> [<parameter> <value> ...]", "Change parameters: all of them or none."),
    HELP,
];

#[rustfmt::skip]
pub(super) const LATENCY: &[Subcommand] = &[
    of("doctor", 2, "", "Explain what took long."),
    of("graph", 3, "<event>", "Draw the latest moments of an event."),
    of("histogram", -2, "[<command> ...]", "Count commands by the time that they took."),
    of("history", 3, "<event>", "List the latest moments of an event."),
    of("latest", 2, "", "List all events with their latest and longest moments."),
    of("reset", -2, "[<event> ...]", "Forget events, all by default."),
    HELP,
];

#[rustfmt::skip]
pub(super) const PUBSUB: &[Subcommand] = &[
    of("channels", -2, "[<pattern>]", "Return the channels that have subscribers."),
    of("numpat", 2, "", "Return the number of patterns that have subscribers."),
    of("numsub", -2, "[<channel> ...]", "Return the numbers of subscribers of channels."),
    of("shardchannels", -2, "[<pattern>]", "Return the channels of shards that have subscribers."),
    of("shardnumsub", -2, "[<channel> ...]", "Return the numbers of subscribers of channels of shards."),
    HELP,
];

#[rustfmt::skip]
pub(super) const SLOWLOG: &[Subcommand] = &[
    of("get", -2, "[<count>]", "Return slow commands, the latest first: 10 by default, -1 for all."),
    of("len", 2, "", "Return how many are kept."),
    of("reset", 2, "", "Forget them."),
    HELP,
];
