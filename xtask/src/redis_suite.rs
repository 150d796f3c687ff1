//! `redis-suite`: the tests of Redis itself, in Tcl, against a running `holm-server`.
//!
//! Each unit has a server and an empty database of its own. What is known to fail is a line of
//! `shells/server/redis-suite.md` with its reason. A failure without a line fails the run. So does a line whose test
//! passes: the list never says less than is true.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{cargo, redis_stand_in, root};

/// The units that the server is measured by.
#[rustfmt::skip]
const UNITS: &[&str] = &[
    "type/string", "type/incr", "type/hash", "type/list", "type/list-2", "type/list-3", "type/set", "type/zset",
    "keyspace", "scan", "expire", "multi", "protocol", "pubsub", "info-command", "slowlog", "querybuf", "bitops",
    "bitfield", "hyperloglog", "geo", "sort", "dump", "quit", "acl", "auth", "info", "latency-monitor", "obuf-limits",
    "tracking", "pause",
];

/// Those of them that start servers of their own, with settings of their own. A script stands in for Redis there.
const WITH_OWN_SERVERS: &[&str] = &["acl", "auth", "info", "latency-monitor", "obuf-limits"];

/// The kinds of reasons for which a test does not count towards the percentage.
const OUT_OF_SCOPE: &[&str] = &["replication", "scripting", "streams", "modules", "encodings", "memory"];

/// Which units of which suite.
#[derive(clap::Args)]
pub(crate) struct RedisSuite {
    /// The folder of Redis's source, with `tests/test_helper.tcl` in it. Debian has it: with a line `deb-src` among the
    /// sources, `apt-get source redis` unpacks it. Nothing is fetched here. `tclsh` must be installed.
    folder: PathBuf,
    /// Only these units, such as `type/string`.
    #[arg(long = "unit")]
    units: Vec<String>,
    /// This program in place of the one that is built.
    #[arg(long)]
    server: Option<PathBuf>,
    /// Only tests of these names.
    #[arg(long = "only")]
    only: Vec<String>,
    /// Prints what the suite prints.
    #[arg(long)]
    verbose: bool,
}

/// A line of the list.
struct Listed {
    kind: String,
    reason: String,
    /// The test is not run at all: it hangs, or ends the unit.
    is_skipped: bool,
    /// The test may pass: it depends on who is first.
    may_pass: bool,
}

/// The list: by unit and test.
type List = BTreeMap<(String, String), Listed>;

/// What a unit has shown.
#[derive(Default)]
struct Outcome {
    passed: BTreeSet<String>,
    /// Each with its details.
    failed: BTreeMap<String, String>,
    ignored: usize,
    is_complete: bool,
}

impl Outcome {
    fn has(&self, test: &str) -> bool {
        self.passed.contains(test) || self.failed.contains_key(test)
    }
}

/// A server that ends with the unit.
struct Served {
    process: Child,
    port: String,
    folder: PathBuf,
}

impl Served {
    fn start(program: &Path, unit: &str) -> Result<Self> {
        let folder = format!("holm-redis-suite-{}-{}", std::process::id(), unit.replace('/', "-"));
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder)?;
        let mut command = Command::new(program);
        command.arg(folder.join("suite.holm")).args(["--listen", "127.0.0.1:0", "--workers", "2"]);
        let log = std::fs::File::create(folder.join("log"))?;
        let process = command.stdout(Stdio::piped()).stderr(log).spawn();
        let mut process = process.with_context(|| format!("starting {}", program.display()))?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let port = line.trim().rsplit(':').next().unwrap_or_default().to_owned();
        Ok(Served { process, port, folder })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already, and then the folder alone is left.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn run(settings: &RedisSuite) -> Result<()> {
    let helper = settings.folder.join("tests/test_helper.tcl");
    if !helper.is_file() {
        bail!("{} is not there: give the folder of Redis's source", helper.display());
    }
    let program = match &settings.server {
        Some(program) => std::path::absolute(program)?,
        None => built()?,
    };
    let list = read_list(&std::fs::read_to_string(root().join("shells/server/redis-suite.md"))?)?;
    let units: Vec<&str> = match settings.units.is_empty() {
        true => UNITS.to_vec(),
        false => settings.units.iter().map(String::as_str).collect(),
    };
    println!("| unit | passed | failed | out of scope | not run | |\n|---|---|---|---|---|---|");
    let (mut complaints, mut sum) = (Vec::new(), (0, 0));
    for unit in units {
        let outcome = run_unit(settings, &program, unit, &list)?;
        let (passed, failed) = report(unit, &outcome, &list);
        sum = (sum.0 + passed, sum.1 + failed);
        complaints.extend(complaints_of(unit, &outcome, &list, settings.only.is_empty()));
    }
    println!("| all | {} | {} | | | {} |", sum.0, sum.1, percentage(sum.0, sum.1));
    for complaint in &complaints {
        println!("{complaint}");
    }
    if !complaints.is_empty() {
        bail!("{} differences from shells/server/redis-suite.md", complaints.len());
    }
    Ok(())
}

/// Builds the server, and returns the program.
pub(crate) fn built() -> Result<PathBuf> {
    cargo(&["build", "--release", "--package", "holm-server"], &[])?;
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2).context("this program lies in a folder of a target folder")?;
    Ok(target.join("release/holm-server"))
}

/// Reads the lines of the list's tables: `| unit | kind | test | reason |`; a test whose kind ends with `!` is not
/// run, and one with `?` may pass.
fn read_list(text: &str) -> Result<List> {
    let mut list = List::new();
    for line in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| unit |")) {
        let inner = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
        let fields = inner.and_then(|inner| {
            let (unit, rest) = inner.split_once(" | ")?;
            let (kind, rest) = rest.split_once(" | ")?;
            let (test, reason) = rest.rsplit_once(" | ")?;
            Some((unit, kind, test, reason))
        });
        let (unit, kind, test, reason) = fields.with_context(|| format!("no unit, kind, test and reason: {line}"))?;
        let (is_skipped, may_pass) = (kind.ends_with('!'), kind.ends_with('?'));
        let kind = kind.trim_end_matches(['!', '?']).to_owned();
        let listed = Listed { kind, reason: reason.to_owned(), is_skipped, may_pass };
        if list.insert((unit.to_owned(), test.to_owned()), listed).is_some() {
            bail!("listed twice: {line}");
        }
    }
    Ok(list)
}

fn run_unit(settings: &RedisSuite, program: &Path, unit: &str, list: &List) -> Result<Outcome> {
    let mut command = Command::new("tclsh");
    command.arg("tests/test_helper.tcl").args(["--single", &format!("unit/{unit}")]);
    // Each lives until the unit has ended.
    let (served, folder);
    if WITH_OWN_SERVERS.contains(&unit) {
        folder = redis_stand_in::folder(&settings.folder, program, unit)?;
        command.current_dir(&folder.0).args(["--clients", "1"]);
    } else {
        served = Served::start(program, unit)?;
        command.current_dir(&settings.folder).args(["--host", "127.0.0.1", "--port", &served.port]);
    }
    command.args(["--durable", "--dont-clean", "--ignore-encoding", "--ignore-digest", "--timeout", "300"]);
    for ((_, test), _) in list.iter().filter(|((of, _), listed)| of == unit && listed.is_skipped) {
        command.args(["--skiptest", test]);
    }
    for only in &settings.only {
        command.args(["--only", only]);
    }
    let output = command.stderr(Stdio::null()).output().context("starting tclsh")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if settings.verbose {
        println!("{text}");
    }
    Ok(parse(&text))
}

/// Reads what the suite prints. Lines behind a failure belong to it.
fn parse(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let mut failure = None;
    for line in text.lines() {
        let line = without_colours(line);
        let Some((status, rest)) = line.strip_prefix('[').and_then(|line| line.split_once("]: ")) else {
            if let Some(details) = failure.as_ref().and_then(|test| outcome.failed.get_mut(test)) {
                details.push_str(&format!("\n    {line}"));
            }
            continue;
        };
        failure = None;
        match status {
            "ok" => drop(outcome.passed.insert(name(rest, " (").to_owned())),
            "ignore" => outcome.ignored += 1,
            "err" | "exception" | "timeout" => {
                let test = name(rest, " in tests/").to_owned();
                outcome.failed.entry(test.clone()).or_default().push_str(status);
                failure = Some(test);
            }
            _ if status.ends_with(" done") => outcome.is_complete = true,
            _ => {}
        }
    }
    outcome.passed.retain(|test| !outcome.failed.contains_key(test));
    outcome
}

/// Cuts off what the suite writes behind a test's name.
fn name<'a>(rest: &'a str, before: &str) -> &'a str {
    rest.rsplit_once(before).map_or(rest, |(name, _)| name).trim()
}

fn without_colours(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| line + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// Prints the row of a unit, and returns how many tests have passed and failed that count.
fn report(unit: &str, outcome: &Outcome, list: &List) -> (usize, usize) {
    let listed = |test: &String| list.get(&(unit.to_owned(), test.clone()));
    let is_out = |listed: &Listed| OUT_OF_SCOPE.contains(&&listed.kind[..]);
    let skipped = list.iter().filter(|((of, _), listed)| of == unit && listed.is_skipped).map(|(_, listed)| listed);
    let (skipped_out, skipped_in): (Vec<_>, Vec<_>) = skipped.partition(|listed| is_out(listed));
    let (out, failed): (Vec<_>, Vec<_>) = outcome.failed.keys().partition(|test| listed(test).is_some_and(is_out));
    let (out, failed) = (out.len() + skipped_out.len(), failed.len() + skipped_in.len());
    let passed = outcome.passed.len();
    println!("| {unit} | {passed} | {failed} | {out} | {} | {} |", outcome.ignored, percentage(passed, failed));
    (passed, failed)
}

fn percentage(passed: usize, failed: usize) -> String {
    match passed + failed {
        0 => "-".to_owned(),
        all => format!("{:.1} %", 100.0 * passed as f64 / all as f64),
    }
}

/// Returns in what the unit differs from the list.
fn complaints_of(unit: &str, outcome: &Outcome, list: &List, is_whole: bool) -> Vec<String> {
    let mut complaints = Vec::new();
    if !outcome.is_complete {
        complaints.push(format!("{unit}: the unit did not come to its end"));
    }
    for (test, details) in &outcome.failed {
        match list.get(&(unit.to_owned(), test.clone())) {
            Some(_) => {}
            None => complaints.push(format!("{unit}: failed and is not listed: {test}: {details}")),
        }
    }
    for ((_, test), listed) in list.iter().filter(|((of, _), listed)| of == unit && !listed.is_skipped) {
        if outcome.passed.contains(test) && !listed.may_pass {
            complaints.push(format!("{unit}: passes and is listed ({}): {test}", listed.reason));
        } else if is_whole && outcome.is_complete && !outcome.has(test) {
            complaints.push(format!("{unit}: listed and not among the tests that ran: {test}"));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "[\x1b[1;32mok\x1b[0m]: SET and GET (3 ms)\n[\x1b[1;31merr\x1b[0m]: DUMP in tests/unit/a.tcl\n\
        Expected 'a'\n[ignore]: other: external\n[\x1b[1;32mok\x1b[0m]: twice (0 ms)\n\
        [err]: twice in tests/unit/a.tcl\n\
        [1/1 \x1b[1;33mdone\x1b[0m]: unit/a (1 seconds)\n";

    fn complaints(list: &str) -> Vec<String> {
        complaints_of("a", &parse(OUTPUT), &read_list(list).unwrap(), true)
    }

    #[test]
    fn results_are_read_from_what_the_suite_prints() {
        let outcome = parse(OUTPUT);
        assert_eq!(outcome.passed.iter().collect::<Vec<_>>(), ["SET and GET"]);
        assert_eq!(outcome.failed.keys().collect::<Vec<_>>(), ["DUMP", "twice"]);
        assert_eq!(outcome.failed["DUMP"], "err\n    Expected 'a'");
        assert_eq!((outcome.ignored, outcome.is_complete), (1, true));
        assert!(!parse("[ok]: SET (1 ms)\n").is_complete);
    }

    #[test]
    fn the_list_says_neither_more_nor_less_than_is_true() {
        let right = "| unit | kind | test | reason |\n|---|---|---|---|\n\
            | a | absent | DUMP | x |\n| a | absent | twice | y |\n";
        assert_eq!(complaints(right), Vec::<String>::new());
        assert_eq!(complaints("| a | absent | DUMP | x |\n").len(), 1);
        assert_eq!(complaints(&format!("{right}| a | absent | SET and GET | z |\n")).len(), 1);
        assert_eq!(complaints(&format!("{right}| a | absent | unheard of | z |\n")).len(), 1);
        assert_eq!(complaints(&format!("{right}| a | absent? | SET and GET | z |\n")).len(), 0);
        assert_eq!(complaints(&format!("{right}| a | absent! | never run | z |\n")).len(), 0);
        assert!(read_list("| a | absent | DUMP |\n").is_err());
        assert!(read_list(&format!("{right}{right}")).is_err());
    }
}
