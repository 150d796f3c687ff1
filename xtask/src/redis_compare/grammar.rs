//! The commands that are played, as templates, and how each is filled by chance.
//!
//! A template has words. `k` is a key of any type, `e` one of places on the earth, `d` a sorted set of one score, `h` a
//! HyperLogLog, `y` a sum of fractions, `f` a field or member, `v` a value, `i` a small number, `n` any number, `x` a
//! floating point number, `q` a number of quarters, `s` a score's bound, `l` a bound of names, `u` a unit, `b` 0 or 1,
//! `o` an offset of bits, `t` a type of a bitfield, `g` a longitude and a latitude, `p` a pattern, `T` an instant to
//! come. `[a|b c]` is one of some phrases or nothing, `(a|b)` one of them, and `w*` a word one to three times, where
//! `f,v*` counts as one.
//!
//! Left out is what is known to differ. With `OVERFLOW FAIL` Redis makes a key even if it stores nothing. Where a range
//! of bytes ends before the value, Redis 7.0 takes the first byte, and later versions take none. Redis computes sums of
//! fractions with longer numbers. It notes the count of a HyperLogLog in its value. It promises nothing for ranges of
//! names over several scores. `WATCH` of `holm-server` compares values, and not whether somebody has written. Redis
//! sorts by `ALPHA` up to the first zero byte of a text unless it stores the result, and its places have 17 decimals
//! and no exponent, so those by the equator have fewer digits: a history shows either now and then.

use super::client::Words;
use rand::Rng;
use rand::seq::IndexedRandom;

/// How replies to a command are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// As they are.
    Exact,
    /// The items of an array in any order.
    Any,
    /// The pairs of an array in any order.
    Pairs,
    /// Numbers may differ a little: what is left of a time.
    Near,
    /// What kind of reply it is.
    Kind,
}

const EXACT: &str = "
    SET k v [NX|XX] [GET] [EXAT T|PXAT T000|KEEPTTL]
    SET k n [GET]
    GET k
    GETSET k v
    GETDEL k
    GETEX k [EXAT T|PXAT T000|PERSIST]
    SETNX k v
    SETEX k 5000 v
    PSETEX k 5000000 v
    MGET k*
    MSET k,v*
    MSETNX k,v*
    APPEND k v
    STRLEN k
    GETRANGE k i (-1|0|1|2|7)
    SUBSTR k i (-1|0|1|2|7)
    SETRANGE k o v
    INCR k
    DECR k
    INCRBY k n
    DECRBY k n
    INCRBYFLOAT y q
    SET y i
    GET y
    LCS k k [LEN|IDX] [MINMATCHLEN i] [WITHMATCHLEN]
    DEL k*
    UNLINK k*
    EXISTS k*
    TOUCH k*
    TYPE k
    RENAME k k
    RENAMENX k k
    COPY k k [DB b] [REPLACE]
    MOVE k b
    EXPIREAT k T [NX|XX|GT|LT]
    PEXPIREAT k T000 [NX|XX|GT|LT]
    EXPIRE k (-1|5000) [NX|XX|GT|LT]
    PEXPIRE k (-1|5000000) [NX|XX|GT|LT]
    EXPIRETIME k
    PERSIST k
    DBSIZE
    SETBIT k o b
    GETBIT k o
    BITCOUNT k [i (-1|0|1|7) [BYTE|BIT]]
    BITPOS k b [i [(-1|0|1|7) [BYTE|BIT]]]
    BITOP (AND|OR|XOR) k k*
    BITOP NOT k k
    BITFIELD k [OVERFLOW (WRAP|SAT)] (GET t o|SET t o n|INCRBY t #i n) [GET t #i]
    BITFIELD_RO k GET t o
    PFADD h [f*]
    PFCOUNT h*
    PFMERGE h h*
    HSET k f,v*
    HSET k f n
    HSET k f,v*
    HMSET k f,v*
    HSETNX k f v
    HGET k f
    HMGET k f*
    HDEL k f*
    HEXISTS k f
    HLEN k
    HSTRLEN k f
    HINCRBY k f n
    HINCRBYFLOAT y f q
    HGET y f
    DEL y
    SADD k f*
    SADD k f*
    SREM k f*
    SCARD k
    SISMEMBER k f
    SMISMEMBER k f*
    SMOVE k k f
    SINTERSTORE k k*
    SUNIONSTORE k k*
    SDIFFSTORE k k*
    SINTERCARD 2 k k [LIMIT i]
    LPUSH k v*
    RPUSH k f*
    RPUSH k f*
    LPUSHX k v
    RPUSHX k v*
    LPOP k [i]
    RPOP k [i]
    LLEN k
    LINDEX k i
    LRANGE k i i
    LSET k i v
    LREM k i f
    LTRIM k i i
    LINSERT k (BEFORE|AFTER) f v
    LPOS k f [RANK i] [COUNT i] [MAXLEN i]
    LMOVE k k (LEFT|RIGHT) (LEFT|RIGHT)
    RPOPLPUSH k k
    LMPOP 2 k k (LEFT|RIGHT) [COUNT i]
    BLPOP k k 0.01
    BRPOP k 0.01
    BLMOVE k k (LEFT|RIGHT) (LEFT|RIGHT) 0.01
    BRPOPLPUSH k k 0.01
    BLMPOP 0.01 2 k k (LEFT|RIGHT) [COUNT i]
    ZADD k [NX|XX|GT|LT] [CH] x,f*
    ZADD k x,f*
    ZADD k i,f*
    ZADD k 0,f*
    ZADD d 0,f*
    ZADD d 0,f*
    ZREM d f*
    ZRANGE d 0 -1
    DEL h
    EXISTS h*
    STRLEN h
    ZADD k [NX|XX|GT|LT] INCR x f
    ZINCRBY k x f
    ZREM k f*
    ZCARD k
    ZSCORE k f
    ZMSCORE k f*
    ZRANK k f
    ZREVRANK k f
    ZCOUNT k s s
    ZLEXCOUNT d l l
    ZRANGE k i i [REV] [WITHSCORES]
    ZRANGE k s s BYSCORE [REV] [LIMIT i i] [WITHSCORES]
    ZRANGE d l l BYLEX [REV] [LIMIT i i]
    ZREVRANGE k i i [WITHSCORES]
    ZRANGEBYSCORE k s s [WITHSCORES] [LIMIT i i]
    ZREVRANGEBYSCORE k s s [WITHSCORES] [LIMIT i i]
    ZRANGEBYLEX d l l [LIMIT i i]
    ZREVRANGEBYLEX d l l [LIMIT i i]
    ZRANGESTORE k k i i [REV]
    ZRANGESTORE k k s s BYSCORE [LIMIT i i]
    ZRANGESTORE d d l l BYLEX [REV] [LIMIT i i]
    ZREMRANGEBYRANK k i i
    ZREMRANGEBYSCORE k s s
    ZREMRANGEBYLEX d l l
    ZPOPMIN k [i]
    ZPOPMAX k [i]
    ZMPOP 2 k k (MIN|MAX) [COUNT i]
    BZPOPMIN k k 0.01
    BZPOPMAX k 0.01
    BZMPOP 0.01 2 k k (MIN|MAX) [COUNT i]
    ZUNION 2 k k [WEIGHTS x x] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]
    ZINTER 2 k k [WEIGHTS x x] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]
    ZDIFF 2 k k [WITHSCORES]
    ZUNIONSTORE k 2 k k [WEIGHTS x x] [AGGREGATE (SUM|MIN|MAX)]
    ZINTERSTORE k 2 k k [WEIGHTS i x] [AGGREGATE (SUM|MIN|MAX)]
    ZDIFFSTORE k 2 k k
    ZINTERCARD 2 k k [LIMIT i]
    GEOADD e [NX|XX] [CH] g,f*
    GEOPOS e f*
    GEODIST e f f [u]
    GEOHASH e f*
    GEOSEARCH e (FROMMEMBER f|FROMLONLAT g) BYRADIUS 4000 u (ASC|DESC) [COUNT i] [WITHDIST] [WITHCOORD]
    GEOSEARCH e (FROMMEMBER f|FROMLONLAT g) BYBOX 3000 4000 u (ASC|DESC) [WITHDIST] [WITHHASH]
    GEOSEARCHSTORE e e FROMLONLAT g BYRADIUS 5000 u ASC [COUNT i] [STOREDIST]
    GEORADIUS e g 3000 u ASC [WITHHASH] [WITHDIST]
    GEORADIUSBYMEMBER e f 3000 u DESC
    ZREM e f
    ZRANGE e 0 -1
    ZCARD e
    DEL e
    SORT k [LIMIT i i] [ASC|DESC] ALPHA
    SORT k [LIMIT i i] [GET #] [GET k] [ASC|DESC] ALPHA [STORE k]
    SORT k BY *v [LIMIT i i] [GET #] [ASC|DESC] [STORE k]
    SORT_RO k ALPHA
    SELECT b
    ECHO v
    PING [v]
    MULTI
    EXEC
    EXEC
    DISCARD
    SWAPDB b b
    FLUSHDB
    OBJECT FREQ k
    COMMAND GETKEYS ZUNIONSTORE k 2 k k
    RESET
    CLIENT GETNAME
    CLIENT GETREDIR
    CLIENT TRACKINGINFO
    CLIENT CACHING (YES|NO)
    CLIENT UNPAUSE
    GETEX k [EX 5000|PX 5000000]
    GEORADIUS_RO e g 3000 u ASC [WITHHASH] [WITHDIST]
    GEORADIUSBYMEMBER_RO e f 3000 u DESC
    GEORADIUS e g 3000 u ASC STORE e
    ZRANGESTORE k k s s BYSCORE REV [LIMIT i i]
    SINTERCARD 1 k
    PUBLISH f v
    SPUBLISH f v
    PUBSUB NUMSUB f*
    PUBSUB NUMPAT
    PUBSUB SHARDNUMSUB f*
    UNWATCH
    WAIT 0 0
    COMMAND GETKEYS MSET k v k v
    COMMAND GETKEYS SORT k STORE k
    CLIENT SETNAME f
";

const ANY: &str = "
    KEYS p
    HKEYS k
    HVALS k
    SMEMBERS k
    SINTER k*
    SUNION k*
    SDIFF k*
";

const PAIRS: &str = "
    HGETALL k
";

const NEAR: &str = "
    TTL k
    PTTL k
    PEXPIRETIME k
";

const KIND: &str = "
    HELLO (2|3) [SETNAME f]
    RANDOMKEY
    SRANDMEMBER k [i]
    HRANDFIELD k [i]
    ZRANDMEMBER k [i]
    DUMP k
    MEMORY USAGE k
    TIME
    LASTSAVE
";

/// What an argument may be that a command does not expect.
const WRONG_WORDS: &[&str] = &[
    "abc",
    "1.5",
    "-1",
    "0",
    "00",
    "+1",
    "1e3",
    "99999999999999999999",
    "9223372036854775807",
    "-9223372036854775808",
    "inf",
    "-inf",
    "nan",
    "(1",
    "[a",
    "+",
    "-",
    "COUNT",
    "LIMIT",
    "k1",
    "*",
    "#",
    "18446744073709551615",
];

/// Commands whose arguments are as they expect: those that would wait for ever, those that Redis 7.0 answers without
/// a look at all arguments if the key is absent, those that later versions give more arguments, and containers of
/// commands, whose arguments `holm-server` reads when they run and not when they are queued.
const EXPECTED: &str = "BLPOP BRPOP BLMOVE BRPOPLPUSH BLMPOP BZPOPMIN BZPOPMAX BZMPOP GEORADIUSBYMEMBER BITCOUNT \
                        BITPOS GETEX LINDEX ZRANK ZREVRANK CLIENT OBJECT COMMAND PUBSUB MEMORY \
                        SRANDMEMBER HRANDFIELD ZRANDMEMBER GEORADIUSBYMEMBER_RO WAIT";

/// All templates, each with how replies are compared.
pub(super) struct Grammar {
    templates: Vec<(&'static str, Order)>,
    wrong: u32,
}

impl Grammar {
    /// Commands of some names, or all. `wrong` in a hundred have an argument that they do not expect.
    pub(super) fn new(only: &[String], wrong: u32) -> Self {
        let all =
            [(EXACT, Order::Exact), (ANY, Order::Any), (PAIRS, Order::Pairs), (NEAR, Order::Near), (KIND, Order::Kind)];
        let lines = all.into_iter().flat_map(|(text, order)| text.lines().map(move |line| (line.trim(), order)));
        let wanted = |line: &str| only.is_empty() || only.iter().any(|name| line.split(' ').next() == Some(name));
        let templates = lines.filter(|(line, _)| !line.is_empty() && wanted(line)).collect();
        Grammar { templates, wrong }
    }

    /// Returns a command by chance.
    pub(super) fn draw(&self, chance: &mut impl Rng) -> (Words, Order) {
        let Some((template, order)) = self.templates.choose(chance) else { return (Words::new(), Order::Exact) };
        let mut words = Words::new();
        phrase(template, chance, &mut words);
        let may_differ = words.len() > 1 && !is_in(EXPECTED, &words) && !words[1].starts_with(b"lex");
        if may_differ && chance.random_ratio(self.wrong.min(100), 100) {
            let at = chance.random_range(1..words.len());
            match WRONG_WORDS.choose(chance) {
                Some(word) if chance.random_ratio(4, 5) => words[at] = word.as_bytes().to_vec(),
                _ => drop(words.remove(at)),
            }
        }
        (words, *order)
    }
}

/// Whether the name of a command is a word of a text.
fn is_in(text: &str, words: &[Vec<u8>]) -> bool {
    text.split_whitespace().any(|name| Some(name.as_bytes()) == words.first().map(|name| &name[..]))
}

/// Returns how replies to a command are compared, by its name.
pub(super) fn order(words: &[Vec<u8>]) -> Order {
    match () {
        () if is_in(ANY, words) => Order::Any,
        () if is_in(PAIRS, words) => Order::Pairs,
        () if is_in(NEAR, words) => Order::Near,
        () if is_in(KIND, words) => Order::Kind,
        () => Order::Exact,
    }
}

/// Whether `holm-server` refuses a command within `MULTI`, as its documents say.
pub(super) fn is_refused_in_transactions(words: &[Vec<u8>]) -> bool {
    [&b"FLUSHDB"[..], b"SWAPDB", b"HELLO"].contains(&&words[0][..])
}

/// Cuts the first part off a template: a word, or what is in brackets.
fn first_part(template: &str) -> (&str, &str) {
    let mut depth = 0;
    for (at, letter) in template.char_indices() {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ' ' if depth == 0 => return (&template[..at], &template[at + 1..]),
            _ => {}
        }
    }
    (template, "")
}

/// Divides what is in brackets into its phrases.
fn phrases(inside: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut all) = (0, 0, Vec::new());
    for (at, letter) in inside.char_indices() {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            '|' if depth == 0 => {
                all.push(&inside[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    all.push(&inside[begin..]);
    all
}

fn phrase(mut template: &str, chance: &mut impl Rng, words: &mut Words) {
    while !template.is_empty() {
        let (part, rest) = first_part(template);
        template = rest;
        let inside = part.get(1..part.len() - 1).unwrap_or_default();
        if part.starts_with('(') || part.starts_with('[') && chance.random_ratio(1, 3) {
            if let Some(one) = phrases(inside).choose(chance) {
                phrase(one, chance, words);
            }
        } else if !part.starts_with('[') {
            let (part, times) = match part.strip_suffix('*') {
                Some(part) if !part.is_empty() => (part, chance.random_range(1..4)),
                _ => (part, 1),
            };
            (0..times).for_each(|_| part.split(',').for_each(|kind| word(kind, chance, words)));
        }
    }
}

/// Pushes a word, or the two of a place on the earth.
fn word(kind: &str, chance: &mut impl Rng, words: &mut Words) {
    let small = |chance: &mut dyn rand::RngCore| (chance.next_u32() % 13) as i32 - 4;
    let text = match kind {
        "k" => format!("k{}", chance.random_range(0..6)),
        "e" => format!("geo{}", chance.random_range(0..2)),
        "d" => format!("lex{}", chance.random_range(0..2)),
        "y" => format!("sum{}", chance.random_range(0..3)),
        "h" => format!("log{}", chance.random_range(0..3)),
        "q" => (f64::from(small(chance)) / 4.0).to_string(),
        "f" if chance.random_ratio(1, 40) => long(chance),
        "f" => format!("{}{}", ["f", "member:", "\u{e9}"].choose(chance).unwrap_or(&""), chance.random_range(0..12)),
        "v" if chance.random_ratio(1, 8) => long(chance),
        "v" => {
            ["", "a", "Hello", "10", "3.5", "\0\u{1}", "f1", "f2", "-7", "k1"].choose(chance).unwrap_or(&"").to_string()
        }
        "i" => small(chance).to_string(),
        "b" => chance.random_range(0..2).to_string(),
        "o" => [0, 1, 2, 7, 8, 9, 100, 1000, 4000].choose(chance).unwrap_or(&0).to_string(),
        "#i" => format!("#{}", chance.random_range(0..5)),
        "n" => match chance.random_range(0..10) {
            0 => i64::MAX.to_string(),
            1 => i64::MIN.to_string(),
            _ => (small(chance) * 37).to_string(),
        },
        "x" => match chance.random_range(0..12) {
            0 => "inf".into(),
            1 => "-inf".into(),
            2 => "1e17".into(),
            3 => "0.1".into(),
            4 => "3.0e-5".into(),
            _ => (f64::from(small(chance)) / 4.0).to_string(),
        },
        "s" => match chance.random_range(0..8) {
            0 => "-inf".into(),
            1 => "+inf".into(),
            2 => format!("({}", small(chance)),
            _ => small(chance).to_string(),
        },
        "l" => match chance.random_range(0..6) {
            0 => "-".into(),
            1 => "+".into(),
            2 => format!("(f{}", chance.random_range(0..12)),
            _ => format!("[f{}", chance.random_range(0..12)),
        },
        "u" => ["m", "km", "ft", "mi"].choose(chance).unwrap_or(&"m").to_string(),
        "t" => ["u8", "i8", "u1", "i64", "u63", "i5", "u16"].choose(chance).unwrap_or(&"u8").to_string(),
        "p" => ["*", "k*", "k?", "k[0-3]", "x*"].choose(chance).unwrap_or(&"*").to_string(),
        "T" | "T000" => {
            let second = 4_000_000_000u64 + chance.random_range(0..4);
            format!("{second}{}", &kind[1..])
        }
        "g" => {
            words.push(format!("{}", chance.random_range(-60..60)).into_bytes());
            format!("{}.5", chance.random_range(-80..80))
        }
        literal => literal.to_owned(),
    };
    words.push(text.into_bytes());
}

/// A value that is too long for what is packed.
fn long(chance: &mut impl Rng) -> String {
    let letter = ["x", "yz"].choose(chance).unwrap_or(&"x");
    letter.repeat(chance.random_range(30..400))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn templates_are_filled() {
        let mut chance = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let grammar = Grammar::new(&[], 10);
        for _ in 0..10_000 {
            let (words, _) = grammar.draw(&mut chance);
            assert!(words.iter().all(|word| word.iter().all(|byte| *byte != b'|')), "{words:?}");
        }
        let mut words = Words::new();
        phrase("A (B 7|B 7) [C|D]", &mut chance, &mut words);
        assert_eq!(words[..3], [b"A".to_vec(), b"B".to_vec(), b"7".to_vec()]);
    }
}
