//! `backup`: a database at one instant as a file, or what has changed in it since an earlier backup.
//!
//! The file has another name until it is complete and synced to disk, and never replaces one.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use holm::BackupInfo;

use crate::args::Backup;
use crate::exit::{Exit, note};
use crate::progress::Progress;
use crate::{opened, output, verify};

pub(crate) fn run(args: &Backup) -> anyhow::Result<Exit> {
    let since = args.since.unwrap_or(0);
    let Some(file) = args.file.as_deref().filter(|file| *file != Path::new("-")) else {
        let mut out = output::standard();
        let info = write(args, since, &mut out)?;
        output::finish(out)?;
        // Standard output is the backup.
        note(&format!("{} records; the next backup is --since {}", info.records, info.epoch));
        return Ok(Exit::Found);
    };
    if file.exists() {
        bail!("{} exists; a backup replaces no file", file.display());
    }
    let partial = partial_of(file)?;
    let info = complete(args, since, &partial).inspect_err(|_| drop(fs::remove_file(&partial)))?;
    // A link, because a renaming would replace a file that somebody else has created meanwhile.
    fs::hard_link(&partial, file).with_context(|| format!("cannot create {}", file.display()))?;
    fs::remove_file(&partial).with_context(|| format!("cannot remove {}", partial.display()))?;
    sync_folder_of(file)?;
    output::print(verify::lines(&info))?;
    Ok(Exit::Found)
}

/// The file's name until it is complete.
fn partial_of(file: &Path) -> anyhow::Result<PathBuf> {
    let mut name = file.file_name().with_context(|| format!("{} names no file", file.display()))?.to_owned();
    name.push(".partial");
    Ok(file.with_file_name(name))
}

fn complete(args: &Backup, since: u64, partial: &Path) -> anyhow::Result<BackupInfo> {
    let file = File::create(partial).with_context(|| format!("cannot create {}", partial.display()))?;
    let mut out = BufWriter::new(&file);
    let info = write(args, since, &mut out)?;
    output::finish(out)?;
    file.sync_all().with_context(|| format!("cannot make {} durable", partial.display()))?;
    Ok(info)
}

fn sync_folder_of(file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(|| format!("syncing {}", folder.display()))
}

fn write(args: &Backup, since: u64, out: &mut dyn Write) -> anyhow::Result<BackupInfo> {
    let database = opened::readable(&args.database)?;
    let progress = Progress::new(None);
    let info = database.backup_since(since, &mut progress.watch_output(out))?;
    progress.finish();
    Ok(info)
}
