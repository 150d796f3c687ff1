//! Compares `holm-map` with the ordered maps that a user would otherwise choose, in one interleaved run. Each map and
//! round has its own process, so that none inherits another's heap, and the median of the rounds counts. This package
//! is the only one that depends on those maps.

#![deny(unsafe_code)]

mod keys;
mod measure;
mod peer;
mod peers;
mod whole;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use keys::Spread;
use measure::{OPERATIONS, Plan};
use std::process::Command;
use whole::Parts;

/// Measures ordered maps in memory in turns. Times are CPU times of the thread, in nanoseconds per operation.
#[derive(Parser)]
struct Arguments {
    /// Maps, separated by commas: fast, fast-reserved, paper, std, blart; absl by its feature; for u64 alone congee and
    /// masstree. Ratios are to the first [default: fast, absl if it is compiled in, std]
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Types of keys and values
    #[arg(long, value_enum, default_value = "u64")]
    keys: Keys,
    /// Distribution of keys over their type
    #[arg(long, value_enum, default_value = "uniform")]
    spread: Spread,
    /// Pairs loaded before anything is timed
    #[arg(long, default_value_t = 12_000_000)]
    loaded: usize,
    /// Operations of each kind
    #[arg(long, default_value_t = 4_000_000)]
    timed: usize,
    /// Rounds over all maps
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Pages of all maps
    #[arg(long, value_enum, default_value = "large")]
    pages: Pages,
    /// Measures bulk loading, cloning, iteration and scans of 20 instead of single operations and batches
    #[arg(long)]
    whole: bool,
    /// Measures one map, in this process
    #[arg(long, hide = true)]
    child: Option<String>,
}

/// Types of keys and values.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Keys {
    /// Keys of 8 bytes, values of 8.
    U64,
    /// Keys of 4 bytes, values of 28.
    F32,
}

/// The pages in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pages {
    /// Large pages for all maps, through the allocator's tunable for maps that use the allocator.
    Large,
    /// Small pages for all maps: the process asks the system for no others.
    Small,
    /// Each map's own default.
    Own,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.child {
        Some(peer) => obey(peer, &arguments),
        None => compare(&arguments),
    }
}

/// Runs the work of a child process.
fn obey(peer: &str, arguments: &Arguments) -> Result<()> {
    if arguments.pages == Pages::Small {
        rustix::thread::disable_transparent_huge_pages(true).context("small pages alone")?;
    }
    let (loaded, timed, spread) = (arguments.loaded, arguments.timed, arguments.spread);
    let figures = match (arguments.keys, arguments.whole) {
        (Keys::U64, false) => peer::run_whole(peer, &Plan::new(loaded, timed, spread)?)?.to_vec(),
        (Keys::F32, false) => peer::run_real(peer, &Plan::new(loaded, timed, spread)?)?.to_vec(),
        (Keys::U64, true) => peer::run_whole_parts(peer, &Parts::new(loaded, spread)?)?,
        (Keys::F32, true) => peer::run_real_parts(peer, &Parts::new(loaded, spread)?)?,
    };
    let words: Vec<String> = figures.iter().map(f64::to_string).collect();
    println!("{}", words.join(" "));
    Ok(())
}

fn compare(arguments: &Arguments) -> Result<()> {
    let usual: Vec<String> = peer::USUAL.iter().map(|name| (*name).to_owned()).collect();
    let peers = if arguments.peers.is_empty() { &usual } else { &arguments.peers };
    ensure!(arguments.rounds > 0, "no rounds, no figures");
    println!(
        "{:?}, {:?}, {} loaded, {} timed, {} rounds, {:?} pages; {}",
        arguments.keys,
        arguments.spread,
        arguments.loaded,
        arguments.timed,
        arguments.rounds,
        arguments.pages,
        holm_bench::machine::describe(std::path::Path::new(".")),
    );
    let mut rounds = vec![Vec::new(); peers.len()];
    for round in 1..=arguments.rounds {
        for (peer, rounds) in peers.iter().zip(&mut rounds) {
            eprintln!("round {round}, {peer}");
            rounds.push(measure(peer, arguments)?);
        }
    }
    let operations: &[&str] = if arguments.whole { &whole::OPERATIONS } else { &OPERATIONS };
    print!("{}", table(operations, peers, &rounds));
    Ok(())
}

/// Measures one map in a process of its own, with the parent's arguments.
fn measure(peer: &str, arguments: &Arguments) -> Result<Vec<f64>> {
    let mut child = Command::new(std::env::current_exe()?);
    child.args(std::env::args().skip(1)).args(["--child", peer]);
    if arguments.pages == Pages::Large {
        child.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    }
    let output = child.stderr(std::process::Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{peer} failed: {}", output.status);
    let figures = String::from_utf8(output.stdout)?.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>();
    let expected = if arguments.whole { whole::OPERATIONS.len() } else { OPERATIONS.len() };
    figures
        .ok()
        .filter(|figures| figures.len() == expected)
        .with_context(|| format!("{peer} printed something other than its figures"))
}

/// Returns a row for each operation: each map's median, minimum and maximum, and the ratio of its median to the first
/// map's.
fn table(operations: &[&str], peers: &[String], rounds: &[Vec<Vec<f64>>]) -> String {
    let mut text = format!("{:<14}", "ns");
    peers.iter().for_each(|peer| text += &format!(" {:>32}", format!("{peer} (rounds), times")));
    for (at, operation) in operations.iter().enumerate() {
        text += &format!("\n{operation:<14}");
        let first = middle(&rounds[0], at).1;
        for rounds in rounds {
            let (low, median, high) = middle(rounds, at);
            let times = median / first;
            text += &format!(" {:>32}", format!("{median:.1} ({low:.0} to {high:.0}), {times:.2}"));
        }
    }
    text + "\n"
}

/// Returns minimum, median and maximum.
fn middle(rounds: &[Vec<f64>], at: usize) -> (f64, f64, f64) {
    let mut figures: Vec<f64> = rounds.iter().map(|round| round[at]).collect();
    figures.sort_by(f64::total_cmp);
    (figures[0], figures[figures.len() / 2], figures[figures.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_does_what_the_plan_says() {
        // A run checks the sums of its answers, and the number of removed keys.
        let whole = Plan::new(4000, 1000, Spread::Clustered).unwrap();
        for peer in ["fast", "fast-reserved", "paper", "std", "blart", "congee", "masstree"] {
            assert!(peer::run_whole(peer, &whole).unwrap().iter().all(|figure| *figure >= 0.0), "{peer}");
        }
        let real = Plan::new(4000, 1000, Spread::Skewed).unwrap();
        for peer in peer::USUAL.iter().chain(&["paper", "blart"]) {
            assert!(peer::run_real(peer, &real).unwrap().iter().all(|figure| *figure >= 0.0), "{peer}");
        }
        assert!(peer::run_real("nobody", &real).is_err());
        let parts = Parts::new(3000, Spread::Clustered).unwrap();
        for peer in peer::USUAL.iter().chain(&["paper"]) {
            assert_eq!(peer::run_whole_parts(peer, &parts).unwrap().len(), whole::OPERATIONS.len(), "{peer}");
        }
    }

    #[test]
    fn the_table_has_medians() {
        let rounds = [3.0, 1.0, 2.0].map(|figure| vec![figure; OPERATIONS.len()]).to_vec();
        let twice = rounds.iter().map(|round| round.iter().map(|figure| 2.0 * figure).collect()).collect();
        let text = table(&OPERATIONS, &["a".to_owned(), "b".to_owned()], &[rounds, twice]);
        assert!(text.contains("2.0 (1 to 3), 1.00") && text.contains("4.0 (2 to 6), 2.00"), "{text}");
    }
}
