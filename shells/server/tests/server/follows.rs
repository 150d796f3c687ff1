//! Feeds of changes that are pushed to the connection that follows them.

use crate::client::{Client, Served};

/// Returns the next epoch that a connection is sent, and its changes. Those that change nothing under a prefix are
/// passed over.
#[track_caller]
fn next(client: &mut Client, mark: &str) -> (u64, String) {
    loop {
        let message = client.receive();
        let content = message.trim_start_matches('>').strip_prefix("[holm.changes mine [");
        let Some((epoch, changes)) = content.and_then(|content| content.split_once(' ')) else {
            panic!("no epoch of the feed: {message}");
        };
        if changes.contains(mark) {
            return (epoch.parse().unwrap(), changes.trim_end_matches("]]").to_owned() + "]");
        }
    }
}

/// Returns the first message that is no epoch, from this one on: epochs may be on their way.
fn without_epochs(client: &mut Client, mut message: String) -> String {
    while message.starts_with("[holm.changes mine [") {
        message = client.receive();
    }
    message
}

#[test]
fn a_followed_feed_is_pushed_and_goes_on_behind_the_epoch_that_a_client_knows() {
    let served = Served::new(&["--workers", "2"]);
    let (mut writer, mut reader) = (served.client(), served.client());
    let begin = reader.ask("holm.changes open mine");
    assert_eq!(reader.ask(&format!("holm.changes follow mine {begin}")), "OK");
    writer.ask("set key one");
    let (first, changes) = next(&mut reader, "key");
    assert_eq!(changes, "[[set 0 key string one]");
    writer.ask("set key two");
    let (second, changes) = next(&mut reader, "two");
    assert!(second > first && changes == "[[set 0 key string two]");
    // It has taken note of the first alone, and leaves. The second comes again, and what was written meanwhile.
    drop(reader);
    writer.ask("rpush list a");
    writer.ask("waitaof 1 0 0");
    let mut reader = served.client();
    reader.ask("hello 3");
    assert_eq!(reader.ask(&format!("holm.changes follow mine {first}")), "OK");
    let message = reader.receive();
    assert!(message.starts_with(&format!(">[holm.changes mine [{second} [[set 0 key string two]")), "{message}");
    let (third, changes) = next(&mut reader, "list");
    assert!(third > second && changes == "[[set 0 list list nil]");
    assert_eq!(reader.ask(&format!("holm.changes acknowledge mine {third}")), "OK");
    assert!(writer.ask(&format!("holm.changes read mine {first}")).starts_with("-NOFEED that epoch"));
    // Commands go on beside the messages in the newer protocol; in the older one, those of subscribers alone.
    assert_eq!(reader.ask("get key"), "two");
    assert_eq!(reader.ask("holm.changes unfollow mine"), "1");
    assert_eq!(reader.ask("holm.changes unfollow mine"), "0");
    writer.script(&[("set key three", "OK"), ("waitaof 1 0 0", "[1 0]")]);
    assert_eq!(reader.ask("get key"), "three");
}

#[test]
fn a_feed_has_one_follower_which_is_told_why_it_ends() {
    let served = Served::new(&["--workers", "2"]);
    let (mut one, mut other) = (served.client(), served.client());
    let begin = one.ask("holm.changes open mine");
    one.ask(&format!("holm.changes follow mine {begin}"));
    let refused = one.ask("get key");
    assert!(without_epochs(&mut one, refused).starts_with("-ERR Can't execute 'get'"));
    assert_eq!(other.ask(&format!("holm.changes follow mine {begin}")), "OK");
    let end = one.receive();
    assert!(without_epochs(&mut one, end).starts_with("[holm.changes mine -TAKEN"));
    assert_eq!(one.ask("set key value"), "OK");
    assert_eq!(next(&mut other, "key").1, "[[set 0 key string value]");
    assert_eq!(one.ask("holm.changes close mine"), "1");
    let end = other.receive();
    assert!(without_epochs(&mut other, end).starts_with("[holm.changes mine -NOFEED"));
    assert_eq!(other.ask("get key"), "value");
    assert!(other.ask("holm.changes follow mine 0").starts_with("-NOFEED there is no such feed"));
}

/// An epoch to come made a feed forget all that came up to it.
#[test]
fn what_is_to_come_is_not_acknowledged() {
    let served = Served::new(&[]);
    let mut client = served.client();
    let begin = client.ask("holm.changes open mine");
    let refusal = "-ERR that epoch is to come: acknowledge what the feed has given";
    for line in ["holm.changes read mine", "holm.changes acknowledge mine", "holm.changes follow mine"] {
        assert_eq!(client.ask(&format!("{line} 9000000000")), refusal);
    }
    assert_eq!(client.ask("holm.changes list"), format!("[mine {begin}]"));
    client.script(&[("set key value", "OK"), ("waitaof 1 0 0", "[1 0]")]);
    let changes = client.ask(&format!("holm.changes read mine {begin}"));
    assert!(changes.contains("[set 0 key string value]"), "{changes}");
}

#[test]
fn a_user_who_may_no_more_read_all_keys_is_sent_nothing_more() {
    let served = Served::new(&[]);
    let (mut admin, mut reader) = (served.client(), served.client());
    admin.script(&[("acl setuser ann on >secret ~* +@all", "OK")]);
    assert_eq!(reader.ask("auth ann secret"), "OK");
    let begin = reader.ask("holm.changes open mine");
    assert_eq!(reader.ask(&format!("holm.changes follow mine {begin}")), "OK");
    admin.script(&[("acl setuser ann resetkeys ~public:*", "OK"), ("set secret 1", "OK")]);
    // What was on its way before may come; the value does not.
    loop {
        let message = reader.receive();
        assert!(!message.contains("secret"), "{message}");
        if message == "closed" {
            break;
        }
    }
    assert_eq!(admin.ask("get secret"), "1");
}
