//! The second words of the commands that a front answers itself.

use holm_commands::{HELP, Subcommand};

const fn of(name: &'static str, arity: i32, usage: &'static str, summary: &'static str) -> Subcommand {
    Subcommand::new(name, arity, usage, summary)
}

#[rustfmt::skip]
pub(crate) const ACL: &[Subcommand] = &[
    of("cat", -2, "[<category>]", "List categories, or the commands of one."),
    of("deluser", -3, "<username> [<username> ...]", "Remove users and disconnect their clients, on all nodes."),
    of("dryrun", -4, "<username> <command> [<arg> ...]", "Say whether a user may run a command, and do not run it."),
    of("genpass", -2, "[<bits>]", "Make a password by chance."),
    of("getuser", 3, "<username>", "Describe a user."),
    of("list", 2, "", "Describe all users."),
    of("load", 2, "", "Refuse: the users of a cluster have no file."),
    of("log", -2, "[<count> | RESET]", "Show what users were refused on this node."),
    of("save", 2, "", "Refuse: the users of a cluster have no file."),
    of("setuser", -3, "<username> [<rule> ...]", "Make or change a user, for all nodes."),
    of("users", 2, "", "List the names of all users."),
    of("whoami", 2, "", "Return the name of the connection's user."),
    HELP,
];

#[rustfmt::skip]
pub(crate) const CLIENT: &[Subcommand] = &[
    of("getname", 2, "", "Return the name of the connection."),
    of("id", 2, "", "Return the number of the connection."),
    of("info", 2, "", "Describe the connection."),
    of("list", -2, "[TYPE <type> | ID <id> [<id> ...]]", "Describe the connections of this node."),
    of("no-evict", 3, "ON|OFF", "Accepted: no connection is ended for its memory."),
    of("no-touch", 3, "ON|OFF", "Accepted: no key is marked as used."),
    of("setinfo", 4, "<option> <value>", "Accepted: what a library says of itself is not kept."),
    of("setname", 3, "<name>", "Name the connection."),
    HELP,
];

#[rustfmt::skip]
pub(crate) const CLUSTER: &[Subcommand] = &[
    of("countkeysinslot", 3, "<slot>", "Count the keys of a slot."),
    of("getkeysinslot", 4, "<slot> <count>", "Return some keys of a slot."),
    of("info", 2, "", "Describe the state of the cluster."),
    of("keyslot", 3, "<key>", "Return the slot of a key."),
    of("myid", 2, "", "Return the name of the node."),
    of("nodes", 2, "", "Describe all nodes, and the slots whose groups they lead."),
    of("shards", 2, "", "Describe all groups, with their slots and nodes."),
    of("slots", 2, "", "Return which node leads the group of each range of slots."),
    HELP,
];

#[rustfmt::skip]
pub(crate) const COMMAND: &[Subcommand] = &[
    of("count", 2, "", "Count the commands."),
    of("docs", -2, "[<command> ...]", "Return what commands do."),
    of("getkeys", -3, "<command> [<arg> ...]", "Return the keys of a whole command."),
    of("info", -2, "[<command> ...]", "Return how commands are called."),
    of("list", -2, "", "Return the names of all commands."),
    HELP,
];

#[rustfmt::skip]
pub(crate) const CONFIG: &[Subcommand] = &[
    of("get", -3, "<pattern> [<pattern> ...]", "Return parameters of this node."),
    of("set", -4, "<parameter> <value> [<parameter> <value> ...]", "Change parameters of this node until it ends."),
    HELP,
];
