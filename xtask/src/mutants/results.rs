//! What became of mutants: a line of JSON for each, so that a hunt goes on where it was stopped, and a table.

use super::Mutant;
use super::hunt::Fate;
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

/// The results of all hunts so far.
pub(crate) struct Results {
    /// By the mutant's key: its last result.
    known: BTreeMap<String, Value>,
    out: Mutex<File>,
}

impl Results {
    /// Reads what is known.
    pub(crate) fn open(path: &Path) -> Result<Results> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let known = lines.filter_map(|line| Some((line["key"].as_str()?.to_owned(), line))).collect();
        Ok(Results { known, out: Mutex::new(File::options().create(true).append(true).open(path)?) })
    }

    /// The fate of a mutant, if it is known: "caught", "SURVIVED", "unreached".
    pub(crate) fn fate(&self, mutant: &Mutant) -> Option<&str> {
        self.known.get(&mutant.key)?["fate"].as_str()
    }

    /// Adds a result.
    pub(crate) fn add(&self, mutant: &Mutant, fate: &Fate) -> Result<()> {
        let point = &mutant.point;
        let mut line = json!({
            "key": mutant.key,
            "file": mutant.file,
            "line": point.line,
            "operator": point.operator.name(),
            "before": point.before,
            "after": point.after,
        });
        let (name, by, wrong) = match fate {
            Fate::Caught(by, wrong) => ("caught", by.clone(), wrong.clone()),
            Fate::Survived(tried, all) => ("SURVIVED", format!("{tried} of {all} trials"), String::new()),
            Fate::Unreached => ("unreached", String::new(), String::new()),
        };
        (line["fate"], line["by"], line["wrong"]) = (name.into(), by.into(), wrong.into());
        let mut out = self.out.lock().expect("no job has panicked");
        writeln!(out, "{line}")?;
        println!("{}", row(&line));
        Ok(())
    }

    /// Prints what is known of these mutants: numbers by operator, and all that no trial caught.
    pub(crate) fn print<'a>(&self, mutants: impl Iterator<Item = &'a Mutant>) {
        let mut counts: BTreeMap<String, [u64; 4]> = BTreeMap::new();
        let mut left = Vec::new();
        for mutant in mutants {
            let count = counts.entry(mutant.point.operator.name()).or_default();
            count[0] += 1;
            match self.fate(mutant) {
                Some("caught") => count[1] += 1,
                Some("SURVIVED") => count[2] += 1,
                Some(_) => count[3] += 1,
                None => {}
            }
            if let Some(line) = self.known.get(&mutant.key).filter(|line| line["fate"] != "caught") {
                left.push(row(line));
            }
        }
        println!("| operator | mutants | caught | survived | unreached |\n|---|---|---|---|---|");
        for (name, [all, caught, survived, unreached]) in counts {
            println!("| {name} | {all} | {caught} | {survived} | {unreached} |");
        }
        left.iter().for_each(|row| println!("{row}"));
    }
}

/// A row of a table.
fn row(line: &Value) -> String {
    let of = |name: &str| line[name].as_str().unwrap_or_default().replace('|', "\\|");
    let (file, after) = (of("file"), of("after"));
    let file = file.strip_prefix("crates/").unwrap_or(&file).replacen("/src", "", 1);
    let after = if after.is_empty() { "nothing".to_owned() } else { format!("`{after}`") };
    let why = [of("by"), of("wrong")].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ");
    format!("| {file}:{} | {} | `{}` | {after} | {} {why} |", line["line"], of("operator"), of("before"), of("fate"))
}
