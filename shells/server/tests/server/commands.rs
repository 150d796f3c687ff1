//! Commands through a socket, family by family: replies as clients know them.

use crate::client::{Served, encode};

const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn strings_and_counters() {
    Served::new(&[]).client().script(&[
        ("set a 1", "OK"),
        ("set a 2 nx", "nil"),
        ("set a 2 xx get", "1"),
        ("set b 2 xx", "nil"),
        ("set a 3 nx xx", "-ERR syntax error"),
        ("set a 3 ex 0", "-ERR invalid expire time in 'set' command"),
        ("incr a", "3"),
        ("decrby a 10", "-7"),
        ("incrbyfloat a 0.1", "-6.9"),
        ("incr a", "-ERR value is not an integer or out of range"),
        ("set big 9223372036854775807", "OK"),
        ("incr big", "-ERR increment or decrement would overflow"),
        ("append s hello", "5"),
        ("append s world", "10"),
        ("getrange s -5 -1", "world"),
        ("setrange s 12 x", "13"),
        ("get s", "helloworld\\x00\\x00x"),
        ("mset x 1 y 2", "OK"),
        ("mget x y z", "[1 2 nil]"),
        ("msetnx y 3 z 3", "0"),
        ("getset x 5", "1"),
        ("getdel x", "5"),
        ("exists x", "0"),
        ("set one ohmytext", "OK"),
        ("set other mynewtext", "OK"),
        ("lcs one other", "mytext"),
        ("setbit bits 7 1", "0"),
        ("getbit bits 7", "1"),
        ("bitcount bits", "1"),
        ("get", "-ERR wrong number of arguments for 'get' command"),
        ("nosuch a b", "-ERR unknown command 'nosuch', with args beginning with: 'a' 'b' "),
        ("xadd s * a 1", "-ERR unknown command 'xadd': there are no streams in holm-server"),
    ]);
}

#[test]
fn keys_and_their_expiry() {
    let served = Served::new(&[]);
    let mut client = served.client();
    client.script(&[
        ("set a 1 ex 100", "OK"),
        ("ttl a", "100"),
        ("persist a", "1"),
        ("ttl a", "-1"),
        ("ttl absent", "-2"),
        ("expire a 100 xx", "0"),
        ("expire a 100 nx", "1"),
        ("expire a 50 gt", "0"),
        ("expire a 50 lt", "1"),
        ("set a 2 keepttl", "OK"),
        ("set a 2 keepttl keepttl", "OK"),
        ("ttl a", "50"),
        ("pexpireat a 1", "1"),
        ("exists a", "0"),
        ("rpush l 1 2", "2"),
        ("rename l m", "OK"),
        ("type m", "list"),
        ("copy m n", "1"),
        ("copy m n", "0"),
        ("lrange n 0 -1", "[1 2]"),
        ("move n 3", "1"),
        ("dbsize", "1"),
        ("select 3", "OK"),
        ("keys *", "[n]"),
        ("swapdb 0 3", "OK"),
        ("keys *", "[m]"),
        ("select 99", "-ERR DB index is out of range"),
        ("flushall", "OK"),
        ("dbsize", "0"),
        ("rename a b", "-ERR no such key"),
    ]);
    for number in 0..300 {
        client.ask(&format!("set key:{number:03} {number}"));
    }
    let (mut cursor, mut seen) = ("0".to_owned(), Vec::new());
    loop {
        let reply = client.ask(&format!("scan {cursor} match key:1* count 7"));
        let words: Vec<_> = reply.split([' ', '[', ']']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        cursor = words[0].clone();
        seen.extend_from_slice(&words[1..]);
        if cursor == "0" {
            break;
        }
    }
    let expected: Vec<_> = (100..200).map(|number| format!("key:{number}")).collect();
    assert_eq!(seen, expected);
    client.script(&[
        ("holm.range (key:010 [key:012", "[key:011 key:012]"),
        ("holm.range - + rev limit 1 withvalues", "[key:299 299]"),
        ("holm.count [key:1 (key:2", "100"),
        ("holm.remove [key:1 +", "200"),
        ("dbsize", "100"),
    ]);
}

#[test]
fn small_and_large_collections_answer_alike() {
    let served = Served::new(&[]);
    let mut client = served.client();
    for count in [20, 400] {
        let members = |form: &dyn Fn(u32) -> String| (0..count).map(form).collect::<Vec<_>>().join(" ");
        client.ask("flushall");
        let len = count.to_string();
        client.script(&[
            (&format!("hset h {}", members(&|n| format!("f{n:03} {n}"))), &len),
            ("hset h f001 again f999 new", "1"),
            ("hget h f001", "again"),
            ("hdel h f999 f999", "1"),
            ("hincrby h f002 5", "7"),
            ("hlen h", &len),
            (&format!("sadd s {}", members(&|n| format!("m{n:03}"))), &len),
            ("sadd s m001", "0"),
            ("srem s m000 absent", "1"),
            ("sismember s m000", "0"),
            ("scard s", &(count - 1).to_string()),
            ("sadd t m001 m002 other", "3"),
            ("sinter s t", "[m001 m002]"),
            ("sdiff t s", "[other]"),
            ("sunionstore u s t", &count.to_string()),
            (&format!("zadd z {}", members(&|n| format!("{n} m{n:03}"))), &len),
            ("zadd z gt ch 5 m010 50 m009", "1"),
            ("zscore z m009", "50"),
            ("zrank z m003", "3"),
            ("zrange z 0 2", "[m000 m001 m002]"),
            ("zrangebyscore z (1 3 withscores", "[m002 2 m003 3]"),
            ("zrangebylex z [m018 (m020", "[m018 m019]"),
            ("zcount z -inf (3", "3"),
            ("zpopmin z 2", "[m000 0 m001 1]"),
            ("zremrangebyscore z 2 3", "2"),
            ("zcard z", &(count - 4).to_string()),
            (&format!("rpush l {}", members(&|n| format!("e{n:03}"))), &len),
            ("lpush l first", &(count + 1).to_string()),
            ("lrange l 0 1", "[first e000]"),
            ("lindex l 11", "e010"),
            ("lset l 11 ten", "OK"),
            ("lpos l ten", "11"),
            ("linsert l before ten nine", &(count + 2).to_string()),
            ("lrem l 0 nine", "1"),
            ("lrange l 10 12", "[e009 ten e011]"),
            ("rpop l", &format!("e{:03}", count - 1)),
            ("ltrim l 1 2", "OK"),
            ("lrange l 0 -1", "[e000 e001]"),
            ("lmove l l left right", "e000"),
            ("lrange l 0 -1", "[e001 e000]"),
            ("get l", WRONG),
            ("lpush h x", WRONG),
            ("set h gone", "OK"),
            ("del s t u z l", "5"),
            ("hset again f001 1", "1"),
            ("hgetall again", "[f001 1]"),
        ]);
    }
}

#[test]
fn dumps_restore_every_type() {
    let served = Served::new(&[]);
    let mut client = served.client();
    client.script(&[
        ("set s x", "OK"),
        ("rpush l a b", "2"),
        ("sadd t m", "1"),
        ("zadd z 2 m", "1"),
        ("hset h f v", "1"),
    ]);
    for key in ["s", "l", "t", "z", "h"] {
        let dump = client.ask(&format!("dump {key}"));
        let bytes = unescape(&dump);
        client.send_words(&[b"restore", b"copy", b"0", &bytes, b"replace"]);
        assert_eq!(client.receive(), "OK");
        assert_eq!(client.ask("dump copy"), dump);
        let mut damaged = bytes.clone();
        damaged[6] ^= 1;
        client.send_words(&[b"restore", b"other", b"0", &damaged]);
        assert_eq!(client.receive(), "-ERR DUMP payload version or checksum are wrong");
    }
}

/// The payload is what redis-server 7.0.15 answers to DUMP of a sorted set: migrations carry keys so.
#[test]
fn a_payload_of_redis_restores_here() {
    let served = Served::new(&[]);
    let mut client = served.client();
    let payload =
        b"\x11\x1d\x1d\0\0\0\x06\0\x81n\x02\x84-inf\x05\x81m\x02\x831.5\x04\x81o\x02\x03\x01\xff\x0a\0\x56\x02\x73\x7f\
                    \xd3\xa4\x6a\x02";
    client.send_words(&[b"restore", b"sorted", b"0", payload]);
    assert_eq!(client.receive(), "OK");
    client.script(&[
        ("zrange sorted 0 -1 withscores", "[n -inf m 1.5 o 3]"),
        ("restore other x payload y", "-ERR syntax error"),
        ("restore other x payload", "-ERR value is not an integer or out of range"),
        ("restore other -1 payload", "-ERR Invalid TTL value, must be >= 0"),
        ("restore other 0 payload idletime -1", "-ERR Invalid IDLETIME value, must be >= 0"),
        ("restore other 0 payload freq 256", "-ERR Invalid FREQ value, must be >= 0 and <= 255"),
        ("restore sorted 0 payload", "-BUSYKEY Target key name already exists."),
        ("restore other 0 payload", "-ERR DUMP payload version or checksum are wrong"),
    ]);
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let (kind, tail) = rest.split_first().unwrap();
        rest = tail;
        match kind {
            b'x' => {
                bytes.push(u8::from_str_radix(std::str::from_utf8(&rest[..2]).unwrap(), 16).unwrap());
                rest = &rest[2..];
            }
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            other => bytes.push(*other),
        }
    }
    bytes
}

#[test]
fn the_server_tells_of_itself() {
    let served = Served::new(&[]);
    let mut client = served.client();
    assert!(client.ask("info").contains("redis_version:"));
    assert!(client.ask("info commandstats").contains("cmdstat_info:calls=1"));
    assert!(client.ask("client list").contains("cmd=client"));
    client.script(&[
        ("config get slowlog-max-len", "[slowlog-max-len 128]"),
        ("config set slowlog-log-slower-than 0", "OK"),
        // A command before may have been slow, too.
        ("slowlog reset", "OK"),
        ("config set nosuch 1", "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'"),
        ("command getkeys mset a 1 b 2", "[a b]"),
        ("command getkeys zunionstore t 2 a b", "[t a b]"),
        ("slowlog len", "4"),
        ("slowlog reset", "OK"),
        ("object encoding absent", "nil"),
        ("waitaof 1 0 100", "[1 0]"),
        ("client kill id 99", "0"),
    ]);
    assert_ne!(client.ask("command count"), "0");
}

#[test]
fn a_random_key_may_be_any_key() {
    // The first of a few keys was never chosen.
    let served = Served::new(&[]);
    let mut client = served.client();
    client.script(&[("randomkey", "nil"), ("mset a 1 m 1 z 1", "OK")]);
    let chosen: std::collections::BTreeSet<_> = (0..200).map(|_| client.ask("randomkey")).collect();
    assert_eq!(chosen.into_iter().collect::<Vec<_>>(), ["a", "m", "z"]);
    // The first of many, too.
    (0..200).for_each(|number| drop(client.ask(&format!("set key{number:03} 1"))));
    (0..200).for_each(|member| drop(client.ask(&format!("sadd set member{member:03}"))));
    let keys = (0..5_000).map(|_| client.ask("randomkey"));
    assert!(keys.filter(|key| &key[..] < "key005").count() > 0);
    let members = (0..5_000).map(|_| client.ask("srandmember set"));
    assert!(members.filter(|member| &member[..] < "member005").count() > 0);
}

#[test]
fn replies_of_every_kind_are_shown_on_demand() {
    let served = Served::new(&[]);
    let mut client = served.client();
    client.script(&[
        ("debug protocol integer", "12345"),
        ("debug protocol true", "1"),
        ("debug stringmatch-len 10 a*", "1"),
        ("debug reload", "OK"),
        ("debug set-active-expire 0", "OK"),
        (
            "debug unheard-of",
            "-ERR DEBUG has SLEEP, RELOAD, LOADAOF, SET-ACTIVE-EXPIRE, STRINGMATCH-LEN, PROTOCOL, \
          JMAP and LOG only",
        ),
    ]);
    client.ask("hello 3");
    client.script(&[("debug protocol set", "~[0 1 2]"), ("debug protocol map", "{0 f 1 t 2 f}")]);
}

#[test]
fn a_client_that_wants_no_replies_gets_its_messages() {
    // It waited for ever to be subscribed.
    let served = Served::new(&[]);
    let (mut client, mut other) = (served.client(), served.client());
    client.send("client reply off");
    client.send("get a");
    client.send("subscribe news");
    assert_eq!(client.receive(), "[subscribe news 1]");
    assert_eq!(other.ask("publish news x"), "1");
    assert_eq!(client.receive(), "[message news x]");
    client.send("unsubscribe news");
    assert_eq!(client.receive(), "[unsubscribe news 0]");
}

#[test]
fn errors_are_counted_by_their_codes_and_refusals_by_their_commands() {
    let served = Served::new(&["--workers", "1"]);
    let mut client = served.client();
    for line in ["set", "no-such-command", "get a b", "lpush s a"] {
        client.ask("set s 1");
        assert!(client.ask(line).starts_with('-'), "{line}");
    }
    // Those that are carried out together with others count as well.
    client.send_bytes(&[&b"lpush"[..], b"rpush"].map(|name| encode(&[name, b"s", b"a"])).concat());
    assert!(client.receive().starts_with("-WRONGTYPE") && client.receive().starts_with("-WRONGTYPE"));
    let info = client.ask("info errorstats");
    assert!(info.contains("errorstat_ERR:count=3") && info.contains("errorstat_WRONGTYPE:count=3"), "{info}");
    let info = client.ask("info commandstats");
    let of = |name: &str| info.split("\\r\\n").find(|line| line.starts_with(&format!("cmdstat_{name}:"))).unwrap();
    assert!(of("set").contains("calls=4,") && of("set").contains("rejected_calls=1,failed_calls=0"), "{info}");
    assert!(of("get").contains("calls=0,") && of("get").contains("rejected_calls=1,failed_calls=0"), "{info}");
    assert!(of("lpush").contains("calls=2,") && of("lpush").contains("rejected_calls=0,failed_calls=2"), "{info}");
    assert_eq!(client.ask("config resetstat"), "OK");
    assert!(!client.ask("info errorstats").contains("count="));
}
