//! `verify`: reads a backup to its end, and says what it contains or where it is damaged.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context, bail};
use holm::BackupInfo;

use crate::args::Verify;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::{input, output};

/// The bytes that are read from a file at once.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) fn run(args: &Verify) -> anyhow::Result<Exit> {
    let info = with_input(args.file.as_deref(), |stream| Ok(holm::verify_backup(stream)?))?;
    output::print(lines(&info))?;
    Ok(Exit::Found)
}

/// Runs `read` on a backup in a file or in standard input, with progress. Refuses anything behind its end.
pub(crate) fn with_input<T>(
    file: Option<&Path>,
    read: impl FnOnce(&mut dyn Read) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let Some(file) = file.filter(|file| *file != Path::new("-")) else {
        let stdin = input::standard("a backup", "name its file, or send it through a pipe")?;
        return to_its_end(None, stdin, read);
    };
    let opened = File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    let length = opened.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
    to_its_end(length, opened, read).with_context(|| format!("cannot use {}", file.display()))
}

fn to_its_end<T>(
    length: Option<u64>,
    stream: impl Read,
    read: impl FnOnce(&mut dyn Read) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let progress = Progress::new(length);
    let mut stream = BufReader::with_capacity(BUFFER_BYTES, progress.watch(stream));
    let done = read(&mut stream);
    progress.finish();
    let done = done?;
    refuse_more(&mut stream)?;
    Ok(done)
}

/// Refuses anything that is left to read behind a backup. A caller with a buffer of its own calls this with the buffer,
/// whose bytes are not left in the stream below.
pub(crate) fn refuse_more(stream: &mut impl Read) -> anyhow::Result<()> {
    if stream.read(&mut [0]).context("reading behind the backup")? > 0 {
        bail!("bytes follow the end of the backup, which itself is sound");
    }
    Ok(())
}

/// Returns a backup's contents as lines for people and scripts.
pub(crate) fn lines(info: &BackupInfo) -> String {
    let uuid: String = info.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let BackupInfo { base, epoch, keyspaces, records, kept, bytes, .. } = info;
    let kind = if *base == 0 { "whole".into() } else { format!("since epoch {base}") };
    format!(
        "backup     {kind}\ndatabase   {uuid}\nepoch      {epoch}\nkeyspaces  {keyspaces}\nrecords    {records}\n\
         kept       {kept}\nbytes      {bytes}\n"
    )
}
