//! A client library that nobody here wrote.

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
