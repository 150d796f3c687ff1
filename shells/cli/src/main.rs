//! `holm`, the command line of the store: one file per command, one line of dispatch per command.
//!
//! Scripts can rely on the exit codes: 0 found or done, 1 absent or unequal, 2 error or fault. Errors take one line of
//! standard error. If the reader of the output leaves early, the program exits silently. The engine decides what bytes
//! mean, when they are durable and what a crash may lose. `formats` and `escape` convert bytes to text.
#![forbid(unsafe_code)]

mod apply;
mod args;
mod backup;
mod bench;
mod bounds;
mod cas;
mod check;
mod clear;
mod compact;
mod completions;
mod count;
mod del;
mod drop;
mod dump;
mod escape;
mod exit;
mod expire;
mod expiring;
mod export;
mod formats;
mod get;
mod incr;
mod input;
mod interrupt;
mod keyspaces;
mod load;
mod man;
mod opened;
mod output;
mod pop;
mod progress;
mod put;
mod repair;
mod restore;
mod scan;
mod scrub;
mod stat;
mod sweep;
mod verify;
mod watch;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    interrupt::outlive_file_limits();
    let verb = match args::Arguments::try_parse() {
        Ok(arguments) => arguments.verb,
        Err(answer) => return exit::of_arguments(&answer),
    };
    let done = match &verb {
        args::Verb::Load(args) => load::run(args),
        args::Verb::Watch(args) => watch::run(args),
        args::Verb::Get(args) => get::run(args),
        args::Verb::Put(args) => put::run(args),
        args::Verb::Del(args) => del::run(args),
        args::Verb::Expire(args) => expire::run(args),
        args::Verb::Cas(args) => cas::run(args),
        args::Verb::Incr(args) => incr::run(args),
        args::Verb::Pop(args) => pop::run(args),
        args::Verb::Scan(args) => scan::run(args),
        args::Verb::Count(args) => count::run(args),
        args::Verb::Export(args) => export::run(args),
        args::Verb::Clear(args) => clear::run(args),
        args::Verb::Backup(args) => backup::run(args),
        args::Verb::Dump(args) => dump::run(args),
        args::Verb::Restore(args) => restore::run(args),
        args::Verb::Apply(args) => apply::run(args),
        args::Verb::Verify(args) => verify::run(args),
        args::Verb::Keyspaces(args) => keyspaces::run(args),
        args::Verb::Drop(args) => drop::run(args),
        args::Verb::Stat(args) => stat::run(args),
        args::Verb::Check(args) => check::run(args),
        args::Verb::Scrub(args) => scrub::run(args),
        args::Verb::Repair(args) => repair::run(args),
        args::Verb::Sweep(args) => sweep::run(args),
        args::Verb::Compact(args) => compact::run(args),
        args::Verb::Bench(args) => bench::run(args),
        args::Verb::Completions(args) => completions::run(args),
        args::Verb::Man(args) => man::run(args),
    };
    exit::code(done)
}
