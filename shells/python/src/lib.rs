//! The extension module `holm._holm`: what the package `holm` of Python calls. The package's classes extend the classes
//! of this crate, add what needs no speed, and document both for their users.
//!
//! Three rules hold for every call. It lets go of the interpreter before it enters the store, so other threads run
//! while it waits. It reaches a handle of the store through a [`slot`](session::Slot), so a call after `close` finds
//! none. In the child of a `fork` it refuses, because the store's threads and locks are the parent's.
//!
//! The crate has no `unsafe` of its own; PyO3's macros write what CPython needs.

mod backup;
mod batch;
mod bytes;
mod chunk;
mod cursor;
mod database;
mod expiry;
mod failure;
mod feed;
mod handle;
mod range;
mod refusal;
mod session;
mod snapshot;
mod space;
mod space_many;
mod space_update;
mod stream;
mod transact;
mod transaction;

use pyo3::prelude::*;

#[pymodule]
fn _holm(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MAX_KEY", holm::MAX_KEY)?;
    module.add("MAX_VALUE", holm::MAX_VALUE)?;
    module.add_class::<space::Space>()?;
    module.add_class::<database::Database>()?;
    module.add_class::<range::Range>()?;
    module.add_class::<cursor::Cursor>()?;
    module.add_class::<snapshot::Snapshot>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<transaction::TransactionSpace>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<transaction::Receipt>()?;
    module.add_class::<transact::Lent>()?;
    module.add_class::<cursor::ColumnCursor>()?;
    module.add_class::<feed::Feed>()?;
    module.add_class::<feed::Changes>()?;
    module.add_function(wrap_pyfunction!(transact::transact, module)?)?;
    module.add_function(wrap_pyfunction!(backup::restore, module)?)?;
    module.add_function(wrap_pyfunction!(backup::verify_backup, module)?)?;
    module.add_function(wrap_pyfunction!(backup::repair, module)?)?;
    module.add_function(wrap_pyfunction!(session::close_all, module)?)?;
    module.add_function(wrap_pyfunction!(session::after_fork, module)?)
}
