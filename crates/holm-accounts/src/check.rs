//! Whether a user may do what a command asks for.

use crate::access::{self, uses};
use crate::catalog::Catalog;
use crate::denied::Denied;
use crate::selector::{Lacking, Wanted};
use crate::user::User;
use holm_commands::{Arguments, Command, NO_AUTH};

/// Checks whether a user may do what a command asks for: the command, its keys and its channels.
///
/// # Errors
/// What the user lacks.
pub fn check(catalog: &Catalog, user: &User, command: &Command<()>, arguments: &Arguments<'_>) -> Result<(), Denied> {
    let name = command.name;
    let number = catalog.called(name, arguments.get(1));
    let (Some(number), Some(found)) = (number, catalog.find(name)) else {
        return Err(Denied::Command(name));
    };
    let channels = match name {
        "publish" | "spublish" => arguments.get(1).into_iter().collect(),
        "subscribe" | "ssubscribe" | "psubscribe" => arguments.from(1).collect(),
        _ => Vec::new(),
    };
    let wanted = Wanted {
        number,
        command: found,
        first_word: arguments.get(1),
        is_open: command.flags & NO_AUTH != 0,
        uses: uses(command, arguments),
        channels,
        is_pattern: name == "psubscribe",
    };
    let word = |words: Option<&[u8]>| words.unwrap_or(b"*").to_vec();
    user.check(&wanted).map_err(|lacking| match lacking {
        Lacking::Command => Denied::Command(catalog.entry(number).name),
        Lacking::Key(index) => Denied::Key(word(wanted.uses.keys.get(index).map(|(key, _)| *key))),
        Lacking::Channel(index) => Denied::Channel(word(wanted.channels.get(index).copied())),
    })?;
    match access::outside_option(command, arguments) {
        Some(option) if !user.may_read_each_key(&wanted) => Err(Denied::Option(option)),
        _ => Ok(()),
    }
}
