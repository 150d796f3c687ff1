//! What the commands of the Redis protocol mean over an ordered store, without sockets and threads.
//!
//! | module | |
//! |---|---|
//! | `request`, `arguments` | the parser of requests, and the words of a command |
//! | `reply` | replies as values, and their bytes in both versions of the protocol |
//! | `command`, `subcommand`, `table` | what is known about each command; the table of all, a line for each function |
//! | `store`, `spaces` | what commands need of a store; the stores over keyspaces |
//! | `over_holm` | which keyspaces the databases of a server have |
//! | `execute`, `one_key`, `many_gets`, `joined` | running commands: one, several at one instant, or at a snapshot |
//! | `context`, `entry`, `walk`, `window` | what a command sees: the time, keys and their records, walks over them |
//! | `record`, `rows` | the bytes at rest |
//! | `members`, `list` | collections, small ones within a record and large ones as rows |
//! | `turns` | whose turn it is to write a key that several threads write at once |
//! | `events`, `lookups` | what others may want to know of a command |
//! | `unwritten` | a collection that several commands of a transaction change, and that is written once |
//! | `expiring` | how many keys expire |
//! | `sketch`, `geohash` | HyperLogLogs and places, as bytes and scores |
//! | `sweep`, `sweep_part` | the removal of what has expired, and of the rows of removed collections |
//! | `edition` | what commands have meant that write, for logs of them |
//! | `random` | numbers by chance |
//! | `payload`, `payload_packed` | the bytes of DUMP and RESTORE, as Redis has them |
//! | `carry` | keys with all that they have, as chunks for another store |
//! | `fingerprint` | a number that differs once a key differs, for replicated stores |
//!
//! Each command takes effect at one instant, because it runs within a transaction of the store. One that needs a single
//! record to answer reads it without one.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod arguments;
mod carry;
mod command;
mod commands;
mod context;
mod counted;
mod cursors;
mod edition;
mod entry;
mod events;
mod execute;
mod expiring;
mod fingerprint;
mod geohash;
mod glob;
mod joined;
mod list;
mod long_list;
mod look_ahead;
mod lookups;
mod many_gets;
mod members;
mod number;
mod one_key;
mod over_holm;
mod packed;
mod payload;
mod payload_packed;
mod random;
mod record;
mod refusal;
mod reply;
mod request;
mod rows;
mod sketch;
mod spaces;
mod store;
mod subcommand;
mod sweep;
mod sweep_part;
mod table;
mod turns;
mod unwritten;
mod walk;
mod window;

pub use arguments::{Arguments, Options, OwnedArguments, Place};
pub use carry::{CarryPosition, Chunk};
pub use command::{
    ADMIN, ALL, ALONE, BLOCKING, CONNECTION, COUNTED, Command, CommandIndex, DIRECT, FAST, FLAG_NAMES, Group, Keys,
    NO_AUTH, ONE, PUBSUB, READ, SERVED, TWO, UNQUEUED, WRITE, container, of,
};
pub use context::{Context, Millis, Signal};
pub use counted::{append_counted, take_counted};
pub use cursors::Cursors;
pub use edition::Edition;
pub use entry::MAX_NAME;
pub use events::{Effects, Event, Notifications};
pub use execute::{At, Function, run};
pub use expiring::Expiring;
pub use glob::matches;
pub use joined::{RepliesAndEffects, may_share};
pub use lookups::Lookups;
pub use number::{count, float, format_float, integer, parse_float, parse_integer};
pub use one_key::may_share_reads;
pub use over_holm::{Databases, READ_ONLY, flushed_database};
pub use random::Random;
pub use record::describe_record;
pub use refusal::{NO_SUCH_KEY, Outcome, Refusal, SYNTAX, WRONG_TYPE};
pub use reply::{Bulks, Bytes, Protocol, Reply, bulk};
pub use request::{ProtocolError, RequestLimits, RequestParser, is_of_http};
pub use spaces::{AtOneInstant, Direct, Space, Spaces, Within};
pub use store::{Area, Range, Store, Visitor};
pub use subcommand::{HELP, Subcommand, help, wrong_words};
pub use sweep::Swept;
pub use table::{TABLE, UNSUPPORTED, unknown_command};
