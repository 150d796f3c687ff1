//! ACL: users and what they may do.

use super::subcommands;
use crate::acl::Acl;
use crate::clients::Client;
use crate::mail::Mail;
use crate::session::Session;
use crate::shared::Shared;
use crate::topics::TopicKind;
use holm_accounts::{DEFAULT, categories, commands_of, describe, dry_run, make_password, rules_of};
use holm_commands::{Arguments, Outcome, Refusal, Reply, help, wrong_words};

const NO_FILE: Refusal = Refusal::text(
    "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER \
     command, or to start the server with --aclfile.",
);

pub(super) fn acl(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let users = &shared.acl;
    match (&arguments[1].to_ascii_lowercase()[..], arguments.len()) {
        (b"whoami", 2) => Ok(Reply::bulk(session.account.name.clone())),
        (b"users", 2) => Ok(Reply::bulks(users.all().iter().map(|account| account.name.clone()))),
        (b"list", 2) => Ok(Reply::bulks(users.all().iter().map(|account| users.line(account)))),
        (b"getuser", 3) => {
            Ok(users.find(&arguments[2]).map_or(Reply::Null, |account| describe(&users.catalog, &account.user())))
        }
        (b"setuser", 3..) => set_user(session, shared, arguments),
        (b"deluser", 3..) => remove_users(session, shared, arguments),
        (b"cat", 2) => Ok(categories()),
        (b"cat", 3) => commands_of(&users.catalog, &arguments[2]),
        (b"genpass", 2 | 3) => make_password(arguments, |bytes| getrandom::fill(bytes).is_ok()),
        (b"log", 2 | 3) => users.log.answer(arguments),
        (b"load" | b"save", 2) if !users.has_file() => Err(NO_FILE),
        (b"load", 2) => load(session, shared),
        (b"save", 2) => save(users),
        (b"dryrun", 4..) => {
            let user = users.find(&arguments[2]).map(|account| account.user());
            dry_run(&users.catalog, user.as_deref(), |name| shared.command(name).map(|found| found.about()), arguments)
        }
        (b"help", 2) => Ok(help("acl", subcommands::ACL)),
        _ => Err(wrong_words("acl", arguments)),
    }
}

fn set_user(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let name = &arguments[2];
    let rules = rules_of(arguments)?;
    let account = shared.acl.set(name, &rules).map_err(|error| Refusal::of(format!("ERR {error}")))?;
    let user = account.user();
    disconnect(session, shared, |client| {
        let mut topics = shared.topics.of_client(client.place).into_iter();
        client.details().user() == name
            && topics.any(|(kind, topic)| !user.may_subscribe(&topic, kind == TopicKind::Pattern))
    });
    Ok(Reply::OK)
}

fn remove_users(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if arguments.from(2).any(|name| name == DEFAULT) {
        return Err(Refusal::text("ERR The 'default' user cannot be removed"));
    }
    let count = arguments.from(2).filter(|name| shared.acl.remove(name)).count();
    disconnect(session, shared, |client| arguments.from(2).any(|name| client.details().user() == name));
    Ok(Reply::count(count))
}

/// Ends the connections of clients. That of this session ends once its reply is sent.
fn disconnect(session: &mut Session, shared: &Shared, is_meant: impl Fn(&Client) -> bool) {
    for client in shared.clients.all().iter().filter(|client| is_meant(client)) {
        if client.place == session.place {
            session.is_closing = true;
        } else {
            shared.mailbox(client.place).send(Mail::Close { id: client.place.id });
            // It is no client any more, although its worker closes it a little later.
            shared.clients.remove(client.place.id);
        }
    }
}

fn load(session: &mut Session, shared: &Shared) -> Outcome<Reply> {
    shared.acl.load().map_err(|errors| {
        Refusal::of(format!("ERR {errors} WARNING: ACL errors detected, no change to the previously active ACL rules"))
    })?;
    // What a user is now need not be what it was when its clients said who they are.
    disconnect(session, shared, |client| client.details().user() != DEFAULT);
    Ok(Reply::OK)
}

fn save(users: &Acl) -> Outcome<Reply> {
    users.save().map(|()| Reply::OK).map_err(|error| {
        tracing::error!(%error, "the ACL file cannot be written");
        Refusal::text(
            "ERR There was an error trying to save the ACLs. Please check the server logs for more information",
        )
    })
}
