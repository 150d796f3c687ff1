//! A client library that nobody here wrote, and clients that end others.

use crate::client::Served;
use redis::{Commands, RedisResult};

#[test]
fn the_redis_crate_works_in_both_protocols() {
    let served = Served::new(&["--workers", "2"]);
    for protocol in ["resp2", "resp3"] {
        let client = redis::Client::open(format!("redis://{}/?protocol={protocol}", served.address)).unwrap();
        let mut connection = client.get_connection().unwrap();
        let _: () = redis::cmd("FLUSHALL").query(&mut connection).unwrap();
        let _: () = connection.set("a", 1).unwrap();
        let sum: i64 = connection.incr("a", 41).unwrap();
        assert_eq!(sum, 42);
        let _: () = connection.hset_multiple("h", &[("f", 1), ("g", 2)]).unwrap();
        let all: std::collections::BTreeMap<String, i64> = connection.hgetall("h").unwrap();
        assert_eq!(all.into_iter().collect::<Vec<_>>(), [("f".into(), 1), ("g".into(), 2)]);
        let _: () = connection.zadd_multiple("z", &[(1.5, "x"), (0.5, "y")]).unwrap();
        let members: Vec<(String, f64)> = connection.zrange_withscores("z", 0, -1).unwrap();
        assert_eq!(members, [("y".to_owned(), 0.5), ("x".to_owned(), 1.5)]);
        let mut pipe = redis::pipe();
        pipe.atomic().incr("a", 1).ignore().get("a");
        let (a,): (i64,) = pipe.query(&mut connection).unwrap();
        assert_eq!(a, 43);
        let keys: Vec<String> = connection.scan().unwrap().collect::<RedisResult<_>>().unwrap();
        assert_eq!(keys, ["a", "h", "z"]);
        let wrong: RedisResult<i64> = connection.lpush("a", 1);
        assert!(wrong.unwrap_err().to_string().contains("WRONGTYPE"));
    }
}

#[test]
fn connections_are_ended_by_kind_address_and_id() {
    // The kind and the server's address were read and passed over, so that every connection was ended.
    let served = Served::new(&["--workers", "2"]);
    let (mut caller, mut other, mut subscriber) = (served.client(), served.client(), served.client());
    let id = other.ask("client id");
    assert_eq!(subscriber.ask("ssubscribe news"), "[ssubscribe news 1]");
    let local = format!("client kill laddr {}", served.address);
    caller.script(&[
        ("client kill type replica", "0"),
        ("client kill laddr 127.0.0.1:1", "0"),
        ("client kill type nosuch", "-ERR Unknown client type 'nosuch'"),
        ("client kill id 0", "-ERR client-id should be greater than 0"),
        ("client kill id 99 skipme perhaps", "-ERR syntax error"),
        ("client kill type pubsub", "1"),
    ]);
    assert_eq!([subscriber.receive(), other.ask("ping")], ["closed", "PONG"]);
    caller.script(&[
        (&format!("client kill id {id} type pubsub"), "0"),
        (&format!("client kill id {id} type normal"), "1"),
    ]);
    assert_eq!(other.receive(), "closed");
    let mut other = served.client();
    assert_eq!([other.ask("ping"), caller.ask(&local), other.receive()], ["PONG", "1", "closed"]);
    assert_eq!([caller.ask(&format!("{local} skipme no")), caller.receive()], ["1", "closed"]);
}
