//! Tests of the built binary, run as users run it: a process per call, with files in between.
#![forbid(unsafe_code)]

mod atomic;
mod backups;
mod compaction;
mod damaged;
mod dumps;
mod expiry;
mod input;
mod load;
mod output;
mod program;
mod ranges;
mod reading;
mod records;
mod support;
mod watch;
