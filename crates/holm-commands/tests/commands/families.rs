//! Families of commands that have no model of their own: HyperLogLogs, places, fields of bits, SORT.

use crate::store::Tested;

fn script(lines: &[(&str, &str)]) {
    let mut tested = Tested::new();
    for (line, expected) in lines {
        assert_eq!(tested.ask(line), *expected, "{line}");
    }
}

#[test]
fn hyperloglogs_count_distinct_elements_and_merge() {
    script(&[
        ("pfadd one a b c a", ":1"),
        ("pfadd one c b", ":0"),
        ("pfcount one", ":3"),
        ("pfadd other c d", ":1"),
        ("pfcount one other absent", ":4"),
        ("pfmerge one other", "+OK"),
        ("pfcount one", ":4"),
        ("append one x", ":31"),
        ("pfcount one", "-INVALIDOBJ Corrupted HLL object detected"),
        ("set text words", "+OK"),
        ("pfcount text", "-WRONGTYPE Key is not a valid HyperLogLog string value."),
    ]);
}

#[test]
fn places_are_found_within_circles_and_boxes() {
    script(&[
        ("geoadd sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania", ":2"),
        ("geoadd sicily nx 0 0 Palermo", ":0"),
        ("geoadd sicily nx xx 0 0 Palermo", "-ERR syntax error"),
        ("geoadd sicily 200 0 nowhere", "-ERR invalid longitude,latitude pair 200.000000,0.000000"),
        ("geodist sicily Palermo Catania", "$11 166274.1516"),
        ("geodist sicily Palermo Catania km", "$8 166.2742"),
        ("geodist sicily Palermo nowhere", "$-1"),
        ("geohash sicily Palermo nowhere", "*2 $11 sqc8b49rny0 $-1"),
        ("geosearch sicily fromlonlat 15 37 byradius 200 km asc", "*2 $7 Catania $7 Palermo"),
        ("geosearch sicily fromlonlat 15 37 byradius 100 km", "*1 $7 Catania"),
        ("geosearch sicily fromlonlat 15 37 bybox 400 400 km desc count 1", "*1 $7 Palermo"),
        ("geosearch sicily frommember Palermo byradius 1 m withdist", "*1 *2 $7 Palermo $6 0.0000"),
        ("geosearch sicily frommember nowhere byradius 1 m", "-ERR could not decode requested zset member"),
        ("georadius sicily 15 37 200 km store near", ":2"),
        ("zscore near Palermo", "$16 3479099956230698"),
        ("geosearchstore near sicily frommember Catania byradius 1 km storedist", ":1"),
        ("zrange near 0 -1 withscores", "*2 $7 Catania $1 0"),
    ]);
}

#[test]
fn fields_of_bits_wrap_saturate_or_fail() {
    script(&[
        ("bitfield b set u8 0 255 get u4 4 get i8 0", "*3 :0 :15 :-1"),
        ("bitfield b incrby u8 0 10", "*1 :9"),
        ("bitfield b overflow sat incrby u8 0 -10 incrby i8 8 200", "*2 :0 :127"),
        ("bitfield b overflow fail incrby i8 #1 1", "*1 $-1"),
        ("bitfield b set i5 3 -1 get i5 3", "*2 :0 :-1"),
        ("bitfield_ro b get i64 0", "*1 :2269532737218019328"),
        ("bitfield_ro b set u8 0 1", "-ERR BITFIELD_RO only supports the GET subcommand"),
        ("strlen b", ":2"),
        (
            "bitfield b get u64 0",
            "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not \
          supported but i64 is.",
        ),
    ]);
}

#[test]
fn elements_are_sorted_by_themselves_or_by_other_keys() {
    script(&[
        ("rpush l 3 10 2", ":3"),
        ("sort l", "*3 $1 2 $1 3 $2 10"),
        ("sort l alpha desc limit 0 2", "*2 $1 3 $1 2"),
        ("mset w_3 1 w_10 3 w_2 2", "+OK"),
        ("hset h_10 name ten", ":1"),
        ("sort l by w_* get # get h_*->name", "*6 $1 3 $-1 $1 2 $-1 $2 10 $3 ten"),
        ("sort l by nosort", "*3 $1 3 $2 10 $1 2"),
        ("sort l by w_* desc store target", ":3"),
        ("lrange target 0 -1", "*3 $2 10 $1 2 $1 3"),
        ("sort absent store target", ":0"),
        ("exists target", ":0"),
        ("sort_ro l store target", "-ERR syntax error"),
        ("rpush l word", ":4"),
        ("sort l", "-ERR One or more scores can't be converted into double"),
    ]);
}

/// A list came in its own order although `DESC` asks for the other one, and so did a set that is stored.
#[test]
fn elements_that_keep_their_order_descend_from_the_last() {
    script(&[
        ("rpush l 3 10 2", ":3"),
        ("sort l by nosort desc", "*3 $1 2 $2 10 $1 3"),
        ("sort l by nosort desc limit 0 2", "*2 $1 2 $2 10"),
        ("sort_ro l by nosort desc limit 1 -1", "*2 $2 10 $1 3"),
        ("sort l by nosort asc limit 0 1", "*1 $1 3"),
        ("sort l by nosort desc store l", ":3"),
        ("lrange l 0 -1", "*3 $1 2 $2 10 $1 3"),
        ("zadd z 3 a 1 b 2 c", ":3"),
        ("sort z by nosort desc", "*3 $1 a $1 c $1 b"),
        ("sadd s a b c", ":3"),
        ("sort s by nosort desc store target", ":3"),
        ("lrange target 0 -1", "*3 $1 c $1 b $1 a"),
    ]);
}

/// Half of the greatest numbers were refused, as Redis does only where values or scores are asked for.
#[test]
fn as_many_members_by_chance_as_there_are_may_be_asked_for() {
    let out_of_range = "-ERR value is out of range";
    script(&[
        ("sadd s a", ":1"),
        ("srandmember s 9223372036854775807", "*1 $1 a"),
        ("srandmember absent -9223372036854775807", "*0"),
        ("srandmember s -9223372036854775808", out_of_range),
        ("hset h a 1", ":1"),
        ("hrandfield h 9223372036854775807", "*1 $1 a"),
        ("hrandfield h 9223372036854775807 withvalues", out_of_range),
        ("hrandfield h 4611686018427387903 withvalues", "*2 $1 a $1 1"),
        ("zadd z 1 a", ":1"),
        ("zrandmember z 9223372036854775807", "*1 $1 a"),
        ("zrandmember z -4611686018427387904 withscores", out_of_range),
    ]);
}

/// `+` as a lower bound was below all keys, and `-` as an upper one was the empty key.
#[test]
fn nothing_lies_above_plus_or_below_minus() {
    script(&[
        ("mset a 1 b 2 c 3", "+OK"),
        ("set  empty", "+OK"),
        ("holm.range + -", "*0"),
        ("holm.range + +", "*0"),
        ("holm.range - -", "*0"),
        ("holm.range + [b", "*0"),
        ("holm.count + +", ":0"),
        ("holm.remove + -", ":0"),
        ("holm.remove + +", ":0"),
        ("holm.remove + [b", ":0"),
        ("holm.count - +", ":4"),
        ("holm.range - + limit 2", "*2 $0  $1 a"),
    ]);
}

/// What Redis answers, found by playing the same commands to both.
#[test]
fn answers_at_the_edges_are_those_of_redis() {
    script(&[
        ("set text words", "+OK"),
        ("smove absent text member", ":0"),
        ("sadd set member", ":1"),
        ("smove set text member", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("object nothing absent", "-ERR unknown subcommand 'nothing'. Try OBJECT HELP."),
        ("object encoding", "-ERR wrong number of arguments for 'object|encoding' command"),
        ("memory nothing", "-ERR unknown subcommand 'nothing'. Try MEMORY HELP."),
        ("memory usage", "-ERR wrong number of arguments for 'memory|usage' command"),
        ("memory usage absent samples", "-ERR syntax error"),
        ("memory usage absent samples -1", "-ERR syntax error"),
        ("memory usage absent samples x", "-ERR value is not an integer or out of range"),
        ("memory usage absent samples 5", "$-1"),
        ("memory purge", "+OK"),
        ("object encoding absent", "$-1"),
        ("zadd z 4 d 0 b", ":2"),
        ("zadd y 0 a", ":1"),
        ("zunion 2 y z weights -1 1", "*3 $1 a $1 b $1 d"),
        ("zrangestore near absent bound + bylex", "-ERR min or max not valid string range item"),
        ("zrange z - + bylex bylex", "-ERR syntax error"),
        ("zrange z 0 -1 rev rev", "-ERR syntax error"),
        ("getbit text 4294967295", ":0"),
        ("getbit text 4294967296", "-ERR bit offset is not an integer or out of range"),
        ("bitfield_ro text get u8 4294967288 get u8 0", "*2 :0 :119"),
        ("geoadd earth -49 33.5 here", ":1"),
        ("geopos earth here absent", "*2 *2 $19 -49.000002443790436 $18 33.499998990657744 *-1"),
    ]);
}

/// The limits of docs/server.md, with what each answers.
#[test]
fn limits_are_those_that_are_documented() {
    let most = "ERR the strings are too long: the product of their lengths is at most 16777216";
    let (even, long) = ("ab".repeat(2_047) + "a", "a".repeat(4_096));
    let too_long = "-ERR string exceeds maximum allowed size (63 MiB)";
    let far = "-ERR bit offset is not an integer or out of range";
    let name = "x".repeat(65_505);
    script(&[
        (&format!("mset even {even} long {long}"), "+OK"),
        ("lcs even even len", ":4095"),
        ("lcs long even", &format!("-{most}")),
        ("lcs even long len", &format!("-{most}")),
        ("lcs long absent len", ":0"),
        ("setrange text 66060288 x", too_long),
        ("setbit bits 528482304 1", far),
        ("bitfield bits get u1 528482304", far),
        ("bitfield_ro bits get u1 528482304", "*1 :0"),
        ("sadd set member", ":1"),
        ("srandmember set -1048577", "-ERR value is out of range"),
        ("srandmember absent -1048577", "*0"),
        ("scan 99", "-ERR invalid cursor"),
        (&format!("set {name} 1"), "-ERR a key or member has at most 65504 bytes, this has 65505"),
        (&format!("sadd set {name}"), "-ERR a key or member has at most 65504 bytes, this has 65505"),
        (&format!("get {name}"), "$-1"),
    ]);
}
