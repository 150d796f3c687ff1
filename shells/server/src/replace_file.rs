//! Replacing a small file as a whole.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes lines to a new file, for nobody else to read, which then replaces the old one: a crash leaves one of the two.
pub(crate) fn replace_file(path: &Path, lines: &[Vec<u8>]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    let written = lines.iter().try_for_each(|line| file.write_all(&[line, &b"\n"[..]].concat()));
    let replaced = written.and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&new, path));
    if replaced.is_err() {
        // The file that is there stays.
        let _ = std::fs::remove_file(&new);
    }
    replaced
}
