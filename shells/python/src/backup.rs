//! Backups: streams of a whole database or of what has changed, and what reads them.

use crate::database::{Database, json};
use crate::failure::{Failure, detached};
use crate::session::Opened;
use crate::stream::{Reader, Writer};
use holm::BackupInfo;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// What a backup holds, as a tuple that `holm.BackupInfo` is made of.
#[derive(IntoPyObject)]
pub(crate) struct Info(u64, u64, u64, u64, u64, u64, Py<PyBytes>);

impl From<BackupInfo> for Info {
    fn from(info: BackupInfo) -> Self {
        let BackupInfo { uuid, base, epoch, keyspaces, records, kept, bytes, .. } = info;
        Python::attach(|py| Info(base, epoch, keyspaces, records, kept, bytes, PyBytes::new(py, &uuid).unbind()))
    }
}

#[pymethods]
impl Database {
    /// Makes a copy of the database in a folder.
    #[pyo3(name = "_backup_folder")]
    fn backup_folder(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Info> {
        Ok(detached(py, || self.session.write(|database| database.backup(folder)))?.into())
    }

    /// Writes a backup to a file: a whole one, or what has changed since the epoch `since`.
    #[pyo3(name = "_backup_stream")]
    fn backup_stream(&self, py: Python<'_>, file: Py<PyAny>, since: u64) -> PyResult<Info> {
        let mut writer = Writer::new(file);
        let info = detached(py, || match self.session.with(|opened| Ok(opened.clone()))? {
            Opened::Writable(database) => Ok(database.backup_since(since, &mut writer)),
            Opened::ReadOnly(database) => Ok(database.backup_since(since, &mut writer)),
        })?;
        writer.finish(py, info)
    }

    /// Brings a restored database to the state of an incremental backup.
    #[pyo3(name = "_apply_stream")]
    fn apply_stream(&self, py: Python<'_>, file: Py<PyAny>) -> PyResult<Info> {
        let mut reader = Reader::new(file);
        let info = detached(py, || self.session.write(|database| Ok::<_, Failure>(database.apply(&mut reader))))?;
        reader.finish(info)
    }
}

/// Makes a database of a whole backup, in a folder that is absent or empty.
#[pyfunction]
pub(crate) fn restore(py: Python<'_>, file: Py<PyAny>, folder: PathBuf) -> PyResult<Info> {
    let mut reader = Reader::new(file);
    let info = detached(py, || Ok(holm::Database::restore(&mut reader, folder)))?;
    reader.finish(info)
}

/// Reads a backup to its end and verifies all of it.
#[pyfunction]
pub(crate) fn verify_backup(py: Python<'_>, file: Py<PyAny>) -> PyResult<Info> {
    let mut reader = Reader::new(file);
    let info = detached(py, || Ok(holm::verify_backup(&mut reader)))?;
    reader.finish(info)
}

/// Saves what can be believed of a damaged database to a new one; returns the report as the text of JSON.
#[pyfunction]
pub(crate) fn repair(py: Python<'_>, damaged: PathBuf, into: PathBuf) -> PyResult<String> {
    detached(py, || json(&holm::Database::repair(damaged, into)?))
}
