//! A copy of the workspace whose store, medium and tree hold all mutants, and its builds.
//!
//! A mutant that does not compile is dropped: the compiler names the place of an error, the innermost mutant around it
//! goes, and the copy is written again. What was dropped is noted, so that the next build begins without it.

use super::Mutant;
use super::names::Names;
use super::operator::Operator;
use super::points::points;
use super::rewrite::rewrite;
use super::seeded;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

/// The crates that have mutants.
const CRATES: [&str; 3] = ["holm", "holm-medium", "holm-tree"];

/// Files that are no part of the store: the scheduler's half of `sync`, what the proof observes, and tests.
const LEFT_OUT: [&str; 5] = ["sync", "sync.rs", "observed", "observed.rs", "tests.rs"];

/// The crate that knows which mutant runs.
const CHOICE: &str = include_str!("choice.rs.txt");

/// The manifest of that crate.
const MANIFEST: &str = "[package]\nname = \"holm-mutant\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n";

/// A source file that has mutants.
struct Source {
    /// From the root of the workspace.
    path: String,
    text: String,
    /// The numbers of its mutants: a range of all.
    ids: Range<u32>,
}

/// A copy of the workspace.
pub(crate) struct Scratch {
    root: PathBuf,
    sources: Vec<Source>,
    mutants: Vec<Mutant>,
    dropped: BTreeSet<String>,
    /// Where each mutant lies in the rewritten files.
    places: BTreeMap<String, Vec<(u32, Range<usize>)>>,
}

/// A program that a build has made: its package, its name, and its file.
pub(crate) struct Built {
    pub(crate) package: String,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Scratch {
    /// Finds all mutants of the workspace at `workspace`, and copies it below `folder`.
    pub(crate) fn new(workspace: &Path, folder: &Path) -> Result<Scratch> {
        let (mut names, mut texts) = (Names::default(), Vec::new());
        for krate in CRATES {
            for path in rust_files(&workspace.join("crates").join(krate).join("src"))? {
                let text = fs::read_to_string(&path)?;
                names.read(&syn::parse_file(&text).with_context(|| path.display().to_string())?);
                texts.push((path.strip_prefix(workspace)?.display().to_string(), text));
            }
        }
        let (mut sources, mut mutants) = (Vec::new(), Vec::new());
        for (path, text) in texts {
            let first = mutants.len() as u32 + 1;
            let mut seen: BTreeMap<_, u32> = BTreeMap::new();
            let found = points(&text, &names).with_context(|| path.clone())?;
            for point in found.into_iter().chain(seeded::points(&path, &text)?) {
                let what = format!("{path} {} {} => {}", point.operator.name(), point.before, point.after);
                let nth = seen.entry(what.clone()).or_default();
                *nth += 1;
                let key = format!("{what} #{nth}");
                mutants.push(Mutant { id: mutants.len() as u32 + 1, key, file: path.clone(), point });
            }
            sources.push(Source { path, text, ids: first..mutants.len() as u32 + 1 });
        }
        let root = folder.join("scratch");
        let dropped = fs::read_to_string(folder.join("dropped")).unwrap_or_default();
        let dropped = dropped.lines().map(str::to_owned).collect();
        let scratch = Scratch { root, sources, mutants, dropped, places: BTreeMap::new() };
        scratch.copy(workspace)?;
        Ok(scratch)
    }

    /// All mutants but those that do not compile.
    pub(crate) fn mutants(&self) -> impl Iterator<Item = &Mutant> {
        self.mutants.iter().filter(|mutant| !self.dropped.contains(&mutant.key))
    }

    /// The folder of a package.
    pub(crate) fn package(&self, name: &str) -> PathBuf {
        self.root.join("crates").join(name)
    }

    /// Copies what the crates need; files that are equal stay, so that cargo builds what has changed.
    fn copy(&self, workspace: &Path) -> Result<()> {
        for folder in ["crates", "docs"] {
            copy_folder(workspace, Path::new(folder), &self.root)?;
        }
        for file in ["Cargo.lock", "README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            write(&self.root.join(file), &fs::read(workspace.join(file))?)?;
        }
        let manifest = fs::read_to_string(workspace.join("Cargo.toml"))?;
        let alone = |line: &str| match line.split_once(" = ").map(|(name, _)| name) {
            Some("members") => "members = [\"crates/*\"]".to_owned(),
            _ => line.to_owned(),
        };
        // Profiles of packages that are not copied are warned of, and nothing else.
        let manifest: Vec<_> = manifest.lines().map(alone).filter(|line| !line.contains("\"shells/")).collect();
        write(&self.root.join("Cargo.toml"), (manifest.join("\n") + "\n").as_bytes())?;
        let choice = self.package("holm-mutant");
        write(&choice.join("Cargo.toml"), MANIFEST.as_bytes())?;
        write(&choice.join("src/lib.rs"), CHOICE.as_bytes())?;
        for krate in CRATES {
            let manifest = fs::read_to_string(workspace.join("crates").join(krate).join("Cargo.toml"))?;
            let with = "[dependencies]\nholm-mutant = { path = \"../holm-mutant\" }\n";
            let manifest = manifest.replacen("[dependencies]\n", with, 1);
            write(&self.package(krate).join("Cargo.toml"), manifest.as_bytes())?;
        }
        Ok(())
    }

    /// Writes the mutants into the copy.
    fn write_sources(&mut self) -> Result<()> {
        for source in &self.sources {
            let all = &self.mutants[source.ids.start as usize - 1..source.ids.end as usize - 1];
            let kept = all.iter().filter(|mutant| !self.dropped.contains(&mutant.key));
            let points: Vec<_> = kept.map(|mutant| (mutant.id, &mutant.point)).collect();
            let (text, places) = rewrite(&source.text, &points);
            write(&self.root.join(&source.path), text.as_bytes())?;
            self.places.insert(source.path.clone(), places);
        }
        Ok(())
    }

    /// Builds with cargo until everything compiles. Returns the programs.
    pub(crate) fn build(&mut self, words: &[&str], variables: &[(&str, &str)], folder: &Path) -> Result<Vec<Built>> {
        loop {
            self.write_sources()?;
            println!("== cargo {} (with mutants)", words.join(" "));
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.current_dir(&self.root).args(words).arg("--message-format=json").envs(variables.iter().copied());
            let output = cargo.stderr(Stdio::inherit()).output().context("cargo did not start")?;
            let text = String::from_utf8_lossy(&output.stdout);
            let messages: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            if output.status.success() {
                return Ok(messages.iter().filter_map(built).collect());
            }
            let errors = messages.iter().map(|message| &message["message"]).filter(|error| error["level"] == "error");
            let before = self.dropped.len();
            let mut rest = Vec::new();
            for error in errors {
                let rendered = error["rendered"].as_str().unwrap_or_default();
                match self.around(error).map(|id| &self.mutants[id as usize - 1]) {
                    Some(Mutant { point, .. }) if point.operator == Operator::Seeded => {
                        bail!("the seeded bug \"{}\" does not compile:\n{rendered}", point.before);
                    }
                    Some(mutant) => drop(self.dropped.insert(mutant.key.clone())),
                    None => rest.push(rendered.to_owned()),
                }
            }
            if self.dropped.len() == before {
                bail!("the copy does not compile, and no mutant is the cause:\n{}", rest.join("\n"));
            }
            println!("   {} mutants do not compile and are dropped", self.dropped.len() - before);
            let lines: Vec<_> = self.dropped.iter().map(String::as_str).collect();
            fs::write(folder.join("dropped"), lines.join("\n") + "\n")?;
        }
    }

    /// The innermost mutant around an error: around its main place, or around any other.
    fn around(&self, error: &Value) -> Option<u32> {
        let spans = error["spans"].as_array()?;
        let of = |is_primary: bool| spans.iter().filter(move |span| span["is_primary"] == is_primary);
        of(true).chain(of(false)).find_map(|span| {
            let (file, at) = (span["file_name"].as_str()?, span["byte_start"].as_u64()? as usize);
            let end = span["byte_end"].as_u64()? as usize;
            let places = self.places.get(file)?.iter().filter(|(id, _)| {
                // Dropped earlier in this round.
                !self.dropped.contains(&self.mutants[*id as usize - 1].key)
            });
            let within = places.clone().filter(|(_, place)| place.contains(&at)).min_by_key(|(_, place)| place.len());
            // Or the first that begins inside.
            let inside = || places.clone().find(|(_, place)| (at..end).contains(&place.start));
            within.or_else(inside).map(|(id, _)| *id)
        })
    }
}

/// The program that a message of cargo names, if it is one.
fn built(message: &Value) -> Option<Built> {
    let path = message["executable"].as_str()?.into();
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.file_name()?.to_str()?.to_owned();
    Some(Built { package, name: message["target"]["name"].as_str()?.to_owned(), path })
}

/// All Rust files of a folder that belong to the store, in the order of their names.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if path.is_dir() {
            all.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|end| end == "rs") {
            all.push(path);
        }
    }
    Ok(all)
}

/// Copies a folder, given from the root of the workspace, but what another step writes.
fn copy_folder(workspace: &Path, folder: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(workspace.join(folder)).with_context(|| folder.display().to_string())? {
        let path = folder.join(entry?.file_name());
        let from = workspace.join(&path);
        if from.is_dir() {
            if !path.ends_with("target") {
                copy_folder(workspace, &path, to)?;
            }
        } else if !is_rewritten(&path) {
            write(&to.join(&path), &fs::read(from)?)?;
        }
    }
    Ok(())
}

/// Whether another step writes this file into the copy: a manifest or a source of a crate with mutants.
fn is_rewritten(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    let ["crates", krate, rest @ ..] = &parts[..] else { return false };
    let is_source = rest.first() == Some(&"src") && !rest.iter().any(|part| LEFT_OUT.contains(part));
    CRATES.contains(krate) && (is_source || *rest == ["Cargo.toml"])
}

/// Writes a file, if it is not there with these bytes.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    fs::write(path, bytes).with_context(|| path.display().to_string())
}
