//! The server through real sockets: one program, one server for each test, on a free port and in a folder of its own.

#[path = "server/client.rs"]
mod client;
#[path = "server/clients.rs"]
mod clients;
#[path = "server/commands.rs"]
mod commands;
#[path = "server/durability.rs"]
mod durability;
#[path = "server/events.rs"]
mod events;
#[path = "server/flushes.rs"]
mod flushes;
#[path = "server/follows.rs"]
mod follows;
#[path = "server/hostile.rs"]
mod hostile;
#[path = "server/http.rs"]
mod http;
#[path = "server/larger.rs"]
mod larger;
#[path = "server/latency.rs"]
mod latency;
#[path = "server/numbers.rs"]
mod numbers;
#[path = "server/output_limits.rs"]
mod output_limits;
#[path = "server/pages.rs"]
mod pages;
#[path = "server/pauses.rs"]
mod pauses;
#[path = "server/process.rs"]
mod process;
#[path = "server/protocol.rs"]
mod protocol;
#[path = "server/real_clients.rs"]
mod real_clients;
#[path = "server/screenshots.rs"]
mod screenshots;
#[path = "server/subcommands.rs"]
mod subcommands;
#[path = "server/tls.rs"]
mod tls;
#[path = "server/tracking.rs"]
mod tracking;
#[path = "server/transactions.rs"]
mod transactions;
#[path = "server/users.rs"]
mod users;
#[path = "server/waiting.rs"]
mod waiting;
