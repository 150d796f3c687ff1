//! The parser under any splits, commands over a store, and what the sweep leaves.

#[path = "commands/expiring.rs"]
mod expiring;
#[path = "commands/families.rs"]
mod families;
#[path = "commands/fuzzed.rs"]
mod fuzzed;
#[path = "commands/joined.rs"]
mod joined;
#[path = "commands/lists.rs"]
mod lists;
#[path = "commands/model.rs"]
mod model;
#[path = "commands/races.rs"]
mod races;
#[path = "commands/requests.rs"]
mod requests;
#[path = "commands/store.rs"]
mod store;
#[path = "commands/sweep.rs"]
mod sweep;
