//! No store to persistent memory is wider than eight bytes: this test reads the machine code of the release build.
//!
//! Torn stores are the one fault that neither types nor the media of the proofs can detect, because they occur below
//! the language. In the language, only two functions of `word.rs` change a durable word, each by an atomic store.
//! Leaves, where `unsafe` is forbidden, reach them through the write handle. So this test checks what the compiler made
//! of these functions: each store must be an instruction of exactly eight bytes, and never a vector store, a repeated
//! store, or a routine's. The line tables map instructions to source through all inlining. The test checks nothing on
//! processors other than x86-64 and on systems other than Linux.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![forbid(unsafe_code)]

#[path = "stores/program.rs"]
mod program;

use anyhow::Result;
use program::{Frame, Program, Store, Width};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The leaves, by their files. Many instructions write to each.
const LEAVES: [&str; 13] = [
    "borders",
    "borders_shared",
    "buffered",
    "circ",
    "fast_fair",
    "fp_tree",
    "holm_strict",
    "isle",
    "lb_tree",
    "lined",
    "nv_tree",
    "ss_tree",
    "wb_tree",
];

/// Returns whether a function's purpose is to change durable words.
fn changes_words(frame: &Frame) -> bool {
    let medium = |name: &str| frame.file.ends_with(&format!("holm-medium/src/{name}"));
    let handle = medium("writer.rs") && ["write", "fill", "scratch"].iter().any(|it| frame.function.starts_with(it));
    handle || medium("word.rs") || medium("persistent.rs")
}

/// The findings in a program.
#[derive(Default)]
struct Findings {
    /// Stores of eight bytes to durable words, by the file of the leaf that requested them.
    words: BTreeMap<String, usize>,
    /// Stores to durable words that are not of eight bytes.
    offences: Vec<Store>,
}

impl Findings {
    /// Returns the stores that a leaf requested, in its file or in its folder.
    fn of(&self, leaf: &str) -> usize {
        let own = |file: &str| file.strip_prefix(leaf).is_some_and(|rest| rest.starts_with(['.', '/']));
        self.words.iter().filter(|(file, _)| own(file)).map(|(_, count)| count).sum()
    }
}

fn look(path: &Path) -> Result<Findings> {
    let bytes = std::fs::read(path)?;
    let mut found = Findings::default();
    Program::read(&bytes)?.stores(|store| {
        // No atomic is wider than eight bytes, wherever it is.
        let atomic = store.frames.first().is_some_and(|frame| frame.file.ends_with("core/src/sync/atomic.rs"));
        let durable = store.frames.iter().any(changes_words);
        match store.width {
            Width::Bytes(8) if durable => {
                let leaf = store.frames.iter().find_map(|frame| Some(frame.file.rsplit_once("/leaf/")?.1));
                *found.words.entry(leaf.unwrap_or("elsewhere").into()).or_default() += 1;
            }
            Width::Bytes(..8) if !durable => {}
            _ if durable || atomic && store.width != Width::Bytes(8) => found.offences.push(store),
            _ => {}
        }
    })?;
    Ok(found)
}

fn sound(found: &Findings) {
    let offences: Vec<_> = found.offences.iter().map(|store| store.to_string()).collect();
    assert!(offences.is_empty(), "{} stores are not of eight bytes:\n{}", offences.len(), offences.join("\n"));
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate of the workspace has a folder above it")
}

/// Builds a program for release.
fn built(words: &[&str], program: &str) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    let done = cargo.current_dir(root()).args(["build", "--release"]).args(words).status().expect("cargo starts");
    assert!(done.success(), "cargo build --release {words:?}");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(target).join("release").join(program)
}

/// The released program: the designs of the store, over ordinary files.
#[test]
#[ignore = "needs a release build: `cargo xtask stores`"]
fn the_command_stores_words_alone() {
    let found = look(&built(&["--bin", "holm"], "holm")).expect("a program with line tables");
    println!("{:?}", found.words);
    sound(&found);
    assert!(found.of("buffered") >= 8, "{:?}", found.words);
}

/// All designs, with keys of eight bytes. Even where nothing separates stores to neighbouring words, the machine code
/// has as many stores as the source, in the same order.
#[test]
#[ignore = "needs a release build: `cargo xtask stores`"]
fn every_leaf_stores_words_alone() {
    let words = ["--package", "holm-designs", "--bin", "leaves", "--features", "assembly"];
    let path = built(&words, "leaves");
    let found = look(&path).expect("a program with line tables");
    println!("{:?}", found.words);
    sound(&found);
    for leaf in LEAVES {
        assert!(found.of(leaf) >= 8, "{leaf}: {:?}", found.words);
    }
    for neighbours in ["write_neighbours", "fill_neighbours"] {
        let widths = widths(&path, neighbours).expect("a program with line tables");
        assert_eq!(widths, vec![Width::Bytes(8); 8], "{neighbours}");
    }
}

/// Returns the stores of one function of the machine code.
fn widths(path: &Path, function: &str) -> Result<Vec<Width>> {
    let (bytes, mut widths) = (std::fs::read(path)?, vec![]);
    Program::read(&bytes)?.stores(|store| {
        if store.within.contains(function) {
            widths.push(store.width);
        }
    })?;
    Ok(widths)
}

/// Builds a program whose words are changed by the given body, in files named as the medium's are.
fn sample(name: &str, body: &str) -> Findings {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let medium = folder.join("holm-medium/src");
    std::fs::create_dir_all(&medium).expect("a folder");
    let word = format!(
        "use std::sync::atomic::{{AtomicU64, Ordering}};\n\
         pub struct Word(pub AtomicU64);\n\
         #[inline(always)]\n\
         pub fn fill(words: &[Word; 4], values: &[u64; 4]) {{ {body} }}\n"
    );
    let main = "use std::hint::black_box;\n\
                use std::sync::atomic::{AtomicU64, Ordering};\n\
                #[path = \"holm-medium/src/word.rs\"] mod word;\n\
                #[inline(never)] fn insert(words: &[word::Word; 4], values: &[u64; 4]) { word::fill(words, values) }\n\
                fn main() {\n\
                    let words = black_box([const { word::Word(AtomicU64::new(0)) }; 4]);\n\
                    insert(&words, black_box(&[1, 2, 3, 4]));\n\
                    println!(\"{}\", black_box(&words)[3].0.load(Ordering::Relaxed));\n\
                }\n";
    std::fs::write(medium.join("word.rs"), word).expect("a file");
    std::fs::write(folder.join("main.rs"), main).expect("a file");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.current_dir(&folder).args(["--edition", "2024", "-O", "-C", "debuginfo=line-tables-only", "main.rs"]);
    assert!(command.status().expect("rustc starts").success(), "{name} compiles");
    look(&folder.join("main")).expect("a program with line tables")
}

#[test]
fn atomic_stores_pass() {
    let body = "for (word, value) in words.iter().zip(values) { word.0.store(*value, Ordering::Relaxed); }";
    let found = sample("atomic", body);
    sound(&found);
    assert_eq!(found.words.values().sum::<usize>(), 4, "{:?}", found.words);
}

/// A copy of four words becomes two vectors.
#[test]
fn a_copy_of_few_words_is_caught() {
    let body = "unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), words.as_ptr().cast_mut().cast(), 4) }";
    let found = sample("vector", body);
    assert!(found.offences.iter().any(|store| store.width == Width::Bytes(16)), "{:?}", found.offences);
    assert!(found.offences.iter().all(|store| store.within.contains("insert")), "{:?}", found.offences);
}

/// A copy of an unknown number of words becomes a call to the C library.
#[test]
fn a_copy_of_many_words_is_caught() {
    let body = "let _ = Ordering::Relaxed; let count = std::hint::black_box(4);\n\
                unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), words.as_ptr().cast_mut().cast(), count) }";
    let found = sample("routine", body);
    assert!(found.offences.iter().any(|store| store.width == Width::Routine("memcpy")), "{:?}", found.offences);
}

/// A string instruction stores as many bytes at once as the processor likes.
#[test]
fn a_repeated_store_is_caught() {
    let body = "let _ = Ordering::Relaxed;\n\
                unsafe { std::arch::asm!(\"rep stosq\", inout(\"rdi\") words.as_ptr() => _, inout(\"rcx\") 4_u64 => _, \
                in(\"rax\") values[0]) }";
    let found = sample("repeated", body);
    assert!(found.offences.iter().any(|store| store.width == Width::Repeated), "{:?}", found.offences);
}
