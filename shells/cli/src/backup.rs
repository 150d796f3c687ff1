//! `backup`: a database at one instant as a file, or what has changed in it since an earlier backup.
//!
//! The file has another name until it is complete and synced to disk, and never replaces one.

use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
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
        let mut out = output::needed()?;
        let written = write(args, since, &mut out);
        let info = output::whole(written.and_then(|info| output::finish(out).map(|()| info)))?;
        // Standard output is the backup.
        note(&format!("{} records; the next backup is --since {}", info.records, info.epoch));
        return Ok(Exit::Found);
    };
    if file.exists() {
        bail!("{} exists; a backup replaces no file", file.display());
    }
    let path = partial_of(file)?;
    // Locked until it has its name: another backup to this file would write into it.
    let partial = locked(&path)?;
    let info = complete(args, since, &partial, &path).inspect_err(|_| drop(fs::remove_file(&path)))?;
    // A link, because a renaming would replace a file that somebody else has created meanwhile.
    if let Err(error) = fs::hard_link(&path, file) {
        let mut what = format!("cannot create {}", file.display());
        // A file system without links keeps what was made.
        if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) {
            what.push_str(&format!("; the backup is complete, in {}", path.display()));
        } else {
            drop(fs::remove_file(&path));
        }
        return Err(error).context(what);
    }
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
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

/// Opens the file under its name until it is complete, emptied of what a killed backup has left, and locks it.
fn locked(path: &Path) -> anyhow::Result<File> {
    let created = || format!("cannot create {}", path.display());
    // Each turn follows the end of another backup.
    for _ in 0..8 {
        let file = File::options().write(true).create(true).truncate(false).open(path).with_context(created)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("{} is another backup, which is being written", path.display()),
            Err(TryLockError::Error(error)) => return Err(error).with_context(created),
        }
        let opened = file.metadata().with_context(created)?;
        if fs::metadata(path).map_or(true, |named| named.ino() != opened.ino()) {
            // Another backup has completed it meanwhile.
            continue;
        }
        if opened.nlink() == 1 {
            file.set_len(0).with_context(created)?;
            return Ok(file);
        }
        // A backup that was killed had completed it, and given it its name.
        fs::remove_file(path).with_context(created)?;
    }
    bail!("{} is another backup, again and again", path.display())
}

fn complete(args: &Backup, since: u64, file: &File, path: &Path) -> anyhow::Result<BackupInfo> {
    let mut out = BufWriter::new(file);
    let info = write(args, since, &mut out)?;
    output::finish(out)?;
    file.sync_all().with_context(|| format!("cannot make {} durable", path.display()))?;
    Ok(info)
}

pub(crate) fn sync_folder_of(file: &Path) -> anyhow::Result<()> {
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
