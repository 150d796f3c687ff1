//! The thread that sends changes to the connections that follow feeds.
//!
//! It looks at each feed that is followed, again and again with pauses, and sends each epoch as one message. While no
//! feed is followed it sleeps. What a connection does not take waits as replies do, and is bounded as these are.

use crate::commands::changes_message;
use crate::feeds::{Followed, lock};
use crate::mail::{ConnectionPlace, Mail};
use crate::shared::Shared;
use holm_commands::Reply;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long the thread pauses when no feed has anything new: an epoch takes longer to become durable.
const PAUSE: Duration = Duration::from_millis(2);

/// The most epochs of a feed that are sent before it is the next one's turn.
const MOST_AT_ONCE: usize = 64;

/// Sends a message of a feed to a connection. The last one ends the following.
pub(crate) fn send(shared: &Shared, place: ConnectionPlace, name: &[u8], content: Reply, is_last: bool) {
    let message = Reply::Push(vec![Reply::fixed("holm.changes"), Reply::bulk(name), content]);
    let mail = Mail::Changes { to: place.id, name: name.to_vec(), message: Box::new(message), is_last };
    shared.mailbox(place).send(mail);
}

/// Sends what a feed has for its follower. Returns whether there was something.
fn send_next(shared: &Shared, name: &[u8], feed: &Mutex<Followed>) -> bool {
    let order = shared.databases().order().to_vec();
    for sent in 0..MOST_AT_ONCE {
        let mut feed = lock(feed);
        let Some(follower) = feed.follower() else { return sent > 0 };
        match feed.next_to_send() {
            Ok(Some(changes)) => send(shared, follower.place, name, changes_message(changes, &order), false),
            Ok(None) => return sent > 0,
            Err(error) => {
                feed.leave(follower.place);
                send(
                    shared,
                    follower.place,
                    name,
                    Reply::Error(crate::commands::feed_refusal(error).into_text()),
                    true,
                );
                return true;
            }
        }
    }
    true
}

/// Sends until the server stops.
pub(crate) fn run(shared: &Arc<Shared>) {
    loop {
        let followed = shared.feeds.wait_for_followed(|| shared.is_stopping());
        if shared.is_stopping() {
            return;
        }
        let has_sent = followed.iter().fold(false, |sent, (name, feed)| send_next(shared, name, feed) || sent);
        if !has_sent {
            std::thread::sleep(PAUSE);
        }
    }
}
