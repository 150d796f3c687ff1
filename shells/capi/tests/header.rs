//! The header and the library agree: the library exports each declared function, and nothing else. Parameters have the
//! same names, types and order, and codes have the same numbers.

#![forbid(unsafe_code)]

use object::{Object, ObjectSymbol};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const HEADER: &str = include_str!("../include/holm.h");
const SOURCES: &[&str] = &[
    include_str!("../src/atomic.rs"),
    include_str!("../src/backup.rs"),
    include_str!("../src/batch.rs"),
    include_str!("../src/changes.rs"),
    include_str!("../src/code.rs"),
    include_str!("../src/copy.rs"),
    include_str!("../src/database.rs"),
    include_str!("../src/door.rs"),
    include_str!("../src/expire.rs"),
    include_str!("../src/expiry.rs"),
    include_str!("../src/feed.rs"),
    include_str!("../src/iter.rs"),
    include_str!("../src/keyspace.rs"),
    include_str!("../src/list.rs"),
    include_str!("../src/many.rs"),
    include_str!("../src/mark.rs"),
    include_str!("../src/options.rs"),
    include_str!("../src/range.rs"),
    include_str!("../src/salvage.rs"),
    include_str!("../src/snapshot.rs"),
    include_str!("../src/stats.rs"),
    include_str!("../src/stream.rs"),
    include_str!("../src/transaction.rs"),
];

/// Returns the header without comments and directives, with each run of white space replaced by one space.
fn declarations() -> String {
    let mut text = String::new();
    let mut rest = HEADER;
    while let Some((before, after)) = rest.split_once("/*") {
        text.push_str(before);
        rest = after.split_once("*/").expect("a comment ends").1;
    }
    text.push_str(rest);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// Returns the declared functions by name: their parameters and results, in Rust syntax.
fn declared() -> BTreeMap<String, String> {
    let text = declarations();
    let statements = text.split(';').map(str::trim).filter(|statement| !statement.starts_with("typedef"));
    let statements = statements.filter_map(|statement| statement.strip_suffix(')'));
    let functions = statements.map(|statement| {
        let (front, parameters) = statement.split_once('(').expect("it had its other half");
        let front = front.rsplit('{').next().unwrap_or(front);
        let (returned, name) = split_name(front);
        let parameters = parameters.split(',').map(str::trim).filter(|parameter| *parameter != "void").map(|whole| {
            let (kind, name) = split_name(whole);
            format!("{name}: {}", rust_type(kind))
        });
        let returned = if returned == "void" { String::new() } else { format!(" -> {}", rust_type(returned)) };
        (name.to_owned(), format!("({}){returned}", parameters.collect::<Vec<_>>().join(", ")))
    });
    functions.collect()
}

/// Splits a declaration into a type and a name: `const void **key`.
fn split_name(text: &str) -> (&str, &str) {
    let at = text.rfind(|c: char| !c.is_alphanumeric() && c != '_').expect("a type before the name");
    (text[..=at].trim(), &text[at + 1..])
}

fn rust_type(kind: &str) -> String {
    if let Some(pointed) = kind.strip_suffix('*') {
        let pointed = pointed.trim();
        if let Some(inner) = pointed.strip_suffix("*const") {
            return format!("*const {}", rust_type(&format!("{inner}*")));
        }
        return match pointed.strip_prefix("const ").filter(|inner| !inner.contains('*')) {
            Some(inner) => format!("*const {}", rust_type(inner)),
            None => format!("*mut {}", rust_type(pointed)),
        };
    }
    match kind {
        "int" => "c_int".into(),
        "char" => "c_char".into(),
        "uint8_t" => "u8".into(),
        "void" => "c_void".into(),
        "size_t" => "usize".into(),
        "int32_t" => "i32".into(),
        "uint32_t" => "u32".into(),
        "int64_t" => "i64".into(),
        "uint64_t" => "u64".into(),
        handle => {
            let name = handle.strip_prefix("holm_").expect("a type of the header's own");
            name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
        }
    }
}

/// Returns the declared structs by name: their fields, in Rust syntax.
fn declared_structs() -> BTreeMap<String, Vec<String>> {
    let text = declarations();
    let structs = text.split("typedef struct ").skip(1).filter_map(|rest| rest.split_once(" {"));
    let structs = structs.filter(|(name, _)| !name.contains(';')).map(|(name, rest)| {
        let fields = rest.split('}').next().expect("its end").split(';').map(str::trim);
        let fields = fields.filter(|field| !field.is_empty()).map(|field| match field.strip_suffix(']') {
            None => split_name(field).1.to_owned() + ": " + &rust_type(split_name(field).0),
            Some(array) => {
                let (field, count) = array.split_once('[').expect("a number of elements");
                let (kind, name) = split_name(field);
                format!("{name}: [{}; {count}]", rust_type(kind))
            }
        });
        (rust_type(name), fields.collect())
    });
    structs.collect()
}

/// Returns the functions of the sources, in the same form.
fn defined() -> BTreeMap<String, String> {
    let text: String =
        SOURCES.iter().flat_map(|source| source.split_whitespace()).map(|word| format!("{word} ")).collect();
    let functions = text.split("extern \"C\" fn ").skip(1).map(|rest| {
        let (name, rest) = rest.split_once('(').expect("parameters");
        let (parameters, rest) = rest.split_once(')').expect("their end");
        let returned = rest.split('{').next().unwrap_or_default().trim();
        let parameters = parameters.trim().trim_end_matches(',');
        let returned = if returned.is_empty() { String::new() } else { format!(" {returned}") };
        (name.to_owned(), format!("({parameters}){returned}"))
    });
    functions.collect()
}

/// Returns the fields of a struct of the sources, in the same form.
fn defined_struct(name: &str) -> Vec<String> {
    let opening = format!("#[repr(C)]\npub struct {name} {{");
    let found: Vec<_> = SOURCES.iter().filter_map(|source| source.split_once(&opening)).collect();
    let [(_, rest)] = found[..] else { panic!("{} structs named {name}", found.len()) };
    let fields = rest.split('}').next().expect("its end").split(',').map(str::trim);
    fields.filter(|field| !field.is_empty()).map(ToOwned::to_owned).collect()
}

/// Returns the library beside the tests' own programs.
fn library() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_holm-install")).parent().expect("a folder").to_owned();
    let found = [folder.join("libholm_capi.so"), folder.join("deps/libholm_capi.so")].into_iter();
    let newest =
        found.filter(|path| path.exists()).max_by_key(|path| path.metadata().and_then(|about| about.modified()).ok());
    newest.expect("built with these tests")
}

#[test]
fn parameters_agree() {
    let (declared, defined) = (declared(), defined());
    assert!(declared.len() > 90, "{declared:?}");
    assert_eq!(declared["holm_count"], "(keyspace: *const Keyspace, count: *mut u64) -> c_int");
    for (name, parameters) in &declared {
        assert_eq!(Some(parameters), defined.get(name), "{name}: the header on the left");
    }
    assert_eq!(declared.len(), defined.len(), "{:?}", defined.keys().filter(|name| !declared.contains_key(*name)));
}

#[test]
fn structs_agree() {
    let declared = declared_structs();
    let names = ["BackupInfo", "Change", "KeyspaceOptions", "Options", "RepairReport", "ScrubReport", "Stats"];
    assert_eq!(declared.keys().collect::<Vec<_>>(), names);
    assert_eq!(declared["BackupInfo"][..2], ["size: usize", "uuid: [u8; 16]"]);
    for (name, fields) in &declared {
        assert_eq!(*fields, defined_struct(name), "{name}: the header on the left");
    }
}

#[test]
fn what_is_exported_is_what_is_declared() {
    let bytes = std::fs::read(library()).expect("it can be read");
    let file = object::File::parse(&*bytes).expect("a shared library");
    let exported = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let exported: BTreeSet<_> = exported.map(|symbol| symbol.name().expect("a name").to_owned()).collect();
    assert_eq!(exported, declared().into_keys().collect());
}

#[test]
fn codes_agree() {
    let code = |name: &str, number: &str| {
        let number = number.trim().trim_matches(['(', ')', ';']).parse::<i32>();
        Some((name.to_owned(), number.ok()?)).filter(|(name, _)| name.starts_with("HOLM_"))
    };
    let header: BTreeMap<_, _> = HEADER
        .lines()
        .filter_map(|line| line.strip_prefix("#define "))
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, rest)| code(name, rest.split("/*").next().unwrap_or(rest)))
        .filter(|(name, _)| !["HOLM_BUFFERED", "HOLM_STRICT", "HOLM_ON_SYNC"].contains(&&**name))
        .collect();
    let of_line = |line: &str| {
        let (name, number) = line.trim().split_once(" = ")?;
        code(name.trim_start_matches("const ").split(':').next()?, number)
    };
    let sources: BTreeMap<_, _> = SOURCES.iter().flat_map(|source| source.lines()).filter_map(of_line).collect();
    assert!(sources.len() > 30, "{sources:?}");
    assert_eq!(header, sources);
}
