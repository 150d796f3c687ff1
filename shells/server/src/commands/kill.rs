//! CLIENT KILL: ends connections by id, address, user or kind.

use crate::clients::{Client, ClientKind};
use crate::mail::{ConnectionPlace, Mail};
use crate::session::Session;
use crate::shared::Shared;
use holm_commands::{Arguments, Outcome, Refusal, Reply, SYNTAX, parse_integer};

/// Which connections are meant. What is not stated allows all.
#[derive(Default)]
struct Filter<'a> {
    id: Option<i64>,
    address: Option<&'a [u8]>,
    local_address: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    kind: Option<ClientKind>,
    spares_caller: bool,
}

impl<'a> Filter<'a> {
    /// Reads the options of the command; the older form has only an address, and ends the caller's connection, too.
    fn read(shared: &Shared, arguments: &Arguments<'a>) -> Outcome<Self> {
        if arguments.len() == 3 {
            return Ok(Filter { address: arguments.get(2), ..Filter::default() });
        }
        let mut filter = Filter { spares_caller: true, ..Filter::default() };
        let mut options = arguments.options(2);
        while let Some(word) = options.keyword() {
            let value = options.word().ok_or(SYNTAX)?;
            match &word[..] {
                b"ID" => {
                    let id = parse_integer(value).filter(|id| *id > 0);
                    filter.id = Some(id.ok_or(Refusal::text("ERR client-id should be greater than 0"))?);
                }
                b"ADDR" => filter.address = Some(value),
                b"LADDR" => filter.local_address = Some(value),
                b"SKIPME" if value.eq_ignore_ascii_case(b"yes") => filter.spares_caller = true,
                b"SKIPME" if value.eq_ignore_ascii_case(b"no") => filter.spares_caller = false,
                b"USER" if shared.acl.find(value).is_none() => {
                    return Err(Refusal::of(format!("ERR No such user '{}'", value.escape_ascii())));
                }
                b"USER" => filter.user = Some(value),
                b"TYPE" => filter.kind = Some(ClientKind::read(value)?),
                _ => return Err(SYNTAX),
            }
        }
        Ok(filter)
    }

    fn means(&self, client: &Client, caller: ConnectionPlace) -> bool {
        self.id.is_none_or(|id| client.place.id as i64 == id)
            && self.address.is_none_or(|address| client.address.as_bytes() == address)
            && self.local_address.is_none_or(|address| client.local_address.as_bytes() == address)
            && self.user.is_none_or(|user| client.details().user() == user)
            && self.kind.is_none_or(|kind| client.details().kind() == kind)
            && !(self.spares_caller && client.place == caller)
    }
}

pub(super) fn kill(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let filter = Filter::read(shared, arguments)?;
    let (mut count, caller) = (0, session.place);
    for client in shared.clients.all().iter().filter(|client| filter.means(client, caller)) {
        count += 1;
        if client.place == caller {
            session.is_closing = true;
        } else {
            shared.mailbox(client.place).send(Mail::Close { id: client.place.id });
        }
    }
    match (arguments.len(), count) {
        (3, 0) => Err(Refusal::text("ERR No such client")),
        (3, _) => Ok(Reply::OK),
        _ => Ok(Reply::count(count)),
    }
}
