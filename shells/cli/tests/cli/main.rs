//! The built binary, run as its users run it: a process per call, files in between.
#![forbid(unsafe_code)]

mod input;
mod load;
mod output;
mod reading;
mod records;
mod support;
