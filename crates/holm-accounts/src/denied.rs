//! What a user was refused, as a reply.

use holm_commands::Refusal;
use std::borrow::Cow;

/// What a user may not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Run a command or subcommand.
    Command(&'static str),
    /// Use a key.
    Key(Vec<u8>),
    /// Use a channel.
    Channel(Vec<u8>),
    /// Let SORT read keys that it does not name.
    Option(&'static str),
    /// Be who it said it is, by this command.
    Password(&'static str),
}

impl Denied {
    /// Returns the kind of what was refused, as ACL LOG has it.
    pub fn reason(&self) -> &'static str {
        match self {
            Denied::Command(_) => "command",
            Denied::Key(_) | Denied::Option(_) => "key",
            Denied::Channel(_) => "channel",
            Denied::Password(_) => "auth",
        }
    }

    /// Returns the name of what was refused.
    pub fn object(&self) -> Cow<'_, [u8]> {
        match self {
            Denied::Key(name) | Denied::Channel(name) => name.into(),
            Denied::Command(name) | Denied::Option(name) | Denied::Password(name) => name.as_bytes().into(),
        }
    }

    /// Returns the reply to a client.
    pub fn refusal(&self) -> Refusal {
        let what = match self {
            Denied::Command(name) => format!("run the '{name}' command"),
            Denied::Key(_) => "access one of the keys used as arguments".to_owned(),
            Denied::Channel(_) => "access one of the channels used as arguments".to_owned(),
            Denied::Option(name) => {
                return Refusal::of(format!("ERR {name} option of SORT denied due to insufficient ACL permissions."));
            }
            Denied::Password(_) => {
                return Refusal::text("WRONGPASS invalid username-password pair or user is disabled.");
            }
        };
        Refusal::of(format!("NOPERM this user has no permissions to {what}"))
    }

    /// Returns what ACL DRYRUN answers.
    pub fn explanation(&self) -> Vec<u8> {
        let (what, kind) = match self {
            Denied::Key(_) => ("access", "key"),
            Denied::Channel(_) => ("access", "channel"),
            Denied::Option(_) => ("use", "option"),
            Denied::Command(_) | Denied::Password(_) => ("run", "command"),
        };
        let begin = format!("This user has no permissions to {what} the '");
        [begin.as_bytes(), &self.object(), format!("' {kind}").as_bytes()].concat()
    }
}
