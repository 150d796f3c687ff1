//! One fault at each call that an operation makes to the disk, in turn.

use holm::Error;
use holm_proof::disk::{Fault, Kind, SimDisk};

/// Prepares a disk, runs an operation on it with a fault at its first call, and calls `look` with what that leaves: the
/// disk, what the operation returned, and a context for errors. Then the same at its second call, and so on until no
/// call is left. What `prepare` returns beside the disk lives while `look` runs.
pub(crate) fn at_each_call<T>(
    fault: Fault,
    prepare: impl Fn() -> (SimDisk, T),
    run: impl Fn(&SimDisk, &T) -> Result<(), Error>,
    mut look: impl FnMut(&SimDisk, Result<(), Error>, &str),
) {
    for call in 0.. {
        let (disk, prepared) = prepare();
        let before = disk.calls().of(Kind::Any);
        disk.fail(Kind::Any, before + call, fault);
        let done = run(&disk, &prepared);
        let reached = disk.calls().of(Kind::Any) - before;
        look(&disk, done, &format!("{fault:?} at call {call}"));
        if reached <= call {
            assert!(call > 20, "an operation makes calls: {call}");
            return;
        }
    }
}
