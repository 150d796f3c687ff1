//! Users of the Redis protocol: their passwords, and which commands, keys and channels they may use.
//!
//! Rules are those of `ACL SETUSER`. A [`User`] is a value: a change makes another one. Who keeps users, who signs in
//! and when a change counts is left to servers. So is chance, of which `ACL GENPASS` needs some.
//!
//! | module | |
//! |---|---|
//! | `catalog` | commands and subcommands by name and category |
//! | `access` | what commands do to their keys |
//! | `selector`, `rule` | a set of commands, keys and channels, and the rules that make it |
//! | `user` | passwords and selectors |
//! | `check` | whether a user may do what a command asks for |
//! | `denied` | what a user was refused |
//! | `denied_log` | the latest refusals |
//! | `replies` | what ACL answers about a user, wherever users are kept |
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod access;
mod catalog;
mod check;
mod denied;
mod denied_log;
mod replies;
mod rule;
mod selector;
mod user;

pub use catalog::Catalog;
pub use check::check;
pub use denied::Denied;
pub use denied_log::DeniedLog;
pub use replies::{categories, commands_of, describe, dry_run, make_password, rules_of, unknown};
pub use rule::RuleError;
pub use user::{DEFAULT, User, is_name, join_selectors, password_rules};
