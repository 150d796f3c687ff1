//! FAST and FAIR's leaf: every key and value against the standard library's map, flushes and fences by formula, readers
//! beside a writer, bits torn at random, and every crash of every operation on small fills.
#[path = "fast_fair/crashes.rs"]
mod crashes;
#[path = "fast_fair/names.rs"]
mod names;
#[path = "fast_fair/recorded.rs"]
mod recorded;
