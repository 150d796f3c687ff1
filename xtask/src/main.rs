//! The project's commands, as `cargo xtask COMMAND`: check, crash, schedules, simulate, histories, damage, mutants,
//! miri, fuzz, stores, kill, power-cut, bench, designs, figures, artifact, report, redis-suite, redis-bench,
//! redis-large, redis-tail, ycsb, cluster, jepsen, failover, cluster-bench, cluster-model, install-c, wheel, new-leaf.
//!
//! Each command is a few calls of cargo in the root of the workspace. The code that it runs is in the crates, so this
//! file is not needed for work on them. `tidy` is not a command: it is one of the tests.

#![forbid(unsafe_code)]

mod artifact;
mod cluster;
mod cluster_bench;
mod cluster_model;
mod mutants;
mod new_leaf;
mod proofs;
mod python;
mod redis_bench;
mod redis_compare;
mod redis_large;
mod redis_stand_in;
mod redis_suite;
mod redis_tail;
mod ycsb;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Parser;

/// The project's commands.
#[derive(Parser)]
#[command(name = "cargo xtask", arg_required_else_help = true)]
enum Verb {
    /// Runs the checks of continuous integration: format, lints, documentation, tests (tidy among them).
    Check,
    /// Explores the crashes of designs; every failure prints the seed that repeats it.
    Crash(Crash),
    /// Explores schedules of latch, clock, slab and tree, and crashes some; every failure prints the schedule that
    /// repeats it.
    Schedules(proofs::Schedules),
    /// Simulates the whole store: threads, faults and crashes, all drawn from seeds; every failure prints the seed that
    /// repeats it, and a smaller plan. Arguments go to the program itself: `--seed`, `--seconds`, `--profile`.
    Simulate(Rest),
    /// Checks many histories of transactions: each has an order, and what a crash leaves is closed under the
    /// dependencies between them. First under the scheduler, then with threads over a database.
    Histories(proofs::Histories),
    /// Damages databases at rest, opens them and repairs them; every failure prints the seed that repeats it.
    Damage(proofs::Damage),
    /// Makes bugs, in the designs or in the store, and lists those that no trial catches.
    #[command(subcommand)]
    Mutants(mutants::Mutants),
    /// Interprets the portable tests with Miri, which the nightly toolchain must have as a component.
    Miri {
        /// Runs of each test, with different schedules and weak-memory choices.
        #[arg(long, default_value_t = 1)]
        seeds: u64,
    },
    /// Fuzzes the ordered map or a database with operations, a database's files with damage, or the server's parser
    /// with requests, guided by coverage. A file that repeats each failure is kept. Needs a C++ compiler.
    Fuzz(proofs::Fuzz),
    /// Reads the release's machine code: no store to a durable word may be wider than eight bytes.
    Stores,
    /// Kills a process with four writers and two readers at random moments, again and again, and checks what each has
    /// left; arguments go to the program itself: `--kills`, `--seed`, `--dir`, `--transactions`,
    /// `--preload`, `--memory`.
    Kill(Rest),
    /// Simulates power failures of a real file system under a writing database, again and again; arguments go to the
    /// program itself: `--cuts`, `--seed`, `--file-system`, `--same-boot`, `--preload`, `--memory`.
    PowerCut(Rest),
    /// Runs the workloads on Holm and on other engines; arguments go to the program itself.
    Bench(Rest),
    /// Measures the designs, with keys of one word over plain memory; arguments go to the program itself.
    Designs(Rest),
    /// Runs figures of the papers, or lists them (`--list`); arguments go to the program itself. The exception is
    /// `--reads`: it builds the program so that it counts the lines that operations read, and runs the figures that
    /// need this.
    Figures(Rest),
    /// Runs all figures and the table of crashes, and writes the page of them. A second call goes on where the first
    /// one ended.
    Artifact(artifact::Artifact),
    /// Writes a page of the figures that have been run; arguments go to the program itself.
    Report(Rest),
    /// Measures `holm-server` beside `redis-server`, with `redis-benchmark` as the client of both.
    RedisBench(redis_bench::RedisBench),
    /// Plays the same commands by chance to `holm-server` and to `redis-server`, and compares each reply.
    RedisCompare(redis_compare::RedisCompare),
    /// Measures the memory of `holm-server` and `redis-server` with many keys, and a SCAN of all of them.
    RedisLarge(redis_large::RedisLarge),
    /// Measures how long replies of `holm-server` and `redis-server` take at the same load.
    RedisTail(redis_tail::RedisTail),
    /// Measures `holm-server` beside `redis-server` with YCSB's own core and binding. Needs Java and Maven.
    Ycsb(ycsb::Ycsb),
    /// Runs the tests of Redis, in Tcl, against `holm-server`; what fails must be listed with its reason.
    RedisSuite(redis_suite::RedisSuite),
    /// Builds `holm-cluster`, the node of a cluster, in the folder of cargo's artifacts. Needs Go and a C compiler.
    Cluster(cluster::Cluster),
    /// Runs histories of clients against a cluster whose nodes are killed, paused and robbed of power, and checks that
    /// each is linearizable; arguments go to the program itself: `--seconds`, `--mutant`, `--seed`.
    Jepsen(Rest),
    /// Kills the leader of a cluster again and again, and says how long a client waits for its next write; arguments go
    /// to the program itself: `--runs`, `--election-ms`.
    Failover(Rest),
    /// Measures `holm-cluster`, of three nodes on this machine, beside `holm-server` and three members of etcd.
    ClusterBench(cluster_bench::ClusterBench),
    /// What a cluster of many machines does, on paper, from what was measured on one.
    ClusterModel(cluster_model::ClusterModel),
    /// Installs the C library, its header and its pkg-config file under a prefix.
    InstallC(Rest),
    /// Builds a wheel of the Python package in `target/wheels`, with maturin, which gets the arguments.
    Wheel(Rest),
    /// Creates a new leaf: its file from the template, its line in the list of designs, its page, its row in the table.
    NewLeaf {
        /// In snake case: the name of the file, of the design, and of the row in every report.
        name: String,
    },
}

#[derive(clap::Args)]
struct Crash {
    /// One design only, by its name in the list.
    #[arg(long)]
    design: Option<String>,
    /// The first seed of the generator: a failure's own seed repeats it. Without one, the scenarios of the test suite
    /// come first.
    #[arg(long)]
    seed: Option<u64>,
    /// How many seconds to explore.
    #[arg(long)]
    seconds: Option<u64>,
    /// The verdicts as JSON.
    #[arg(long)]
    json: bool,
    /// Prints the table of coverage instead of exploring seeds. Fails if a design, a change and a model meet in no
    /// image.
    #[arg(long)]
    table: bool,
    /// Prints the table of files: what a database does with them, and how many images a stop there leaves.
    #[arg(long)]
    files: bool,
    /// Uses the variants of designs, in place of the designs themselves.
    #[arg(long)]
    variants: bool,
}

#[derive(clap::Args)]
struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Crash {
    fn arguments(&self) -> Vec<String> {
        let seed = self.seed.map(|seed| seed.to_string());
        let seconds = self.seconds.map(|seconds| seconds.to_string());
        let valued = [("--design", &self.design), ("--seed", &seed), ("--seconds", &seconds)];
        let mut arguments = Vec::new();
        for (name, value) in valued {
            arguments.extend(value.iter().flat_map(|value| [name.to_owned(), value.clone()]));
        }
        arguments.extend(self.json.then(|| "--json".to_owned()));
        arguments.extend(self.table.then(|| "--table".to_owned()));
        arguments.extend(self.files.then(|| "--files".to_owned()));
        arguments.extend(self.variants.then(|| "--variants".to_owned()));
        arguments
    }
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Check => check(),
        // In a release build words do not report reads, and every image would be opened.
        Verb::Crash(crash) => {
            let features: &[&str] = if crash.variants { &["variants"] } else { &[] };
            run_program("proof", "holm-proof", (Some("crash"), features), &crash.arguments())
        }
        Verb::Schedules(settings) => proofs::schedules(&settings),
        Verb::Simulate(rest) => proofs::simulate(&rest.arguments),
        Verb::Histories(settings) => proofs::histories(&settings),
        Verb::Damage(settings) => proofs::damage(&settings),
        Verb::Miri { seeds } => proofs::miri(seeds),
        Verb::Fuzz(settings) => proofs::fuzz(&settings),
        Verb::Mutants(verb) => mutants::run(&verb),
        Verb::Stores => proofs::stores(),
        Verb::Kill(rest) => run_program("release", "holm-proof", (Some("kill-loop"), &[]), &rest.arguments),
        Verb::PowerCut(rest) => run_program("release", "holm-proof", (Some("power-cut"), &[]), &rest.arguments),
        Verb::Bench(rest) => run_program("release", "holm-rivals", (None, &[]), &rest.arguments),
        Verb::Designs(rest) => run_program("release", "holm-figures", (Some("designs"), &[]), &rest.arguments),
        Verb::Figures(rest) => figures("run", &rest.arguments),
        Verb::Artifact(settings) => artifact::run(&settings),
        Verb::Report(rest) => figures("report", &rest.arguments),
        Verb::RedisBench(settings) => redis_bench::run(&settings),
        Verb::RedisCompare(settings) => redis_compare::run(&settings),
        Verb::RedisLarge(settings) => redis_large::run(&settings),
        Verb::RedisTail(settings) => redis_tail::run(&settings),
        Verb::Ycsb(settings) => ycsb::run(&settings),
        Verb::RedisSuite(settings) => redis_suite::run(&settings),
        Verb::InstallC(rest) => run_program("release", "holm-capi", (None, &[]), &from_here(&rest.arguments)?),
        Verb::Cluster(settings) => cluster::cluster(root(), &settings),
        Verb::Jepsen(rest) => cluster::run(root(), "jepsen", &rest.arguments),
        Verb::Failover(rest) => cluster::run(root(), "failover", &rest.arguments),
        Verb::ClusterBench(settings) => cluster_bench::run(root(), &settings),
        Verb::ClusterModel(settings) => cluster_model::run(&settings),
        Verb::Wheel(rest) => python::wheel(root(), &rest.arguments),
        Verb::NewLeaf { name } => new_leaf::create(root(), &name),
    }
}

/// Makes paths relative to the caller's folder absolute, because programs run in the root of the workspace. Options
/// stay as they are.
fn from_here(arguments: &[String]) -> Result<Vec<String>> {
    let absolute = |argument: &String| match argument.starts_with('-') {
        true => Ok(argument.clone()),
        false => Ok(std::path::absolute(argument)?.to_string_lossy().into_owned()),
    };
    arguments.iter().map(absolute).collect()
}

fn figures(verb: &str, arguments: &[String]) -> Result<()> {
    let (reads, rest): (Vec<_>, Vec<_>) = arguments.iter().cloned().partition(|argument| argument == "--reads");
    let arguments: Vec<_> = std::iter::once(verb.to_owned()).chain(rest).collect();
    // Words report reads only in builds with debug assertions.
    let (profile, features): (_, &[&str]) = if reads.is_empty() { ("release", &[]) } else { ("proof", &["reads"]) };
    run_program(profile, "holm-figures", (None, features), &arguments)
}

/// The crates for users, each a whole package: licences, README, versions of what it depends on.
const PACKAGES: &[&str] = &[
    "holm",
    "holm-accounts",
    "holm-bench",
    "holm-capi",
    "holm-cli",
    "holm-commands",
    "holm-designs",
    "holm-map",
    "holm-medium",
    "holm-node",
    "holm-search",
    "holm-server",
    "holm-tree",
];

/// The same steps as continuous integration, the quick ones first.
fn check() -> Result<()> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    // One call checks each crate once, with every feature. Other engines and maps take longer than all of the rest.
    let without = ["--exclude", "holm-rivals", "--exclude", "holm-rivals-maps"];
    let lints =
        [&["clippy", "--workspace"], &without[..], &["--all-features", "--all-targets", "--", "-D", "warnings"]];
    cargo(&lints.concat(), &[])?;
    // By itself: with the command line, which wants `serde`, its features are always on.
    cargo(&["clippy", "--package", "holm", "--", "-D", "warnings"], &[])?;
    other_targets()?;
    cargo(&["doc", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    let packages = PACKAGES.iter().flat_map(|name| ["--package", name]);
    cargo(&["package", "--no-verify", "--allow-dirty"].into_iter().chain(packages).collect::<Vec<_>>(), &[])?;
    cargo(&["test"], &[])?;
    // What the features of the store add.
    for kind in ["--lib", "--doc"] {
        cargo(&["test", "--package", "holm", "--all-features", kind, "--", "typed", "slice"], &[])?;
    }
    cargo(
        &[
            "test",
            "--package",
            "holm-accounts",
            "--package",
            "holm-commands",
            "--package",
            "holm-node",
            "--package",
            "holm-node-capi",
            "--package",
            "holm-server",
        ],
        &[],
    )?;
    // All of these run on the same designs, which `holm-lab` compiles once.
    let measuring = ["holm-lab", "holm-pibench", "holm-figures", "xtask"].iter().flat_map(|name| ["--package", name]);
    cargo(&std::iter::once("test").chain(measuring).collect::<Vec<_>>(), &[])?;
    proofs::schedules(&proofs::Schedules::default())?;
    proofs::stores()
}

/// Targets on which nothing is run. ARM has another page size, weaker memory and no vector kernels of ours; macOS lacks
/// what only Linux has.
const OTHER_TARGETS: [&str; 2] = ["aarch64-unknown-linux-gnu", "aarch64-apple-darwin"];

/// Lets the compiler check the store for other targets, as far as their standard libraries are installed.
fn other_targets() -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = Command::new(rustc).args(["--print", "sysroot"]).output().context("rustc starts")?.stdout;
    let libraries = Path::new(String::from_utf8(sysroot)?.trim()).join("lib/rustlib");
    let packages = ["--package", "holm", "--package", "holm-cli", "--package", "holm-map"];
    for target in OTHER_TARGETS {
        if libraries.join(target).join("lib").is_dir() {
            cargo(&[&["clippy", "--target", target], &packages[..], &["--", "-D", "warnings"]].concat(), &[])?;
        } else {
            println!("== {target}: skipped: no standard library for it; `rustup target add {target}` installs one");
        }
    }
    Ok(())
}

/// Runs a program of a package, built with features of the package.
fn run_program(
    profile: &str,
    package: &str,
    (program, features): (Option<&str>, &[&str]),
    arguments: &[String],
) -> Result<()> {
    let mut words = vec!["run", "--profile", profile, "--package", package];
    words.extend(program.iter().flat_map(|program| ["--bin", program]));
    words.extend(features.iter().flat_map(|feature| ["--features", feature]));
    words.push("--");
    words.extend(arguments.iter().map(String::as_str));
    cargo(&words, &[])
}

/// Runs the cargo that runs this program, and passes its output through.
fn cargo(words: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    println!("== cargo {}", words.join(" "));
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(words).envs(variables.iter().copied());
    let status = command.status().context("cargo did not start")?;
    if !status.success() {
        bail!("cargo {} failed: {status}", words.join(" "));
    }
    Ok(())
}

/// Returns the root of the workspace: the folder above this crate's own.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate of the workspace has a folder above it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn verbs_are_well_formed() {
        Verb::command().debug_assert();
    }

    #[test]
    fn options_of_crash_pass_through() {
        let Verb::Crash(crash) = Verb::parse_from(["xtask", "crash", "--seed", "7", "--json"]) else {
            panic!("`crash` was not understood")
        };
        assert_eq!(crash.arguments(), ["--seed", "7", "--json"]);
        let Verb::Crash(crash) = Verb::parse_from(["xtask", "crash", "--files"]) else {
            panic!("`crash` was not understood")
        };
        assert_eq!(crash.arguments(), ["--files"]);
        let Verb::Crash(crash) = Verb::parse_from(["xtask", "crash", "--table", "--variants", "--design", "reef"])
        else {
            panic!("`crash` was not understood")
        };
        assert_eq!(crash.arguments(), ["--design", "reef", "--table", "--variants"]);
    }

    #[test]
    fn paths_are_of_the_folder_that_one_is_in() {
        let told = from_here(&["--help".into(), "prefix".into(), "/usr".into()]).expect("there is a folder");
        let here = std::env::current_dir().expect("there is a folder").join("prefix");
        assert_eq!(told, ["--help", &here.to_string_lossy(), "/usr"]);
    }

    #[test]
    fn options_of_programs_pass_through() {
        let Verb::Bench(rest) = Verb::parse_from(["xtask", "bench", "--threads", "2", "load"]) else {
            panic!("`bench` was not understood")
        };
        assert_eq!(rest.arguments, ["--threads", "2", "load"]);
    }
}
