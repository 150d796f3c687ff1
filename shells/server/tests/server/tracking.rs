//! CLIENT TRACKING: what clients are sent that hold keys in memory of their own.

use crate::client::{Client, Served, encode};

/// Returns a client of the newer protocol that tracks.
fn tracker(served: &Served, options: &str) -> Client {
    let mut client = served.client();
    client.ask("hello 3");
    assert_eq!(client.ask(format!("client tracking on {options}").trim_end()), "OK");
    client
}

/// A client is sent nothing that is not expected: the next reply is that of a command.
#[track_caller]
fn quiet(client: &mut Client) {
    assert_eq!(client.ask("echo quiet"), "quiet");
}

#[test]
fn each_change_of_a_key_that_was_read_is_sent_once() {
    let served = Served::new(&["--workers", "2"]);
    let (mut one, mut other) = (tracker(&served, ""), served.client());
    for (read, change, sent) in [
        ("get a", "set a 1", "a"),
        ("get a", "incr a", "a"),
        ("ttl a", "expire a 100", "a"),
        ("type a", "persist a", "a"),
        ("exists a", "rename a b", "a"),
        ("mget b c", "append c x", "c"),
        ("get c", "copy b c replace", "c"),
        ("lrange l 0 -1", "rpush l x", "l"),
        ("llen l", "lmove l m left left", "l"),
        ("hgetall h", "hset h f v", "h"),
        ("hget h f", "hdel h f", "h"),
        ("smembers s", "sadd s x", "s"),
        ("scard s", "spop s", "s"),
        ("zrange z 0 -1", "zadd z 1 x", "z"),
        ("zscore z x", "zunionstore z 1 nothing", "z"),
        ("pfcount p", "pfadd p x", "p"),
        ("strlen bits", "setbit bits 7 1", "bits"),
        ("getrange bits 0 1", "bitop not bits bits", "bits"),
        ("dump bits", "getdel bits", "bits"),
        ("sort_ro m alpha", "holm.remove [m (n", "m"),
    ] {
        one.ask(read);
        one.ask(read);
        other.ask(change);
        assert_eq!(one.receive(), format!(">[invalidate [{sent}]]"), "{change}");
        other.ask(change);
        quiet(&mut one);
    }
    // A database has no keys of its own here, and what changes nothing is not sent.
    one.ask("mget x y");
    other.script(&[("del x", "0"), ("hdel y f", "0"), ("select 1", "OK"), ("mset y 1 x 1", "OK")]);
    assert_eq!([one.receive(), one.receive()], [">[invalidate [y]]", ">[invalidate [x]]"]);
    // Large collections, whose members lie beside their keys.
    let words: Vec<String> = (0..300).map(|number| format!("member{number}")).collect();
    let line = ["sadd", "large"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    one.ask("scard large");
    other.ask("select 0");
    other.ask(&line);
    assert_eq!(one.receive(), ">[invalidate [large]]");
    for (read, change) in [("scard large", "srem large member7"), ("scard large", "rename large larger")] {
        one.ask(read);
        other.ask(change);
        assert_eq!(one.receive(), ">[invalidate [large]]", "{change}");
    }
}

#[test]
fn own_changes_come_behind_the_reply() {
    let served = Served::new(&["--workers", "2"]);
    let mut client = tracker(&served, "");
    client.script(&[("get a", "nil"), ("set a 1", "OK")]);
    assert_eq!(client.receive(), ">[invalidate [a]]");
    client.script(&[("get a", "1"), ("multi", "OK"), ("get b", "QUEUED"), ("incr a", "QUEUED"), ("exec", "[nil 2]")]);
    assert_eq!(client.receive(), ">[invalidate [a]]");
    let mut other = served.client();
    other.ask("set b 1");
    assert_eq!(client.receive(), ">[invalidate [b]]");
    // Unless the client does not want to know.
    assert_eq!(client.ask("client tracking on noloop"), "OK");
    client.script(&[("get a", "2"), ("set a 3", "OK"), ("get a", "3")]);
    quiet(&mut client);
    other.ask("set a 4");
    assert_eq!(client.receive(), ">[invalidate [a]]");
    client.script(&[("client tracking off", "OK"), ("get a", "4")]);
    other.ask("set a 5");
    quiet(&mut client);
}

/// A key that EXEC had written before it read it was sent as changed, and forgotten.
#[test]
fn what_is_written_and_then_read_within_a_transaction_is_held() {
    let served = Served::new(&["--workers", "2"]);
    let (mut client, mut other) = (tracker(&served, ""), served.client());
    let transaction = |client: &mut Client, lines: &[&str]| {
        client.ask("multi");
        lines.iter().for_each(|line| assert_eq!(client.ask(line), "QUEUED"));
        client.ask("exec")
    };
    assert_eq!(transaction(&mut client, &["set a 1", "incr b", "incr a", "get a"]), "[OK 1 2 2]");
    quiet(&mut client);
    other.ask("incr a");
    assert_eq!(client.receive(), ">[invalidate [a]]");
    // What was held before, or read before the write, is sent once, and what was read last is held.
    client.ask("get a");
    assert_eq!(transaction(&mut client, &["incr a", "set c 1", "incr a", "get a"]), "[4 OK 5 5]");
    assert_eq!(client.receive(), ">[invalidate [a]]");
    quiet(&mut client);
    other.ask("incr a");
    assert_eq!(client.receive(), ">[invalidate [a]]");
    assert_eq!(transaction(&mut client, &["get a", "incr a", "get a"]), "[6 7 7]");
    assert_eq!(client.receive(), ">[invalidate [a]]");
    quiet(&mut client);
    // What is written last is held by nobody.
    assert_eq!(transaction(&mut client, &["incr a", "get a", "incr a"]), "[8 8 9]");
    assert_eq!(client.receive(), ">[invalidate [a]]");
    other.ask("incr a");
    quiet(&mut client);
}

/// CLIENT TRACKING was refused within MULTI.
#[test]
fn clients_begin_and_end_to_track_within_transactions() {
    let served = Served::new(&["--workers", "2"]);
    let (mut client, mut other) = (served.client(), served.client());
    client.ask("hello 3");
    client.script(&[("multi", "OK"), ("get before", "QUEUED"), ("client tracking on optin", "QUEUED")]);
    client.script(&[("client caching yes", "QUEUED"), ("get a", "QUEUED"), ("client trackinginfo", "QUEUED")]);
    let info = "{flags ~[on optin caching-yes] redirect 0 prefixes []}";
    client.script(&[("exec", &format!("[nil OK OK nil {info}]"))]);
    other.ask("mset before 1 a 1");
    assert_eq!(client.receive(), ">[invalidate [a]]");
    quiet(&mut client);
    client.script(&[("multi", "OK"), ("client tracking off", "QUEUED"), ("client tracking on", "QUEUED")]);
    client.script(&[("client tracking on bcast", "QUEUED"), ("get a", "QUEUED")]);
    let refusal = "-ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then \
                   re-enabling it with a different mode.";
    client.script(&[("exec", &format!("[OK OK {refusal} 1]"))]);
    other.ask("set a 2");
    assert_eq!(client.receive(), ">[invalidate [a]]");
    // One that is not committed changes nothing, but what the client holds may be forgotten.
    client.script(&[("watch w", "OK"), ("get a", "2"), ("multi", "OK"), ("client tracking off", "QUEUED")]);
    client.script(&[("client tracking on bcast prefix z", "QUEUED")]);
    other.ask("set w 1");
    client.script(&[("exec", "nil")]);
    assert_eq!(client.receive(), ">[invalidate nil]");
    assert_eq!(client.ask("client trackinginfo"), "{flags ~[on] redirect 0 prefixes []}");
    client.script(&[("get a", "2")]);
    other.ask("mset a 3 z 1");
    assert_eq!(client.receive(), ">[invalidate [a]]");
    // Nor does one that is given up.
    client.script(&[("client tracking off", "OK"), ("multi", "OK"), ("client tracking on", "QUEUED")]);
    client.script(&[("discard", "OK"), ("get a", "3")]);
    other.ask("set a 4");
    quiet(&mut client);
    assert!(other.ask("info clients").contains("tracking_clients:0\\r"));
}

#[test]
fn flushes_and_expired_keys_are_sent() {
    let served = Served::new(&["--workers", "2"]);
    let (mut one, mut other) = (tracker(&served, ""), served.client());
    let mut broadcast = tracker(&served, "bcast prefix t");
    for flush in ["flushdb", "flushall async"] {
        one.ask("get a");
        other.ask(flush);
        assert_eq!([one.receive(), broadcast.receive()], [">[invalidate nil]", ">[invalidate nil]"]);
        other.ask("set a 1");
        quiet(&mut one);
    }
    other.ask("set t 1");
    assert_eq!(broadcast.receive(), ">[invalidate [t]]");
    one.ask("get t");
    other.ask("pexpire t 1");
    assert_eq!([one.receive(), broadcast.receive()], [">[invalidate [t]]", ">[invalidate [t]]"]);
    one.ask("get t");
    // Once more, when it is removed.
    assert_eq!([one.receive(), broadcast.receive()], [">[invalidate [t]]", ">[invalidate [t]]"]);
}

#[test]
fn prefixes_hear_what_nobody_has_read() {
    let served = Served::new(&["--workers", "2"]);
    let mut other = served.client();
    let (mut all, mut some) = (tracker(&served, "bcast"), tracker(&served, "bcast prefix user: prefix order: noloop"));
    other.script(&[("mset user:2 1 user:1 1 order:1 1 x 1", "OK")]);
    assert_eq!(all.receive(), ">[invalidate [order:1 user:1 user:2 x]]");
    assert_eq!([some.receive(), some.receive()], [">[invalidate [order:1]]", ">[invalidate [user:1 user:2]]"]);
    some.script(&[("set user:3 1", "OK")]);
    quiet(&mut some);
    assert_eq!(all.receive(), ">[invalidate [user:3]]");
    for (line, refusal) in [
        (
            "client tracking on",
            "-ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling \
             it with a different mode.",
        ),
        ("client tracking on bcast optin", "-ERR OPTIN and OPTOUT are not compatible with BCAST"),
        (
            "client tracking on bcast prefix use",
            "-ERR Prefix 'use' overlaps with an existing prefix 'user:'. Prefixes for a single client must not \
             overlap.",
        ),
        (
            "client tracking on bcast prefix a prefix ab",
            "-ERR Prefix 'a' overlaps with another provided prefix 'ab'. Prefixes for a single client must not \
             overlap.",
        ),
        ("client tracking on prefix a", "-ERR PREFIX option requires BCAST mode to be enabled"),
        ("client tracking on redirect 999", "-ERR The client ID you want redirect to does not exist"),
        ("client tracking perhaps", "-ERR syntax error"),
        ("client tracking on bcast perhaps", "-ERR syntax error"),
        ("client caching yes", "-ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."),
    ] {
        assert_eq!(some.ask(line), refusal, "{line}");
    }
    assert_eq!(some.ask("client trackinginfo"), "{flags ~[on bcast noloop] redirect 0 prefixes [order: user:]}");
    // More prefixes are added to those that are there.
    assert_eq!(some.ask("client tracking on bcast prefix z"), "OK");
    assert_eq!(some.ask("client trackinginfo"), "{flags ~[on bcast] redirect 0 prefixes [order: user: z]}");
    let info = other.ask("info");
    assert!(info.contains("tracking_clients:2\\r"), "{info}");
    assert!(info.contains("tracking_total_prefixes:4\\r"), "{info}");
    drop(some);
    while !other.ask("info").contains("tracking_total_prefixes:1\\r") {}
}

#[test]
fn clients_choose_which_reads_are_noted() {
    let served = Served::new(&["--workers", "2"]);
    let (mut in_client, mut out) = (tracker(&served, "optin"), tracker(&served, "optout"));
    let mut other = served.client();
    in_client.script(&[("get a", "nil"), ("client caching yes", "OK")]);
    assert_eq!(in_client.ask("client trackinginfo"), "{flags ~[on optin caching-yes] redirect 0 prefixes []}");
    in_client.script(&[("get b", "nil"), ("get c", "nil")]);
    out.script(&[("get a", "nil"), ("client caching no", "OK"), ("get b", "nil"), ("get c", "nil")]);
    other.ask("mset a 1 b 1 c 1");
    assert_eq!(in_client.receive(), ">[invalidate [b]]");
    quiet(&mut in_client);
    assert_eq!([out.receive(), out.receive()], [">[invalidate [a]]", ">[invalidate [c]]"]);
    // The choice is about a whole transaction, and may be made within it.
    in_client.script(&[("client caching yes", "OK"), ("multi", "OK"), ("get a", "QUEUED"), ("get b", "QUEUED")]);
    in_client.script(&[("exec", "[1 1]"), ("multi", "OK"), ("get c", "QUEUED"), ("client caching yes", "QUEUED")]);
    in_client.script(&[("get d", "QUEUED"), ("exec", "[1 OK nil]"), ("get e", "nil")]);
    other.ask("mset e 1 d 1 c 1 b 1 a 1");
    let sent = [in_client.receive(), in_client.receive(), in_client.receive()];
    assert_eq!(sent, [">[invalidate [d]]", ">[invalidate [b]]", ">[invalidate [a]]"]);
    quiet(&mut in_client);
    in_client.script(&[
        ("client caching no", "-ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."),
        ("client caching perhaps", "-ERR syntax error"),
        ("client tracking on optin optout", "-ERR You can't use both OPTIN mode and OPTOUT mode"),
        ("reset", "RESET"),
        ("client trackinginfo", "[flags [off] redirect -1 prefixes []]"),
    ]);
    let refusal = other.ask("client caching yes");
    assert!(refusal.starts_with("-ERR CLIENT CACHING can be called only when"), "{refusal}");
}

#[test]
fn another_connection_hears_in_place_of_one() {
    let served = Served::new(&["--workers", "2"]);
    let (mut reader, mut listener, mut other) = (served.client(), served.client(), served.client());
    let id = listener.ask("client id");
    reader.script(&[(&format!("client tracking on redirect {id}"), "OK"), ("client getredir", &id), ("get a", "nil")]);
    // Without a subscription, a client of the older protocol cannot hear of it.
    other.ask("set a 1");
    quiet(&mut listener);
    assert_eq!(listener.ask("subscribe __redis__:invalidate"), "[subscribe __redis__:invalidate 1]");
    reader.ask("get a");
    other.ask("set a 2");
    assert_eq!(listener.receive(), "[message __redis__:invalidate [a]]");
    reader.ask("get a");
    other.ask("flushall");
    assert_eq!(listener.receive(), "[message __redis__:invalidate nil]");
    // Once it has left, the reader hears of that.
    reader.ask("hello 3");
    reader.ask("get a");
    drop(listener);
    while other.ask(&format!("client list id {id}")).contains("addr") {}
    other.ask("set a 3");
    assert_eq!(reader.receive(), format!(">[tracking-redir-broken {id}]"));
    let info = reader.ask("client trackinginfo");
    assert_eq!(info, format!("{{flags ~[on broken_redirect] redirect {id} prefixes []}}"));
    let own = reader.ask("client info");
    assert!(own.contains(" flags=tR ") && own.contains(&format!(" redir={id} ")), "{own}");
    // A client of the newer protocol hears of it without a subscription.
    let mut newer = served.client();
    newer.ask("hello 3");
    let id = newer.ask("client id");
    assert_eq!(reader.ask(&format!("client tracking on redirect {id}")), "OK");
    reader.ask("get a");
    other.ask("set a 4");
    assert_eq!(newer.receive(), ">[invalidate [a]]");
    assert_eq!(reader.ask("client trackinginfo"), format!("{{flags ~[on] redirect {id} prefixes []}}"));
}

#[test]
fn the_table_is_bounded_and_sends_what_it_forgets() {
    let served = Served::new(&["--workers", "2", "--tracking-table-max-keys", "10"]);
    let (mut one, mut other) = (tracker(&served, ""), served.client());
    assert_eq!(other.ask("config get tracking-table-max-keys"), "[tracking-table-max-keys 10]");
    let line = (0..30).fold("mget".to_owned(), |line, number| format!("{line} k{number:02}"));
    one.ask(&line);
    let mut sent: Vec<_> = (0..20).map(|_| one.receive()).collect();
    quiet(&mut one);
    let info = other.ask("info stats");
    assert!(info.contains("tracking_total_keys:10\\r") && info.contains("tracking_total_items:10\\r"), "{info}");
    // Those that are left, and no others, are sent when they change.
    assert_eq!(other.ask("config set tracking-table-max-keys 4"), "OK");
    sent.extend((0..6).map(|_| one.receive()));
    let set = (0..30).fold("mset".to_owned(), |line, number| format!("{line} k{number:02} 1"));
    assert_eq!(other.ask(&set), "OK");
    sent.extend((0..4).map(|_| one.receive()));
    sent.sort();
    assert_eq!(sent, (0..30).map(|number| format!(">[invalidate [k{number:02}]]")).collect::<Vec<_>>());
    quiet(&mut one);
    assert_eq!(other.ask("config set tracking-table-max-keys 0"), "OK");
    one.ask(&line);
    quiet(&mut one);
}

/// What was read before a change, and answered behind it, was held for ever.
#[test]
fn no_client_holds_what_has_changed() {
    let served = Served::new(&["--workers", "2"]);
    let mut readers: Vec<Client> = (0..4).map(|_| served.client()).collect();
    readers.iter_mut().for_each(|reader| drop(reader.ask("hello 3")));
    let address = served.address;
    let writer = std::thread::spawn(move || {
        let mut writer = Client::connect(address);
        for _ in 0..60 {
            writer.send_bytes(&encode(&[b"incr", b"n"]).repeat(50));
            (0..50).for_each(|_| drop(writer.receive()));
        }
        writer.ask("get n")
    });
    // Each begins to track while others write, and reads again when it hears of a change.
    let mut held = vec![String::new(); readers.len()];
    for (reader, held) in readers.iter_mut().zip(&mut held) {
        reader.send_bytes(&[&[&b"client"[..], b"tracking", b"on"][..], &[b"get", b"n"]].map(encode).concat());
        assert_eq!(reader.receive(), "OK");
        *held = reader.receive();
    }
    let last = writer.join().unwrap();
    for (reader, held) in readers.iter_mut().zip(&mut held) {
        while *held != last {
            assert_eq!(reader.receive(), ">[invalidate [n]]", "{held} is held, {last} is there");
            *held = reader.ask("get n");
        }
    }
}
