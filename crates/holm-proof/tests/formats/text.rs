//! Files of a folder as text: `file NAME LENGTH`, and after it lines of an offset and the bytes there, in hexadecimal.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

const LINE: usize = 32;

/// A large page: the store gives space back in whole ones.
const LARGE_PAGE: usize = 2 << 20;

fn put(name: &str, bytes: &[u8], out: &mut String) {
    writeln!(out, "file {name} {}", bytes.len()).expect("a string");
    for (line, bytes) in bytes.chunks(LINE).enumerate() {
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        if used > 0 {
            let hex = bytes[..used].iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
            writeln!(out, "{:x} {hex}", line * LINE).expect("a string");
        }
    }
}

fn files(text: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        match (&words[..], files.last_mut()) {
            (["file", name, len], _) => files.push(((*name).into(), vec![0; len.parse().expect("a length")])),
            ([at, hex], Some((_, bytes))) => {
                let at = usize::from_str_radix(at, 16).expect("an offset");
                for (index, digits) in hex.as_bytes().chunks(2).enumerate() {
                    let digits = std::str::from_utf8(digits).expect("hexadecimal");
                    bytes[at + index] = u8::from_str_radix(digits, 16).expect("hexadecimal");
                }
            }
            _ => panic!("a line that says nothing: {line}"),
        }
    }
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Writes the files of a folder to one file of text.
pub(crate) fn pack(folder: &Path, text: &Path) {
    let mut names: Vec<_> = fs::read_dir(folder).expect("a folder").map(|it| it.expect("a file").file_name()).collect();
    names.sort();
    let mut out = String::new();
    for name in names {
        put(name.to_str().expect("ASCII"), &fs::read(folder.join(&name)).expect("a file"), &mut out);
    }
    write(text, &out);
}

/// Writes bytes to a file of text.
pub(crate) fn pack_one(bytes: &[u8], text: &Path) {
    let mut out = String::new();
    put("bytes", bytes, &mut out);
    write(text, &out);
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a disk");
    fs::write(path, text).expect("a disk");
}

/// Writes the files that a text has into a folder. Large pages without a byte are holes.
pub(crate) fn unpack(text: &Path, folder: &Path) {
    for (name, bytes) in files(&read(text)) {
        let file = File::create(folder.join(name)).expect("a disk");
        file.set_len(bytes.len() as u64).expect("a disk");
        let large_pages = bytes.chunks(LARGE_PAGE).zip((0..).step_by(LARGE_PAGE));
        for (page, at) in large_pages.filter(|(page, _)| page.iter().any(|byte| *byte != 0)) {
            file.write_all_at(page, at).expect("a disk");
        }
    }
}

/// The files of a folder, with their bytes.
pub(crate) fn contents(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file"));
    files.map(|file| (file.file_name(), fs::read(file.path()).expect("a file"))).collect()
}

/// Returns the bytes that a text has.
pub(crate) fn unpack_one(text: &Path) -> Vec<u8> {
    files(&read(text)).remove(0).1
}
