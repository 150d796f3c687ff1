//! A server of the Redis protocol over a database of Holm.
//!
//! What commands mean is the crate `holm-commands`; this one has threads and bytes.
//!
//! | module | |
//! |---|---|
//! | `settings`, `load` | the command line, the file of options, and a file of pairs to begin with |
//! | `server` | the thread that accepts connections; start and stop of all threads; the sweep |
//! | `long` | threads for commands that take long |
//! | `worker` | a thread with a loop of events over its own connections |
//! | `connection`, `stream` | a socket with its buffers |
//! | `session`, `joined`, `together` | what a client has said so far, and how its commands are carried out |
//! | `commands` | the commands about connections and the server, and their table |
//! | `acl` | users and what they may do |
//! | `shared` | what all threads share |
//! | `output_limits`, `sizes` | how much may wait for a client |
//! | `tls`, `tls_stream` | certificates, and a socket with TLS |
//! | `http` | the page for operators and the metrics |
//! | `mail`, `waiting`, `topics`, `late_reply` | what threads tell each other |
//! | `waits`, `pause` | sessions that wait for elements or for the end of a pause |
//! | `feeds`, `tracking` | changes that clients follow, and keys that they hold in memory of their own |
//! | `clients`, `statistics`, `slow_log`, `latency` | what is known of clients and commands |
//! | `rates`, `process_memory` | what the server does at the moment, and the memory that it takes |

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod acl;
mod clients;
mod commands;
mod connection;
mod feeds;
mod followers;
mod http;
mod joined;
mod late_reply;
mod latency;
mod load;
mod long;
mod lookout;
mod mail;
mod output_limits;
mod pause;
mod process_memory;
mod rates;
mod replace_file;
mod rereads;
mod server;
mod session;
mod settings;
mod shared;
mod sizes;
mod slow_log;
mod statistics;
mod stream;
mod subscriptions;
mod tls;
mod tls_stream;
mod together;
mod topics;
mod tracking;
mod waiting;
mod waits;
mod worker;

pub use commands::table_of_commands;
pub use server::Server;
pub use settings::{Acknowledge, ChannelDefault, Settings};
