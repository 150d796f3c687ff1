//! A diary with a copy that follows it: whole once, and then by increments.
//!
//! Each evening, the changes since the last backup go to a file of their own, and are applied to the copy. The files
//! alone would do: the whole backup and the increments after it, in their order, make the diary again.
//!
//! `cargo run --example backup [FOLDER]`

use holm::{BackupInfo, Database, verify_backup};
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

/// Writes what has changed since an epoch to a file of its own, and makes the file durable.
fn back_up(diary: &Database, since: u64, file: &Path) -> Result<BackupInfo, Box<dyn Error>> {
    let mut stream = BufWriter::new(File::create(file)?);
    let info = diary.backup_since(since, &mut stream)?;
    stream.into_inner()?.sync_all()?;
    Ok(info)
}

fn open(file: &Path) -> Result<BufReader<File>, std::io::Error> {
    Ok(BufReader::new(File::open(file)?))
}

/// Runs the example.
pub fn run(folder: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    // What an earlier run has left would be in the way.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder)?;
    let diary = Database::open(folder.join("diary.holm"))?;
    let days = diary.keyspace("days")?;
    for day in 1..=1_000u32 {
        days.insert(day.to_be_bytes(), format!("day {day}: nothing of note"))?;
    }
    diary.sync()?;
    let whole = back_up(&diary, 0, &folder.join("whole"))?;
    writeln!(out, "whole: {} records", whole.records)?;
    Database::restore(&mut open(&folder.join("whole"))?, folder.join("copy.holm"))?;

    let mut epoch = whole.epoch;
    for day in 1_001..=1_003u32 {
        diary.sync()?; // what was backed up before is not sent again
        days.insert(day.to_be_bytes(), format!("day {day}: a storm"))?;
        let file = folder.join(format!("day {day}"));
        let changes = back_up(&diary, epoch, &file)?;
        let few = changes.records < 50;
        writeln!(out, "day {day}: {}", if few { "a few records" } else { "many records" })?;
        epoch = changes.epoch;
    }

    // The disk with the diary breaks. Every file says whether it is sound, and each is applied to the one before.
    let copy = Database::open(folder.join("copy.holm"))?;
    for day in 1_001..=1_003u32 {
        let file = folder.join(format!("day {day}"));
        verify_backup(&mut open(&file)?)?;
        copy.apply(&mut open(&file)?)?;
    }
    let days = copy.keyspace("days")?;
    let (_, last) = days.last()?.ok_or("a diary has a last day")?;
    writeln!(out, "the copy has {} days, the last is \"{}\"", days.len()?, last.escape_ascii())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("backup"), PathBuf::from);
    run(&folder, &mut stdout())
}
