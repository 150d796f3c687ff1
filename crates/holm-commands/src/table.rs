//! The table of all commands that are about keys. A new command is a function and one line.

use crate::arguments::Arguments;
use crate::command::{
    ALL, BLOCKING, COUNTED as LOOKS_UP, Command, DIRECT, FAST, Group, Keys, ONE, READ, SERVED, TWO, WRITE, container,
    of,
};
use crate::commands::*;
use crate::execute::Function;
use crate::refusal::{MOST_REPEATED, Refusal};

/// It reads little, in little time.
const POINT: u32 = READ | DIRECT | FAST;
/// It reads little at an instant, perhaps in much time.
const NEAR: u32 = READ | DIRECT;
/// It writes in little time.
const QUICK: u32 = WRITE | FAST;
/// It writes, and may wait until it can.
const WAITS: u32 = WRITE | BLOCKING;

const NONE: Keys = Keys::None;
const BUT_LAST: Keys = Keys::Span(1, -2, 1);
const COUNTED: Keys = Keys::Counted(1);
const COUNTED_LATER: Keys = Keys::Counted(2);
const TARGET: Keys = Keys::TargetAndCounted(2);
const STORES: Keys = Keys::OneAndStore;

#[rustfmt::skip]
const STRINGS: &[Command<Function>] = &[
    of("get", 2, POINT, ONE, strings::get, "Returns the string of a key"),
    of("set", -3, WRITE, ONE, strings::set, "Stores a string: NX, XX, GET, EX, PX, EXAT, PXAT, KEEPTTL"),
    of("setnx", 3, QUICK, ONE, strings::setnx, "Stores a string if the key is absent"),
    of("setex", 4, WRITE, ONE, strings::setex, "Stores a string that expires after seconds"),
    of("psetex", 4, WRITE, ONE, strings::psetex, "Stores a string that expires after milliseconds"),
    of("getset", 3, QUICK | LOOKS_UP, ONE, strings::getset, "Stores a string and returns the one before"),
    of("getdel", 2, QUICK | LOOKS_UP, ONE, strings::getdel, "Returns a string and removes the key"),
    of("getex", -2, QUICK | LOOKS_UP, ONE, strings::getex, "Returns a string and sets when the key expires"),
    of("mget", -2, READ, ALL, strings::mget, "Returns the strings of several keys"),
    of("mset", -3, WRITE, Keys::Span(1, -1, 2), strings::mset, "Stores several strings at one instant"),
    of("msetnx", -3, WRITE, Keys::Span(1, -1, 2), strings::msetnx, "Stores several strings if all keys are absent"),
    of("append", 3, QUICK, ONE, strings::append, "Appends to a string"),
    of("strlen", 2, POINT, ONE, strings::strlen, "Returns the length of a string"),
    of("getrange", 4, NEAR, ONE, strings::getrange, "Returns a part of a string"),
    of("substr", 4, NEAR, ONE, strings::getrange, "The older name of GETRANGE"),
    of("setrange", 4, WRITE, ONE, strings::setrange, "Overwrites a part of a string"),
    of("lcs", -3, READ, TWO, lcs::lcs, "Returns the longest common subsequence of two strings"),
    of("incr", 2, QUICK, ONE, counters::incr, "Adds 1 to a number"),
    of("decr", 2, QUICK, ONE, counters::decr, "Subtracts 1 from a number"),
    of("incrby", 3, QUICK, ONE, counters::incrby, "Adds to a number"),
    of("decrby", 3, QUICK, ONE, counters::decrby, "Subtracts from a number"),
    of("incrbyfloat", 3, QUICK, ONE, counters::incrbyfloat, "Adds to a decimal number"),
];

#[rustfmt::skip]
const BITMAPS: &[Command<Function>] = &[
    of("setbit", 4, WRITE, ONE, bits::setbit, "Sets a bit and returns the one before"),
    of("getbit", 3, POINT, ONE, bits::getbit, "Returns a bit"),
    of("bitcount", -2, NEAR, ONE, bits::bitcount, "Counts the bits that are set"),
    of("bitpos", -3, NEAR, ONE, bits::bitpos, "Finds the first bit that is set or not"),
    of("bitop", -4, WRITE | LOOKS_UP, Keys::Span(2, -1, 1), bits::bitop, "Combines strings bit by bit"),
    of("bitfield", -2, WRITE, ONE, bitfield::bitfield, "Integers of any bits: GET, SET, INCRBY, OVERFLOW"),
    of("bitfield_ro", -2, NEAR, ONE, bitfield::bitfield_ro, "Reads integers of any bits: GET"),
];

#[rustfmt::skip]
const HYPERLOGLOGS: &[Command<Function>] = &[
    of("pfadd", -2, QUICK, ONE, hyperloglog::pfadd, "Adds elements that are to be counted"),
    of("pfcount", -2, READ, ALL, hyperloglog::pfcount, "Estimates how many distinct elements were added"),
    of("pfmerge", -2, WRITE | LOOKS_UP, ALL, hyperloglog::pfmerge, "Adds the elements of several to one"),
    of("pfdebug", 3, WRITE, Keys::Span(2, 2, 1), hyperloglog::pfdebug, "GETREG, ENCODING, TODENSE: for tests"),
];

#[rustfmt::skip]
const PLACES: &[Command<Function>] = &[
    of("geoadd", -5, WRITE, ONE, geo::geoadd, "Adds members at places: NX, XX, CH"),
    of("geopos", -2, READ, ONE, geo::geopos, "Returns the places of members"),
    of("geohash", -2, READ, ONE, geo::geohash, "Returns the places of members as geohashes"),
    of("geodist", -4, READ, ONE, geo::geodist, "Returns the distance between two members"),
    of("geosearch", -7, READ, ONE, geo_search::geosearch, "Returns the members within a circle or a box"),
    of("geosearchstore", -8, WRITE | LOOKS_UP, TWO, geo_search::geosearchstore,
        "Stores the members within a circle or a box"),
    of("georadius", -6, WRITE | LOOKS_UP, STORES, geo_search::georadius,
        "The older form of GEOSEARCH and GEOSEARCHSTORE"),
    of("georadius_ro", -6, READ, ONE, geo_search::georadius_ro, "The older form of GEOSEARCH"),
    of("georadiusbymember", -5, WRITE | LOOKS_UP, STORES, geo_search::georadiusbymember, "GEORADIUS around a member"),
    of("georadiusbymember_ro", -5, READ, ONE, geo_search::georadiusbymember_ro, "GEORADIUS_RO around a member"),
];

#[rustfmt::skip]
const KEYS: &[Command<Function>] = &[
    of("del", -2, WRITE, ALL, keys::del, "Removes keys"),
    of("unlink", -2, QUICK, ALL, keys::del, "Removes keys, as DEL"),
    of("exists", -2, READ, ALL, keys::exists, "Counts the keys that are present"),
    of("type", 2, POINT, ONE, keys::type_of, "Returns the type of a key"),
    of("touch", -2, READ, ALL, keys::exists, "Counts the keys that are present"),
    of("rename", 3, WRITE, TWO, keys::rename, "Renames a key; any collection in constant time"),
    of("renamenx", 3, QUICK, TWO, keys::renamenx, "Renames a key if the new name is absent"),
    of("copy", -3, WRITE | LOOKS_UP, TWO, keys::copy, "Copies a key: DB, REPLACE"),
    of("move", 3, QUICK, ONE, keys::move_key, "Moves a key to another database"),
    of("keys", 2, READ, NONE, keys::keys, "Returns all keys that match a pattern"),
    of("scan", -2, NEAR, NONE, scan::scan, "Returns keys in steps, in their order: MATCH, COUNT, TYPE"),
    of("randomkey", 1, NEAR, NONE, keys::randomkey, "Returns a key by chance"),
    of("dbsize", 1, POINT, NONE, keys::dbsize, "Counts the keys of a database"),
    container(of("object", -2, NEAR, Keys::Span(2, 2, 1), keys::object, "ENCODING, REFCOUNT, IDLETIME, FREQ, HELP"),
        keys::OF_OBJECT),
    container(of("memory", -2, READ | SERVED, Keys::Span(2, 2, 1), keys::memory,
        "USAGE: bytes of a key at rest; STATS, DOCTOR, MALLOC-STATS, PURGE, HELP"),
        keys::OF_MEMORY),
    of("sort", -2, WRITE | LOOKS_UP, STORES, sort::sort, "Sorts elements: BY, LIMIT, GET, ASC, DESC, ALPHA, STORE"),
    of("sort_ro", -2, READ, ONE, sort::sort_ro, "Sorts elements, as SORT without STORE"),
    of("dump", 2, READ, ONE, portable::dump, "Returns a key as bytes that RESTORE reads"),
    of("restore", -4, WRITE, ONE, portable::restore, "Makes a key of the bytes of DUMP: REPLACE, ABSTTL"),
];

#[rustfmt::skip]
const EXPIRY: &[Command<Function>] = &[
    of("expire", -3, QUICK, ONE, expiry::expire, "Lets a key expire after seconds: NX, XX, GT, LT"),
    of("pexpire", -3, QUICK, ONE, expiry::pexpire, "Lets a key expire after milliseconds"),
    of("expireat", -3, QUICK, ONE, expiry::expireat, "Lets a key expire at a time in seconds"),
    of("pexpireat", -3, QUICK, ONE, expiry::pexpireat, "Lets a key expire at a time in milliseconds"),
    of("ttl", 2, POINT, ONE, expiry::ttl, "Returns the seconds until a key expires"),
    of("pttl", 2, POINT, ONE, expiry::pttl, "Returns the milliseconds until a key expires"),
    of("expiretime", 2, POINT, ONE, expiry::expiretime, "Returns when a key expires, in seconds"),
    of("pexpiretime", 2, POINT, ONE, expiry::pexpiretime, "Returns when a key expires, in milliseconds"),
    of("persist", 2, QUICK, ONE, expiry::persist, "Lets a key stay for ever"),
];

#[rustfmt::skip]
const HASHES: &[Command<Function>] = &[
    of("hset", -4, QUICK, ONE, hashes::hset, "Gives fields values"),
    of("hmset", -4, QUICK, ONE, hashes::hmset, "The older name of HSET"),
    of("hsetnx", 4, QUICK, ONE, hashes::hsetnx, "Gives a field a value if it is absent"),
    of("hget", 3, POINT, ONE, hashes::hget, "Returns the value of a field"),
    of("hmget", -3, READ, ONE, hashes::hmget, "Returns the values of fields"),
    of("hgetall", 2, READ, ONE, hashes::hgetall, "Returns all fields and values"),
    of("hkeys", 2, READ, ONE, hashes::hkeys, "Returns all fields"),
    of("hvals", 2, READ, ONE, hashes::hvals, "Returns all values"),
    of("hlen", 2, POINT, ONE, hashes::hlen, "Counts the fields"),
    of("hexists", 3, POINT, ONE, hashes::hexists, "Returns whether a field is present"),
    of("hstrlen", 3, POINT, ONE, hashes::hstrlen, "Returns the length of a field's value"),
    of("hdel", -3, QUICK, ONE, hashes::hdel, "Removes fields"),
    of("hincrby", 4, QUICK, ONE, hashes::hincrby, "Adds to the number of a field"),
    of("hincrbyfloat", 4, QUICK, ONE, hashes::hincrbyfloat, "Adds to the decimal number of a field"),
    of("hrandfield", -2, READ, ONE, hashes::hrandfield, "Returns fields by chance"),
    of("hscan", -3, READ, ONE, scan::hscan, "Returns fields in steps: MATCH, COUNT, NOVALUES"),
];

#[rustfmt::skip]
const SETS: &[Command<Function>] = &[
    of("sadd", -3, QUICK, ONE, sets::sadd, "Adds members"),
    of("srem", -3, QUICK, ONE, sets::srem, "Removes members"),
    of("sismember", 3, POINT, ONE, sets::sismember, "Returns whether a member is present"),
    of("smismember", -3, READ, ONE, sets::smismember, "Returns which members are present"),
    of("smembers", 2, READ, ONE, sets::smembers, "Returns all members"),
    of("scard", 2, POINT, ONE, sets::scard, "Counts the members"),
    of("spop", -2, QUICK, ONE, sets::spop, "Removes members by chance and returns them"),
    of("srandmember", -2, READ, ONE, sets::srandmember, "Returns members by chance"),
    of("smove", 4, QUICK, TWO, sets::smove, "Moves a member to another set"),
    of("sinter", -2, READ, ALL, sets::sinter, "Returns what all sets have"),
    of("sunion", -2, READ, ALL, sets::sunion, "Returns what any set has"),
    of("sdiff", -2, READ, ALL, sets::sdiff, "Returns what only the first set has"),
    of("sinterstore", -3, WRITE | LOOKS_UP, ALL, sets::sinterstore, "Stores what all sets have"),
    of("sunionstore", -3, WRITE | LOOKS_UP, ALL, sets::sunionstore, "Stores what any set has"),
    of("sdiffstore", -3, WRITE | LOOKS_UP, ALL, sets::sdiffstore, "Stores what only the first set has"),
    of("sintercard", -3, READ, COUNTED, sets::sintercard, "Counts what all sets have: LIMIT"),
    of("sscan", -3, READ, ONE, scan::sscan, "Returns members in steps: MATCH, COUNT"),
];

#[rustfmt::skip]
const SORTED_SETS: &[Command<Function>] = &[
    of("zadd", -4, QUICK, ONE, sorted_sets::zadd, "Gives members scores: NX, XX, GT, LT, CH, INCR"),
    of("zincrby", 4, QUICK, ONE, sorted_sets::zincrby, "Adds to the score of a member"),
    of("zrem", -3, QUICK, ONE, sorted_sets::zrem, "Removes members"),
    of("zscore", 3, POINT, ONE, sorted_sets::zscore, "Returns the score of a member"),
    of("zmscore", -3, READ, ONE, sorted_sets::zmscore, "Returns the scores of members"),
    of("zcard", 2, POINT, ONE, sorted_sets::zcard, "Counts the members"),
    of("zrank", -3, READ, ONE, sorted_sets::zrank, "Counts the members with lower scores, in linear time"),
    of("zrevrank", -3, READ, ONE, sorted_sets::zrevrank, "Counts the members with higher scores, in linear time"),
    of("zrange", -4, READ, ONE, sorted_ranges::zrange, "Returns a range: BYSCORE, BYLEX, REV, LIMIT, WITHSCORES"),
    of("zrevrange", -4, READ, ONE, sorted_ranges::zrevrange, "Returns a range by rank, from the greatest score"),
    of("zrangebyscore", -4, READ, ONE, sorted_ranges::zrangebyscore, "Returns a range of scores"),
    of("zrevrangebyscore", -4, READ, ONE, sorted_ranges::zrevrangebyscore, "Returns scores, from the greatest"),
    of("zrangebylex", -4, READ, ONE, sorted_ranges::zrangebylex, "Returns a range of members"),
    of("zrevrangebylex", -4, READ, ONE, sorted_ranges::zrevrangebylex, "Returns a range of members, from the greatest"),
    of("zrangestore", -5, WRITE | LOOKS_UP, TWO, sorted_ranges::zrangestore, "Stores a range"),
    of("zcount", 4, READ, ONE, sorted_ranges::zcount, "Counts a range of scores, in linear time"),
    of("zlexcount", 4, READ, ONE, sorted_ranges::zlexcount, "Counts a range of members, in linear time"),
    of("zremrangebyrank", 4, WRITE, ONE, sorted_ranges::zremrangebyrank, "Removes a range by rank"),
    of("zremrangebyscore", 4, WRITE, ONE, sorted_ranges::zremrangebyscore, "Removes a range of scores"),
    of("zremrangebylex", 4, WRITE, ONE, sorted_ranges::zremrangebylex, "Removes a range of members"),
    of("zpopmin", -2, QUICK, ONE, sorted_sets::zpopmin, "Removes the members with the least scores"),
    of("zpopmax", -2, QUICK, ONE, sorted_sets::zpopmax, "Removes the members with the greatest scores"),
    of("bzpopmin", -3, WAITS, BUT_LAST, sorted_sets::bzpopmin, "As ZPOPMIN of the first set with members, or waits"),
    of("bzpopmax", -3, WAITS, BUT_LAST, sorted_sets::bzpopmax, "As ZPOPMAX of the first set with members, or waits"),
    of("zmpop", -4, WRITE, COUNTED, sorted_sets::zmpop, "Pops from the first set with members: MIN, MAX, COUNT"),
    of("bzmpop", -5, WAITS, COUNTED_LATER, sorted_sets::bzmpop, "As ZMPOP, or waits"),
    of("zrandmember", -2, READ, ONE, sorted_sets::zrandmember, "Returns members by chance"),
    of("zunion", -3, READ, COUNTED, sorted_stores::zunion, "Returns a union: WEIGHTS, AGGREGATE, WITHSCORES"),
    of("zinter", -3, READ, COUNTED, sorted_stores::zinter, "Returns an intersection: WEIGHTS, AGGREGATE, WITHSCORES"),
    of("zdiff", -3, READ, COUNTED, sorted_stores::zdiff, "Returns a difference: WITHSCORES"),
    of("zunionstore", -4, WRITE | LOOKS_UP, TARGET, sorted_stores::zunionstore, "Stores a union"),
    of("zinterstore", -4, WRITE | LOOKS_UP, TARGET, sorted_stores::zinterstore, "Stores an intersection"),
    of("zdiffstore", -4, WRITE | LOOKS_UP, TARGET, sorted_stores::zdiffstore, "Stores a difference"),
    of("zintercard", -3, READ, COUNTED, sorted_stores::zintercard, "Counts an intersection: LIMIT"),
    of("zscan", -3, READ, ONE, scan::zscan, "Returns members in steps: MATCH, COUNT"),
];

#[rustfmt::skip]
const LISTS: &[Command<Function>] = &[
    of("lpush", -3, QUICK, ONE, lists::lpush, "Pushes to the front"),
    of("rpush", -3, QUICK, ONE, lists::rpush, "Pushes to the back"),
    of("lpushx", -3, QUICK, ONE, lists::lpushx, "Pushes to the front of a list that is present"),
    of("rpushx", -3, QUICK, ONE, lists::rpushx, "Pushes to the back of a list that is present"),
    of("lpop", -2, QUICK, ONE, lists::lpop, "Pops from the front"),
    of("rpop", -2, QUICK, ONE, lists::rpop, "Pops from the back"),
    of("llen", 2, POINT, ONE, lists::llen, "Counts the elements"),
    of("lindex", 3, READ, ONE, lists::lindex, "Returns the element at an index"),
    of("lset", 4, WRITE, ONE, lists::lset, "Replaces the element at an index"),
    of("lrange", 4, READ, ONE, lists::lrange, "Returns a range of elements"),
    of("ltrim", 4, WRITE, ONE, lists::ltrim, "Removes all but a range of elements"),
    of("linsert", 5, WRITE, ONE, lists::linsert, "Inserts before or after an element"),
    of("lrem", 4, WRITE, ONE, lists::lrem, "Removes equal elements"),
    of("lpos", -3, READ, ONE, lists::lpos, "Finds elements: RANK, COUNT, MAXLEN"),
    of("lmove", 5, WRITE, TWO, list_moves::lmove, "Moves an element to another list"),
    of("rpoplpush", 3, WRITE, TWO, list_moves::rpoplpush, "Moves the last element to the front of another list"),
    of("lmpop", -4, WRITE, COUNTED, list_moves::lmpop, "Pops from the first list with elements: LEFT, RIGHT, COUNT"),
    of("blpop", -3, WAITS, BUT_LAST, list_moves::blpop, "As LPOP of the first list with elements, or waits"),
    of("brpop", -3, WAITS, BUT_LAST, list_moves::brpop, "As RPOP of the first list with elements, or waits"),
    of("blmove", 6, WAITS, TWO, list_moves::blmove, "As LMOVE, or waits"),
    of("brpoplpush", 4, WAITS, TWO, list_moves::brpoplpush, "As RPOPLPUSH, or waits"),
    of("blmpop", -5, WAITS, COUNTED_LATER, list_moves::blmpop, "As LMPOP, or waits"),
];

#[rustfmt::skip]
const ORDERED_KEYS: &[Command<Function>] = &[
    of("holm.range", -3, READ, NONE, ordered::range, "Returns a range of keys: REV, LIMIT, WITHVALUES"),
    of("holm.count", 3, READ, NONE, ordered::count_range, "Counts a range of keys, in linear time"),
    of("holm.remove", -3, WRITE, NONE, ordered::remove_range, "Removes a range of keys at one instant: LIMIT"),
];

/// All commands that are about keys, by family.
pub const TABLE: &[Group<Function>] = &[
    Group { title: "strings", commands: STRINGS },
    Group { title: "bitmaps", commands: BITMAPS },
    Group { title: "counting", commands: HYPERLOGLOGS },
    Group { title: "keys", commands: KEYS },
    Group { title: "expiry", commands: EXPIRY },
    Group { title: "hashes", commands: HASHES },
    Group { title: "sets", commands: SETS },
    Group { title: "sorted sets", commands: SORTED_SETS },
    Group { title: "places", commands: PLACES },
    Group { title: "lists", commands: LISTS },
    Group { title: "ordered keys", commands: ORDERED_KEYS },
];

/// Commands that clients may know and this server has not, with the reason.
pub const UNSUPPORTED: &[(&str, &str)] = &[
    ("eval", "there are no scripts"),
    ("evalsha", "there are no scripts"),
    ("eval_ro", "there are no scripts"),
    ("evalsha_ro", "there are no scripts"),
    ("script", "there are no scripts"),
    ("fcall", "there are no functions"),
    ("fcall_ro", "there are no functions"),
    ("module", "there are no modules"),
    ("xadd", "there are no streams"),
    ("xread", "there are no streams"),
    ("xreadgroup", "there are no streams"),
    ("xrange", "there are no streams"),
    ("xrevrange", "there are no streams"),
    ("xlen", "there are no streams"),
    ("xdel", "there are no streams"),
    ("xtrim", "there are no streams"),
    ("xgroup", "there are no streams"),
    ("xack", "there are no streams"),
    ("xinfo", "there are no streams"),
    ("xpending", "there are no streams"),
    ("xclaim", "there are no streams"),
    ("xautoclaim", "there are no streams"),
    ("replicaof", "nobody follows another server as a replica"),
    ("slaveof", "nobody follows another server as a replica"),
    ("psync", "nobody follows another server as a replica"),
    ("cluster", "the server is a single node"),
    ("failover", "nobody follows another server as a replica"),
    ("monitor", "commands are not shown to other clients"),
];

/// Returns the refusal of a name that no command of a program has.
pub fn unknown_command(arguments: &Arguments<'_>, program: &str) -> Refusal {
    let name = arguments.at(0).escape_ascii().to_string();
    if let Some((_, reason)) = UNSUPPORTED.iter().find(|(unsupported, _)| arguments.is(0, unsupported)) {
        return Refusal::of(format!("ERR unknown command '{name}': {reason} in {program}"));
    }
    let mut given = String::new();
    for word in arguments.from(1) {
        if given.len() >= MOST_REPEATED {
            break;
        }
        let word = &word[..word.len().min(MOST_REPEATED - given.len())];
        given.push_str(&format!("'{}' ", word.escape_ascii()));
    }
    let name = &name[..name.len().min(MOST_REPEATED)];
    Refusal::of(format!("ERR unknown command '{name}', with args beginning with: {given}"))
}
