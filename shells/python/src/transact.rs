//! Transactions that begin anew after a conflict, around a function of Python.

use crate::database::Database;
use crate::failure::{Failure, detached};
use crate::transaction::TransactionCore;
use pyo3::prelude::*;
use std::sync::Arc;

/// A transaction on its way to the object of Python that has it.
#[pyclass(frozen, module = "holm._holm")]
pub(crate) struct Lent {
    pub(crate) core: Arc<TransactionCore>,
}

/// Calls `step` with a transaction until one commits, and returns what it returned. An exception ends it, unless the
/// transaction has conflicted: then what the function saw does not belong together, and it runs again.
#[pyfunction]
pub(crate) fn transact(py: Python<'_>, database: &Database, step: Py<PyAny>) -> PyResult<Py<PyAny>> {
    let session = &database.session;
    detached(py, || {
        let attempt = |transaction: holm::Transaction| {
            let core = match TransactionCore::new(session, transaction) {
                Ok(core) => core,
                Err(failure) => return (None, Err(failure)),
            };
            let answer = Python::attach(|py| {
                // A signal handler may raise here: nothing else ends a function that always conflicts.
                py.check_signals()?;
                let lent = Py::new(py, Lent { core: core.clone() })?;
                step.call1(py, (lent,))
            });
            match (core.take(), answer) {
                (Ok(transaction), answer) => (Some(transaction), answer.map_err(Failure::from)),
                (Err(_), Err(error)) => (None, Err(error.into())),
                // The function has committed or discarded it, or closed the database.
                (Err(failure), Ok(_)) => (None, Err(failure)),
            }
        };
        session.write(|database| database.transact_owned(attempt))
    })
}
