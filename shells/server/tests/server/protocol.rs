//! Bytes on the wire: both versions, typed lines, pipelines, limits, passwords.

use crate::client::{Client, Served, encode};
use holm_server::{Server, Settings};
use std::os::unix::net::{UnixListener, UnixStream};

#[test]
fn typed_lines_pipelines_and_large_values_arrive_whole() {
    let served = Served::new(&[]);
    let mut client = served.client();
    client.send_bytes(b"PING\r\nset 'a key' \"a\\x00\\n\"\r\n\r\nget 'a key'\r\n");
    assert_eq!(["PONG", "OK", "a\\x00\\n"], [client.receive(), client.receive(), client.receive()].map(String::leak));
    let large = vec![b'x'; 3 << 20];
    client.send_words(&[b"set", b"large", &large]);
    assert_eq!(client.receive(), "OK");
    assert_eq!(client.ask("strlen large"), (3 << 20).to_string());
    assert_eq!(client.ask("get large").len(), 3 << 20);
    let mut many = Vec::new();
    (0..10_000).for_each(|number: u32| many.extend(encode(&[b"incrby", b"sum", number.to_string().as_bytes()])));
    client.send_bytes(&many);
    let last = (0..10_000).map(|_| client.receive()).last().unwrap();
    assert_eq!(last, (0..10_000).sum::<u64>().to_string());
}

#[test]
fn a_command_that_arrives_byte_by_byte_is_one_command() {
    let served = Served::new(&[]);
    let mut client = served.client();
    for byte in encode(&[b"echo", b"slow"]) {
        client.send_bytes(&[byte]);
    }
    assert_eq!(client.receive(), "slow");
}

#[test]
fn the_newer_protocol_has_maps_sets_floats_and_nothing() {
    let served = Served::new(&[]);
    let mut client = served.client();
    assert!(client.ask("hello 3").starts_with("{server redis version "));
    client.script(&[
        ("hset h a 1", "1"),
        ("hgetall h", "{a 1}"),
        ("sadd s m", "1"),
        ("smembers s", "~[m]"),
        ("zadd z 1.5 m", "1"),
        ("zscore z m", "1.5"),
        ("zrange z 0 -1 withscores", "[[m 1.5]]"),
        ("get absent", "nil"),
        ("hello 4", "-NOPROTO unsupported protocol version"),
    ]);
    assert!(client.ask("hello 2").starts_with("[server redis"));
    client.script(&[("hgetall h", "[a 1]"), ("zrange z 0 -1 withscores", "[m 1.5]")]);
}

#[test]
fn what_is_no_request_ends_the_connection_with_an_error() {
    let served = Served::new(&["--max-request", "1000"]);
    let cases: &[(&[u8], &str)] = &[
        (b"*1\r\n+PING\r\n", "expected '$', got '+'"),
        (b"*1\r\n$1001\r\n", "invalid bulk length"),
        (b"*1\r\n$-5\r\n", "invalid bulk length"),
        (b"*99999999\r\n", "invalid multibulk length"),
        (b"set 'a\r\n", "unbalanced quotes in request"),
    ];
    for (bytes, text) in cases {
        let mut client = served.client();
        client.send_bytes(bytes);
        assert_eq!(client.receive(), format!("-ERR Protocol error: {text}"));
        assert_eq!(client.receive(), "closed");
    }
    assert_eq!(served.client().ask("ping"), "PONG");
}

#[test]
fn a_password_is_needed_where_one_is_set() {
    let served = Served::new(&["--requirepass", "coral"]);
    let mut client = served.client();
    client.script(&[
        ("get a", "-NOAUTH Authentication required."),
        ("auth sand", "-WRONGPASS invalid username-password pair or user is disabled."),
        ("auth default coral", "OK"),
        ("set a 1", "OK"),
        ("reset", "RESET"),
        ("get a", "-NOAUTH Authentication required."),
    ]);
    let mut other = served.client();
    assert!(other.ask("hello 3 auth default coral setname me").starts_with("{server"));
    assert_eq!(other.ask("client getname"), "me");
    let mut greedy = served.client();
    greedy.send_bytes(b"*2\r\n$4\r\nAUTH\r\n$99999\r\n");
    assert_eq!(greedy.receive(), "-ERR Protocol error: unauthenticated bulk length");
}

#[test]
fn an_address_beyond_the_loopback_needs_a_password() {
    let path = std::path::Path::new("never-made.holm");
    let refused = Settings::for_folder(path, &["--listen", "0.0.0.0:0"]).unwrap_err();
    assert!(refused.to_string().contains("without a password"), "{refused}");
    assert!(Settings::for_folder(path, &["--listen", "0.0.0.0:0", "--requirepass", "coral"]).is_ok());
}

/// A file at the path of the Unix socket was removed, as if a server had left it behind.
#[test]
fn a_unix_socket_replaces_a_socket_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, socket) = (folder.path().join("test.holm"), folder.path().join("socket"));
    let settings = || Settings::for_folder(&path, &["--unix-socket", socket.to_str().unwrap()]).unwrap();
    std::fs::write(&socket, "kept").unwrap();
    assert!(Server::start(settings()).is_err());
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "kept");
    std::fs::remove_file(&socket).unwrap();
    drop(UnixListener::bind(&socket).unwrap());
    let server = Server::start(settings()).unwrap();
    assert!(UnixStream::connect(&socket).is_ok());
    server.stop();
    server.join().unwrap();
}

#[test]
fn more_clients_than_allowed_are_refused() {
    let served = Served::new(&["--maxclients", "1"]);
    let mut client = served.client();
    assert_eq!(client.ask("ping"), "PONG");
    assert_eq!(Client::connect(served.address).receive(), "-ERR max number of clients reached");
    assert_eq!(client.ask("ping"), "PONG");
}

#[test]
fn a_file_of_options_comes_before_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.conf");
    std::fs::write(&file, "# a comment\nworkers 3\n\nacknowledge synced\nrequirepass \"coral\"\n").unwrap();
    let options = ["--config", file.to_str().unwrap(), "--workers", "2"];
    let settings = Settings::for_folder(folder.path(), &options).unwrap();
    assert_eq!((settings.workers, settings.acknowledge), (Some(2), holm_server::Acknowledge::Synced));
    assert_eq!(settings.requirepass.as_deref(), Some("coral"));
    std::fs::write(&file, "wrokers 3\n").unwrap();
    assert!(Settings::for_folder(folder.path(), &options).is_err());
}

#[test]
fn what_is_set_is_written_to_the_file_of_options() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.conf");
    std::fs::write(&file, "# of this test\nmaxclients 7\nrequirepass \"coral reef\"\n").unwrap();
    let options = ["--config", file.to_str().unwrap()];
    let served = Served::at(&folder.path().join("test.holm"), &options);
    let mut client = served.client();
    client.send_words(&[b"auth", b"coral reef"]);
    assert_eq!(client.receive(), "OK");
    client.script(&[("config set maxclients 9 slowlog-max-len 3", "OK"), ("config rewrite", "OK")]);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, "# of this test\nmaxclients 9\nrequirepass \"coral reef\"\nslowlog-max-len 3\n");
    served.stop();
    let settings = Settings::for_folder(folder.path(), &options).unwrap();
    assert_eq!((settings.maxclients, settings.slowlog_max_len), (9, 3));
    let without = Served::new(&[]);
    assert_eq!(without.client().ask("config rewrite"), "-ERR The server is running without a config file");
}

#[test]
fn gets_of_a_pipeline_are_answered_in_their_order() {
    // GETs that follow each other are carried out together: not beyond a write, and each with its own reply.
    let served = Served::new(&["--workers", "1"]);
    let mut client = served.client();
    client.script(&[("lpush list x", "1"), ("set gone 1 px 1", "OK")]);
    while client.ask("exists gone") == "1" {}
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    for round in 0..40u32 {
        let text = round.to_string();
        bytes.extend(encode(&[b"GET", b"key"]));
        expected.push(if round == 0 { "nil".to_owned() } else { (round - 1).to_string() });
        bytes.extend(encode(&[b"get", b"list"]));
        expected.push("-WRONGTYPE Operation against a key holding the wrong kind of value".to_owned());
        bytes.extend(encode(&[b"get", b"gone"]));
        expected.push("nil".to_owned());
        bytes.extend(encode(&[b"set", b"key", text.as_bytes()]));
        expected.push("OK".to_owned());
        (0..round * 3).for_each(|_| bytes.extend(encode(&[b"get", b"key"])));
        expected.extend((0..round * 3).map(|_| text.clone()));
    }
    bytes.extend(b"get key\r\n");
    expected.push("39".to_owned());
    bytes.extend(encode(&[b"get", b"key"]));
    expected.push("39".to_owned());
    bytes.extend(b"*1\r\nx");
    expected.push("-ERR Protocol error: expected '$', got 'x'".to_owned());
    client.send_bytes(&bytes);
    for reply in expected {
        assert_eq!(client.receive(), reply);
    }
    assert!(served.client().ask("info commandstats").contains("cmdstat_get:calls=2462,"));
}

#[test]
fn writes_of_a_pipeline_are_answered_in_their_order() {
    // Writes of the same key share a transaction: one that is refused undoes none of the others.
    let served = Served::new(&["--workers", "2"]);
    let (mut client, mut other) = (served.client(), served.client());
    (0..150).for_each(|field| drop(client.ask(&format!("hset hash f{field} 1"))));
    let long = "x".repeat(holm_commands::MAX_NAME + 1);
    let steps = [
        ("set key 1", "OK"),
        ("lpush key x", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("incr key", "2"),
        ("hset hash new", "-ERR wrong number of arguments for 'hset' command"),
        ("rpush list a", "1"),
        ("get key", "2"),
        ("rpush list b", "2"),
        ("nothing", "-ERR unknown command 'nothing', with args beginning with: "),
        ("hset hash new 1", "1"),
        ("set key 7", "OK"),
    ];
    let refused = format!("hset hash newer 1 {long} 1");
    for (line, _) in steps.iter().chain([&(&refused[..], ""), &("incr key", "")]) {
        client.send(line);
    }
    for (line, reply) in steps {
        assert_eq!(client.receive(), reply, "{line}");
    }
    assert!(client.receive().starts_with("-ERR a key or member has at most"));
    assert_eq!([client.receive(), client.ask("hlen hash"), client.ask("get key")], ["8", "151", "8"]);
    // What waits for elements gets them, and writes within MULTI are queued.
    other.send("blpop queue 0");
    while !client.ask("info clients").contains("blocked_clients:1\\r") {}
    for line in ["incr key", "rpush queue x", "multi", "incr key", "incr key", "exec", "incr key", "incr key"] {
        client.send(line);
    }
    for reply in ["9", "1", "OK", "QUEUED", "QUEUED", "[10 11]", "12", "13"] {
        assert_eq!(client.receive(), reply);
    }
    assert_eq!([other.receive(), client.ask("llen queue")], ["[queue x]", "0"]);
    let info = client.ask("info commandstats");
    assert!(info.contains("cmdstat_incr:calls=7,"), "{info}");
    // The command with too few words was once counted as the one before it.
    let hset = info.split("\\r\\n").find(|line| line.starts_with("cmdstat_hset:")).unwrap();
    assert!(hset.contains("rejected_calls=1,failed_calls=1"), "{hset}");
}

/// Sends lines of several clients, which the only worker finds at once because it has slept meanwhile, and returns the
/// replies of each.
fn together(served: &Served, lines: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut clients: Vec<_> = lines.iter().map(|_| served.client()).collect();
    clients.iter_mut().for_each(|client| drop(client.ask("ping")));
    let mut sleeper = served.client();
    sleeper.send("debug sleep 0.03");
    for (client, lines) in clients.iter_mut().zip(lines) {
        client.send_bytes(&lines.iter().flat_map(|line| bytes_of(line)).collect::<Vec<_>>());
    }
    let replies = clients.iter_mut().zip(lines).map(|(client, lines)| lines.iter().map(|_| client.receive()).collect());
    let replies = replies.collect();
    assert_eq!(sleeper.receive(), "OK");
    replies
}

fn bytes_of(line: &str) -> Vec<u8> {
    encode(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>())
}

/// Returns how many commands were carried out with those of other connections.
fn joined_count(served: &Served) -> usize {
    let info = served.client().ask("info stats");
    let line = info.split("\\r\\n").find_map(|line| line.strip_prefix("joined_commands:"));
    line.unwrap().parse().unwrap()
}

#[test]
fn writes_of_several_connections_to_one_key_are_carried_out_together_and_in_the_order_of_each() {
    let served = Served::new(&["--workers", "1"]);
    let pushes = |name: usize| (0..40).map(|at| format!("rpush list {name}.{at}")).collect::<Vec<_>>();
    let lines: Vec<_> = (0..8).map(pushes).collect();
    let mut rounds = 0;
    // What the worker finds at once is for the system to say.
    while joined_count(&served) == 0 {
        rounds += 1;
        assert!(rounds <= 100, "no command was joined");
        let mut all = Vec::new();
        for replies in together(&served, &lines) {
            let lengths: Vec<usize> = replies.iter().map(|reply| reply.parse().unwrap()).collect();
            assert!(lengths.is_sorted_by(|one, next| one < next), "{lengths:?}");
            all.extend(lengths);
        }
        all.sort_unstable();
        assert!(all.into_iter().eq((rounds - 1) * 320 + 1..=rounds * 320));
    }
    let list = served.client().ask("lrange list 0 -1");
    for name in 0..8 {
        let own =
            list.trim_matches(['[', ']']).split(' ').filter_map(|word| word.strip_prefix(&format!("{name}.")[..]));
        let expected = (0..rounds).flat_map(|_| 0..40).map(|at| at.to_string());
        assert!(own.map(str::to_owned).eq(expected), "{list}");
    }
}

#[test]
fn a_command_of_another_connection_that_is_refused_late_changes_no_reply() {
    let served = Served::new(&["--workers", "1"]);
    let mut client = served.client();
    (0..150).for_each(|field| drop(client.ask(&format!("hset hash f{field} 1"))));
    let long = "x".repeat(holm_commands::MAX_NAME + 1);
    let sets = |name: usize| (0..20).map(move |at| format!("hset hash {name}.{at} 1"));
    let lines: Vec<Vec<_>> = (0..6)
        .map(|name| match name {
            3 => sets(name).take(7).chain([format!("hset hash newer 1 {long} 1")]).chain(sets(name).skip(7)).collect(),
            _ => sets(name).collect(),
        })
        .collect();
    for (name, replies) in together(&served, &lines).into_iter().enumerate() {
        for (at, reply) in replies.iter().enumerate() {
            match (name, at) {
                (3, 7) => assert!(reply.starts_with("-ERR a key or member has at most"), "{reply}"),
                _ => assert_eq!(reply, "1", "{name}, {at}"),
            }
        }
    }
    // `newer` was written before its command was refused.
    assert_eq!([client.ask("hlen hash"), client.ask("hexists hash newer")], ["270", "0"]);
}

#[test]
fn reads_of_several_connections_of_one_key_are_answered_each() {
    let served = Served::new(&["--workers", "1"]);
    let mut client = served.client();
    (0..100).for_each(|at| drop(client.ask(&format!("zadd set {at} m{at}"))));
    let look = |rank: usize| format!("zrange set {rank} {rank}");
    let lines: Vec<Vec<_>> = (0..8).map(|name| (0..10).map(|at| look(name * 10 + at)).collect()).collect();
    let mut rounds = 0;
    while joined_count(&served) == 0 {
        rounds += 1;
        assert!(rounds <= 100, "no command was joined");
        for (name, replies) in together(&served, &lines).iter().enumerate() {
            assert!(replies.iter().enumerate().all(|(at, reply)| *reply == format!("[m{}]", name * 10 + at)));
        }
    }
}
